export { FileSource, type FileSourceOptions } from './file/fileSource.ts';
export { loadFile, loadText, type LoadOptions, type LoadResult } from './file/load.ts';
export { renderProblem, type Problem } from './file/problem.ts';
export type { Environment } from './file/variables.ts';
