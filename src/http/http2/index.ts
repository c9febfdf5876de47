export { CODE } from './codes.ts';
export { ServerConnection, type ConnectionOwner } from './serverConnection.ts';
export type { RequestText } from './requestHead.ts';
export type { ServerStream, StreamUser, Trailers } from './stream.ts';
