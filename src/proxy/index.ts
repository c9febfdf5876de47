export { bindProblem } from './ports/bindProblem.ts';
export {
  DataPlane,
  type BindView,
  type DataPlaneOptions,
  type OwnConnection,
  type Prepared,
} from './dataPlane.ts';
export type { SocketHandle } from './ports/portSocketListening.ts';
export type { RelayPeer } from './connections/relayLines.ts';
export type * from './contract.ts';
export { brokenPartsWith } from './brokenParts.ts';
export { explainWith, type OfflineTools } from './trial/offline.ts';
export { bindKey } from './snapshot/snapshot.ts';
export { acceptsConnections } from './ports/udpPlane.ts';
