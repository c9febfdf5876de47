/** The one place where a failure becomes a JSON-RPC error, inside an HTTP reply or on a stream. */

import { GatewayError, type ErrorCode } from '../../errors.ts';
import type { HeaderLine, HttpReply } from '../../http/index.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';

/** JSON-RPC 2.0 §5.1: the id is null where it could not be read. */
const unknownId = 'null';

/** The JSON-RPC code of an error. */
export const rpcCodeOf = ({ entry, rpcCode }: GatewayError): number => rpcCode ?? entry.jsonrpc ?? -32603;

/**
 * A JSON-RPC error response. `idText` is the id as the client wrote it; `data` must be safe to show. Without `data` it
 * holds the seconds after which the client may try again, since a message on a stream has no Retry-After, or the
 * `jsonBody` of the error.
 */
export function errorResponse(
  error: GatewayError,
  idText: string = unknownId,
  data: unknown = error.retryAfter === undefined ? error.jsonBody : { retryAfter: error.retryAfter },
): string {
  const body = {
    code: rpcCodeOf(error),
    message: error.message,
    ...(data === undefined ? {} : { data }),
  };
  return `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(body)}}`;
}

/**
 * Ends an HTTP exchange with a failure. An entry without a JSON-RPC code is about the wire and not about a
 * message: those, and every value that is no GatewayError, get the answer that any HTTP route gives.
 */
export function sendError(reply: HttpReply, error: unknown, idText?: string, data?: unknown): void {
  if (!(error instanceof GatewayError) || error.entry.jsonrpc === undefined) {
    reply.fail(error);
    return;
  }
  reply.refused?.(error, rpcCodeOf(error));
  const headers: HeaderLine[] = [['content-type', 'application/json']];
  if (error.retryAfter !== undefined) headers.push(['retry-after', String(error.retryAfter)]);
  if (error.headers !== undefined) headers.push(...error.headers);
  reply.send({ status: error.entry.status, headers, body: errorResponse(error, idText, data) });
}

/** A call that was not answered in time. The timeout policy of a route promises 504. */
export function lateError(target: string, { ms, ofRoute }: CallLimit): GatewayError {
  const what = `did not answer within ${ms} ms`;
  if (ofRoute !== true) return targetError('mcp_target_timeout', target, what);
  return new GatewayError('mcp_request_timeout', { message: `request timeout: target "${target}" ${what}` });
}

/** A target that could not do its part; the message names it and is shown to the client. */
export function targetError(
  code: ErrorCode & `mcp_${string}`,
  target: string,
  what: string,
  detail?: string,
  retryAfter?: number,
): GatewayError {
  return new GatewayError(code, {
    message: `target "${target}" ${what}`,
    detail,
    retryAfter,
  });
}

/** Had the gateway no connection free for the request? That says nothing of the server. The detail begins with the code. */
export const isOwnLimit = ({ detail }: GatewayError): boolean =>
  detail?.startsWith('upstream_overloaded') === true;
