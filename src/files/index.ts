export {
  maxFileBytes,
  maxFileBytesVariable,
  parseFileLimit,
  readRegularFile,
  readRegularText,
} from './readRegularFile.ts';
export { fileMark, fileMarkLater, Settling, quietMs, type FileMark } from './settling.ts';
export { FileWatch } from './watch.ts';
