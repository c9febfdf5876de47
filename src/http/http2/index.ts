export { CODE } from './codes.ts';
export type { ConnectionOwner } from './connectionOwner.ts';
export { ServerConnection } from './serverConnection.ts';
export type { RequestText } from './requestHead.ts';
export type { ServerStream, StreamUser } from './stream.ts';
export type { Trailers } from './trailers.ts';
