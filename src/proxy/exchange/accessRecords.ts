import { catalogue, type ErrorCode } from '../../errors.ts';
import { hideSecretForms, redacted, type AccessRecord } from '../../telemetry/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** The access log record of a finished exchange. */
export function exchangeRecord(exchange: LiveExchange, bind: string, durationMs: number): AccessRecord {
  const { route } = exchange;
  return {
    time: exchange.startedAt,
    durationMs,
    method: exchange.method,
    host: exchange.authority,
    path: shownPath(exchange),
    status: exchange.status,
    requestBytes: exchange.requestBytes,
    responseBytes: exchange.responseBytes,
    client: exchange.remoteAddress,
    requestId: shownId(exchange),
    traceparent: exchange.head.get('traceparent') ?? exchange.span?.server.traceparent,
    bind,
    listener: exchange.listener?.name,
    route: route === undefined || route.name === '' ? undefined : route.name,
    backend: exchange.backend,
    upstreamMs: exchange.upstreamMs,
    subject: exchange.identity?.subject ?? exchange.user,
    error: exchange.error,
    reason: exchange.reason,
    decidedBy: exchange.decidedBy,
    extra: exchange.extra,
    added: exchange.added,
  };
}

/** The path of a request as the log shows it. */
export const shownPath = (exchange: LiveExchange): string =>
  hideSecretForms(withoutCredentials(exchange.path, exchange));

/** The id of a request as the log shows it: the client may have given it. */
export const shownId = (exchange: LiveExchange): string =>
  exchange.hasMadeId ? exchange.id : hideSecretForms(exchange.id);

/** The path without the texts that policies of the route have read as credentials. */
export const withoutCredentials = (path: string, { pathCredentials }: LiveExchange): string =>
  pathCredentials === undefined
    ? path
    : pathCredentials.reduce((rest, text) => rest.replaceAll(text, redacted), path);

/** The same for bytes that were no request, and were answered with an error; of status 0 where a stream was reset. */
export const refusalRecord = (
  client: string,
  bind: string,
  code: ErrorCode,
  reason: string,
  status: number = catalogue[code].status,
): AccessRecord => ({
  time: Date.now(),
  durationMs: 0,
  method: '-',
  host: '-',
  path: '-',
  status,
  requestBytes: 0,
  responseBytes: 0,
  client,
  requestId: '-',
  traceparent: undefined,
  bind,
  listener: undefined,
  route: undefined,
  backend: undefined,
  upstreamMs: undefined,
  subject: undefined,
  error: code,
  reason,
  decidedBy: undefined,
  extra: undefined,
  added: undefined,
});
