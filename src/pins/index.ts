export { changesBetween, type Change } from './changes.ts';
export { comparedMembers, definitionOf, type PinKind } from './definition.ts';
export { PinFolder } from './pinFolder.ts';
export type { ChangedItem, PinnedItem, PinnedNames, PinStore, PinVerdict } from './pinStore.ts';
export { StoredPins } from './storedPins.ts';
