export type * from './contract.ts';
export { workerCount } from './count.ts';
export type { Inheritance } from './inheritance.ts';
export { whyNotSeveral } from './portSocket.ts';
export { findPredecessor, type Predecessor } from './predecessor.ts';
export { Serving, type ServingOptions } from './serving.ts';
export type { Program } from './successor.ts';
export { Tree, type TreeOptions } from './tree.ts';
export { Upgrades } from './upgrades.ts';
