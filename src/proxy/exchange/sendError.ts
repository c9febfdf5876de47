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
 * (a challenge); the body is text, or JSON where the error brings a `jsonBody`.
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
  const type = error.jsonBody === undefined ? 'text/plain; charset=utf-8' : 'application/json';
  const headers: HeaderLine[] = [['content-type', type], ...(error.headers ?? [])];
  // A challenge names an address that this client wrote in Host: no cache may hand it to another client.
  if (status === 401) headers.push(['cache-control', 'no-store']);
  if (status === 503 && retry !== 'no')
    headers.push(['retry-after', String(error.retryAfter ?? RETRY_AFTER)]);
  const body = error.jsonBody === undefined ? `${error.message}\n` : JSON.stringify(error.jsonBody);
  exchange.send({ status, headers, body });
}
