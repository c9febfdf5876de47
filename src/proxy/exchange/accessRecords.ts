import { catalogue, type ErrorCode } from '../../errors.ts';
import type { AccessRecord } from '../../telemetry/index.ts';
import type { LiveExchange } from './liveExchange.ts';

/** The access log record of a finished exchange. */
export function exchangeRecord(x: LiveExchange, bind: string, durationMs: number): AccessRecord {
  const { route } = x;
  return {
    time: x.startedAt,
    durationMs,
    method: x.method,
    host: x.authority,
    path: x.path,
    status: x.status,
    requestBytes: x.requestBytes,
    responseBytes: x.responseBytes,
    client: x.remoteAddress,
    requestId: x.id,
    traceparent: x.head.get('traceparent'),
    bind,
    listener: x.listener?.name,
    route: route === undefined || route.name === '' ? undefined : route.name,
    backend: x.backend,
    upstreamMs: x.upstreamMs,
    subject: x.identity?.subject ?? x.user,
    error: x.error,
    reason: x.reason,
    extra: x.extra,
  };
}

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
  extra: undefined,
});
