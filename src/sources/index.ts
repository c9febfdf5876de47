export { FileSource, type FileSourceOptions } from './file/fileSource.ts';
export { missingFiles, withMissingCommands } from './file/files.ts';
export { configurationSchema } from './file/jsonSchema.ts';
export { loadFile, loadText, type LoadOptions, type LoadResult } from './file/load.ts';
export { maskedFields } from './file/masked.ts';
export { nearest } from './file/nearest.ts';
export { renderProblem, type Problem } from './file/problem.ts';
export type { Secrets } from './file/secrets.ts';
export type { Environment } from './file/variables.ts';
export { StreamSource, type StreamSettings } from './stream/streamSource.ts';
export { parseListenAddress } from './file/schema/scalars.ts';
export type * from './kube/index.ts';

/** The Kubernetes source. Loaded by those who ask for it: nobody else pays for its code. */
export const loadKube = async () => await import('./kube/index.ts');
