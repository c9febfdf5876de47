export type * from './contract.ts';
export { workerCount } from './count.ts';
export { whyNotSeveral } from './portSocket.ts';
export { Serving, type ServingOptions } from './serving.ts';
export { Tree, type TreeOptions } from './tree.ts';
