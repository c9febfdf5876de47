export type * from './contract.ts';
export type { McpHandler } from './serve/handler.ts';
export { heldCallerOf } from './serve/heldCaller.ts';
export { sseSessionOf } from './serve/sseRequests.ts';
export { McpRuntime, type McpRuntimeOptions, type McpView } from './runtime.ts';
export { sendError } from './messages/rpcError.ts';
export type { SessionView } from './session/session.ts';
export { isOverNetwork, type TargetOverNetwork } from './targets/facts.ts';
export type { TargetState, TargetView } from './targets/kind/target.ts';
