import { GatewayError, type ErrorCode } from '../../errors.ts';
import { parseAuthority, readTarget, type Head } from '../../http/index.ts';
import type { ClientSide, LiveExchange } from '../exchange/liveExchange.ts';
import { handle } from '../exchange/handle.ts';
import { ServedExchange } from '../exchange/servedExchange.ts';

/** The reason to refuse a message before it is a request. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** Makes an exchange of a head that was read. */
export function openExchange(side: ClientSide, head: Head): LiveExchange | Refusal {
  const { method } = head;
  const target = readTarget(head.target, method);
  if (target === undefined) return { code: 'bad_request', detail: 'malformed request target' };
  // The absolute form wins over Host (RFC 9112 §3.2.2), which must be sound all the same.
  const named = head.host === -1 ? undefined : parseAuthority(head.value(head.host));
  if (named === undefined && head.host !== -1) return { code: 'bad_host', detail: 'malformed Host' };
  const authority = target.authority ?? named;
  const place = {
    method,
    target: target.target,
    path: target.path,
    query: target.query,
    host: authority?.host ?? '',
    authority: authority?.authority ?? '',
  };
  const exchange = new ServedExchange(side, head, side.port.enter(), place);
  if (head.chunked) {
    exchange.body.startChunked();
    // A backend that merges trailers with the header would get the client's text for a field that a policy decides.
    exchange.body.refusesTrailer = (name) => exchange.pendingRequestEdits?.dropsName(name) === true;
  } else exchange.body.startLength(Math.max(0, head.contentLength));
  return exchange;
}

/** Serves an exchange from its beginning. */
export function serveExchange(exchange: LiveExchange): void {
  const { port } = exchange.connection;
  const tooMuch = port.tooMuch();
  if (tooMuch !== undefined) {
    exchange.fail(new GatewayError('overloaded', { detail: tooMuch }));
    return;
  }
  const { maxBodyBytes } = port.limits;
  if (maxBodyBytes !== 0 && exchange.head.contentLength > maxBodyBytes)
    exchange.fail(new GatewayError('body_too_large'));
  else handle(exchange, port.key);
}
