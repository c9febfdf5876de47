export { ComposeError, composeYaml, type ComposeLimits } from './composeYaml.ts';
export { fetchText, Unreachable, type FetchedText, type FetchOptions } from './fetchText.ts';
export {
  maxFileBytes,
  maxFileBytesVariable,
  parseFileLimit,
  readRegularFile,
  readRegularText,
} from './readRegularFile.ts';
export { fileMark, fileMarkLater, Settling, quietMs, type FileMark } from './settling.ts';
export { shownUrl } from './shownUrl.ts';
export { largeText, onThread } from './thread.ts';
export { FileWatch } from './watch.ts';
