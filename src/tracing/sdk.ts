/** The libraries of OpenTelemetry for spans. `tracing.ts` loads this file only where tracing is configured. */

import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../model/index.ts';
import { version } from '../version.ts';
import { conventions, type Spans } from './contract.ts';
import { exporterFor, type Signal } from './exporter.ts';
import { ExportQueue, type QueueTools } from './exportQueue.ts';
import { RecordedSpan, type SpanSource } from './recordedSpan.ts';
import { resourceOf } from './resource.ts';
import { SpanGroups } from './spanGroups.ts';

export interface Exporting extends Spans {
  close(): Promise<void>;
}

const signal: Signal<ReadableSpan> = {
  service: 'trace.v1.TraceService',
  serializer: ProtobufTraceSerializer,
  helper: TraceExporterMetricsHelper,
};

/** Spans, with their exporter. The SDK would only pass them on: sampling is decided before, and there is one exporter. */
export async function startExporting(settings: TracingSettings, tools: QueueTools): Promise<Exporting> {
  const { log, metrics } = tools;
  const items = {
    name: 'Spans',
    exported: metrics.counter('spans_exported_total', 'Spans that the collector has taken.', []),
    dropped: metrics.counter(
      'spans_dropped_total',
      'Spans that were not exported: too many waited, or the collector did not take them.',
      ['reason'],
    ),
  };
  const groups = new SpanGroups(new ExportQueue(await exporterFor(signal, settings), items, log));
  const source: SpanSource = {
    resource: resourceOf(settings.resources),
    instrumentationScope: {
      name: 'portcullis',
      version: version(),
      schemaUrl: `https://opentelemetry.io/schemas/${conventions}`,
    },
    take: (span, group) => groups.take(span, group),
  };
  return {
    begin: (start) => new RecordedSpan(start, source),
    group: () => groups.open(),
    close: () => groups.shutdown(),
  };
}
