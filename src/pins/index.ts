export { changesBetween, type Change } from './changes.ts';
export { definitionOf, type PinKind } from './definition.ts';
export { PinFolder, type ChangedItem, type PinnedItem, type PinVerdict } from './pinFolder.ts';
