export { startDevIdp } from './server.ts';
export type { DevIdp, DevIdpOptions } from './server.ts';
export type { DevIdpConfig } from './config.ts';
export type { TokenRequest } from './tokens.ts';
export { main } from './main.ts';
