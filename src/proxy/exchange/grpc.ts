import type { HeaderLine } from '../../http/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** Codes of gRPC. */
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const UNIMPLEMENTED = 12;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** The gRPC status for an HTTP status (the "HTTP to gRPC status code mapping"), finer where we know more. */
const codes: ReadonlyMap<number, number> = new Map([
  [400, INTERNAL],
  [401, UNAUTHENTICATED],
  [403, PERMISSION_DENIED],
  [404, UNIMPLEMENTED],
  [413, RESOURCE_EXHAUSTED],
  [429, UNAVAILABLE],
  [431, RESOURCE_EXHAUSTED],
  [500, INTERNAL],
  [502, UNAVAILABLE],
  [503, UNAVAILABLE],
  [504, DEADLINE_EXCEEDED],
]);

/** gRPC is spoken over HTTP/2 only; gRPC-Web is another protocol. */
export const isGrpc = (exchange: LiveExchange): boolean =>
  exchange.connection.http2 && /^application\/grpc(?:[+;]|$)/.test(exchange.header('content-type') ?? '');

/** An answer without a message is its trailers alone; the status of HTTP is always 200. */
export const grpcHeaders = (status: number, message: string): HeaderLine[] => [
  ['content-type', 'application/grpc'],
  ['grpc-status', String(codes.get(status) ?? UNKNOWN)],
  ['grpc-message', message.replaceAll(/[^ -$&-~]/g, (character) => encodeURIComponent(character))],
];
