/** The libraries of OpenTelemetry for log records. `logExport.ts` loads this file only where their export is configured. */

import {
  SeverityNumber,
  TraceFlags,
  type Attributes,
  type HrTime,
  type SpanContext,
} from '@opentelemetry/api';
import { LogsExporterMetricsHelper, ProtobufLogsSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { OtlpTarget } from '../model/index.ts';
import { accessFieldsOf, parseTraceparent, type AccessRecord } from '../telemetry/index.ts';
import { version } from '../version.ts';
import { maxAttribute, type SpanPlace } from './contract.ts';
import { exporterFor, type Signal } from './exporter.ts';
import { ExportQueue, type QueueTools } from './exportQueue.ts';
import { ownText } from './ownText.ts';
import { resourceOf } from './resource.ts';

export interface LogExporting {
  write(record: AccessRecord, span: SpanPlace | undefined): void;
  close(): Promise<void>;
}

const signal: Signal<ReadableLogRecord> = {
  service: 'logs.v1.LogsService',
  serializer: ProtobufLogsSerializer,
  helper: LogsExporterMetricsHelper,
};

/** Records of the access log, with their exporter. The SDK would only pass them on: it has nothing to decide here. */
export async function startLogExport(
  target: OtlpTarget,
  removed: ReadonlySet<string>,
  tools: QueueTools,
): Promise<LogExporting> {
  const { log, metrics } = tools;
  const items = {
    name: 'Log records',
    exported: metrics.counter(
      'log_records_exported_total',
      'Access log records that the collector has taken.',
      [],
    ),
    dropped: metrics.counter(
      'log_records_dropped_total',
      'Access log records that were not exported: too many waited, or the collector did not take them.',
      ['reason'],
    ),
  };
  const queue = new ExportQueue(await exporterFor(signal, target), items, log);
  const common = {
    resource: resourceOf(),
    instrumentationScope: { name: 'portcullis.access', version: version() },
    droppedAttributesCount: 0,
  };
  return {
    write(record, span) {
      const fields = accessFieldsOf(record);
      for (const name of inRecord) delete fields[name];
      for (const name of removed) delete fields[name];
      const context = span === undefined ? clientContext(record) : contextOf(span, TraceFlags.SAMPLED);
      queue.add({
        ...common,
        ...severityOf(record),
        hrTime: hrTime(record.time),
        hrTimeObserved: hrTime(Date.now()),
        body: ownText(`${record.method} ${String(record.status)}`),
        attributes: owned({ ...fields, ...record.added }),
        ...(context && { spanContext: context }),
      });
    },
    close: () => queue.shutdown(),
  };
}

/** Parts of the record that are no attributes. */
const inRecord = ['time', 'traceId', 'parentSpanId'];

/** Fields that wait for the collector do not grow with the requests, and hold nothing else of them in memory. */
const owned = (fields: Attributes): Attributes =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, ownValue(value)]));

function ownValue(value: Attributes[string]): Attributes[string] {
  if (typeof value === 'string') return ownText(value);
  if (typeof value !== 'object') return value;
  const json = JSON.stringify(value);
  return json.length > maxAttribute ? ownText(json) : (JSON.parse(json) as Attributes[string]);
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1_000), (ms % 1_000) * 1_000_000];

const severities = {
  info: { severityNumber: SeverityNumber.INFO, severityText: 'INFO' },
  warn: { severityNumber: SeverityNumber.WARN, severityText: 'WARN' },
  error: { severityNumber: SeverityNumber.ERROR, severityText: 'ERROR' },
} as const;

const severityOf = ({ status, error }: AccessRecord) =>
  severities[status >= 500 ? 'error' : status >= 400 || error !== undefined ? 'warn' : 'info'];

const contextOf = ({ traceId, spanId }: SpanPlace, traceFlags: TraceFlags): SpanContext => ({
  traceId,
  spanId,
  traceFlags,
});

/** A request without a span belongs to the span of its client. */
function clientContext({ traceparent }: AccessRecord): SpanContext | undefined {
  const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  if (parent === undefined) return undefined;
  const { traceId, parentId, sampled } = parent;
  const place = { traceId: ownText(traceId), spanId: ownText(parentId) };
  return contextOf(place, sampled ? TraceFlags.SAMPLED : TraceFlags.NONE);
}
