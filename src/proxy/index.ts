export { bindProblem, DataPlane, type BindView, type DataPlaneOptions, type Prepared } from './dataPlane.ts';
export type { SocketHandle } from './listening.ts';
export { bindKey } from './snapshot.ts';
