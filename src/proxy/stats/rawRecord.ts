import type { AccessRecord } from '../../telemetry/index.ts';

/** The access log record of a connection or a client that did not speak HTTP. */
export interface RawRecord {
  readonly protocol: 'TCP' | 'TLS' | 'UDP';
  readonly startedAt: number;
  readonly startedTick: number;
  readonly bind: string;
  readonly listener: string;
  readonly route: string;
  readonly client: string;
  readonly serverName?: string | undefined;
  readonly backend: string | undefined;
  readonly upstreamMs?: number | undefined;
  readonly received: number;
  readonly sent: number;
  readonly error: string | undefined;
  readonly reason: string | undefined;
}

/** The line for it, in the form of requests: there is no path and no status. */
export const rawRecord = (record: RawRecord): AccessRecord => ({
  time: record.startedAt,
  durationMs: performance.now() - record.startedTick,
  method: record.protocol,
  host: record.serverName ?? '-',
  path: '',
  status: 0,
  requestBytes: record.received,
  responseBytes: record.sent,
  client: record.client,
  requestId: '-',
  traceparent: undefined,
  bind: record.bind,
  listener: record.listener,
  route: record.route,
  backend: record.backend,
  upstreamMs: record.upstreamMs,
  subject: undefined,
  error: record.error,
  reason: record.reason,
  decidedBy: undefined,
  extra: undefined,
  added: undefined,
});
