export { FileSource, type FileSourceOptions } from './file/fileSource.ts';
export { configurationSchema } from './file/jsonSchema.ts';
export { loadFile, loadText, type LoadOptions, type LoadResult } from './file/load.ts';
export { nearest } from './file/nearest.ts';
export { renderProblem, type Problem } from './file/problem.ts';
export type { Environment } from './file/variables.ts';
