export { bindProblem } from './bindProblem.ts';
export { DataPlane, type BindView, type DataPlaneOptions, type Prepared } from './dataPlane.ts';
export type { SocketHandle } from './listening.ts';
export type { RelayPeer } from './relayLines.ts';
export { bindKey } from './snapshot.ts';
export { acceptsConnections } from './udpPlane.ts';
