export type * from './core.ts';
export type * from './gateway.ts';
export type * from './gatewayPolicy.ts';
export type * from './mcp.ts';
export type * from './meta.ts';
export type * from './policies.ts';
export type * from './routes.ts';
