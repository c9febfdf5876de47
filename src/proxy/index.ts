export { bindProblem } from './ports/bindProblem.ts';
export { DataPlane, type BindView, type DataPlaneOptions, type Prepared } from './dataPlane.ts';
export type { SocketHandle } from './ports/portSocketListening.ts';
export type { RelayPeer } from './connections/relayLines.ts';
export { bindKey } from './snapshot/snapshot.ts';
export { acceptsConnections } from './ports/udpPlane.ts';
