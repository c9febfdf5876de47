/** The libraries of OpenTelemetry. `tracing.ts` loads this file only where tracing is configured. */

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Context } from '@opentelemetry/api';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import { AlwaysOnSampler, TracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../model/index.ts';
import { version } from '../version.ts';
import { conventions, type SpanPlace, type Spans } from './contract.ts';
import { exporterFor, type Signal } from './exporter.ts';
import { ExportQueue, type QueueTools } from './exportQueue.ts';
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
const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/** Spans, with their exporter. */
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
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: 4_096, attributeCountLimit: 128 },
    resource: resourceOf(settings.resources),
    spanProcessors: [groups],
  });
  const tracer = provider.getTracer('portcullis', version(), {
    schemaUrl: `https://opentelemetry.io/schemas/${conventions}`,
  });
  return {
    begin({ name, kind, parent, link, startedAt, attributes, group }) {
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[kind],
          attributes: { ...attributes },
          ...(startedAt !== undefined && { startTime: startedAt }),
          ...(link && { links: [{ context: remote(link) }] }),
        },
        under(parent),
      );
      if (group !== undefined) groups.join(span, group);
      const { traceId, spanId } = span.spanContext();
      return {
        place: { traceId, spanId },
        traceparent: `00-${traceId}-${spanId}-01`,
        set: (more) => void span.setAttributes({ ...more }),
        rename: (other) => void span.updateName(other),
        end: (error) => {
          if (error !== undefined) {
            span.setAttribute('error.type', error);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    group: () => groups.open(),
    close: () => groups.shutdown(),
  };
}

const remote = ({ traceId, spanId }: SpanPlace) => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

const under = (parent: SpanPlace | undefined): Context =>
  parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote(parent));
