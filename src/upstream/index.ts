export { hashOf, lotOf } from './balance.ts';
export type { TunnelUser, UpstreamConnection, UpstreamUser } from './connection.ts';
export type { Destination } from './destination.ts';
export type { Endpoint } from './endpoint.ts';
export { Endpoints } from './endpoints.ts';
export { PemFiles, pemCertificates, pemText } from './pemFiles.ts';
export type { LookupTools } from './resolve.ts';
export type { Waiter } from './waiting.ts';
export { rawTargetOf, targetOf, type Target } from './target.ts';
