import { catalogue, GatewayError } from '../../errors.ts';
import { stackOf } from '../../errorText.ts';
import type { HeaderLine } from '../../http/index.ts';
import { shownId, shownPath } from './accessRecords.ts';
import type { LiveExchange } from './liveExchange.ts';
import { grpcHeaders, isGrpc } from './grpc.ts';

/** Seconds a client is asked to wait where the error knows no better. */
const RETRY_AFTER = 1;

/**
 * The one place where an error becomes an HTTP answer. Policies may have said with `headers` what else it carries
 * (a challenge); the body is text, or what the error brings.
 */
export function sendError(exchange: LiveExchange, thrown: unknown): void {
  const error =
    thrown instanceof GatewayError
      ? thrown
      : new GatewayError('internal_error', {
          cause: thrown,
          detail: stackOf(thrown),
        });
  exchange.noteError(error);
  if (error.code === 'internal_error') {
    exchange.connection.port.log.error('internal error', {
      requestId: shownId(exchange),
      path: shownPath(exchange),
      stack: error.detail,
    });
  }
  if (exchange.closed) return;
  if (exchange.started) {
    exchange.cutOff(error);
    return;
  }
  const { status, retry } = catalogue[error.code];
  if (isGrpc(exchange)) {
    // For an HTTP 500, gRPC says UNAVAILABLE (Gateway API, GRPCRouteRule "backendRefs").
    exchange.send({
      status: 200,
      headers: [
        ...grpcHeaders(error.code === 'no_backend' ? 503 : status, error.message),
        ...(error.headers ?? []),
      ],
    });
    return;
  }
  const [type, body] = bodyOf(error);
  const headers: HeaderLine[] = [['content-type', type], ...(error.headers ?? [])];
  // A challenge names an address that this client wrote in Host: no cache may hand it to another client.
  if (status === 401) headers.push(['cache-control', 'no-store']);
  if (status === 503 && retry !== 'no')
    headers.push(['retry-after', String(error.retryAfter ?? RETRY_AFTER)]);
  exchange.send({ status, headers, body });
}

/** The media type of the body, and the body. */
function bodyOf({ body, jsonBody, message }: GatewayError): readonly [string, string | Buffer] {
  if (body !== undefined) return [body.type, body.bytes];
  if (jsonBody !== undefined) return ['application/json', JSON.stringify(jsonBody)];
  return ['text/plain; charset=utf-8', `${message}\n`];
}
