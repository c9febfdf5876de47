export type * from './contract.ts';
export type { McpHandler } from './handler.ts';
export { McpRuntime, type McpRuntimeOptions, type McpView } from './runtime.ts';
export { sendError } from './sendError.ts';
export type { SessionView } from './session.ts';
export type { TargetState, TargetView } from './target.ts';
