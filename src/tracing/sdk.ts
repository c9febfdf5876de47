/** The libraries of OpenTelemetry. `tracing.ts` loads this file only where tracing is configured. */

import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Context } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { version } from '../version.ts';
import { conventions, type OpenSpan, type SpanPlace, type SpanStart } from './contract.ts';
import { SpanQueue } from './spanQueue.ts';

export interface Exporting {
  begin(start: SpanStart): OpenSpan;
  close(): Promise<void>;
}

/** Time of one export with its repetitions, in milliseconds. */
const exportMs = 5_000;
const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const;

/** Spans, with their exporter. */
export async function startExporting(
  settings: TracingSettings,
  tools: { readonly log: Logger; readonly metrics: Metrics },
): Promise<Exporting> {
  const queue = new SpanQueue(await exporterFor(settings), tools);
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: 4_096, attributeCountLimit: 128 },
    resource: resourceFromAttributes({
      'service.name': 'portcullis',
      'service.version': version(),
      'process.pid': process.pid,
    }),
    spanProcessors: [queue],
  });
  const tracer = provider.getTracer('portcullis', version(), {
    schemaUrl: `https://opentelemetry.io/schemas/${conventions}`,
  });
  return {
    begin({ name, kind, parent, link, startedAt, attributes }) {
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
      const { traceId, spanId } = span.spanContext();
      return {
        place: { traceId, spanId },
        traceparent: `00-${traceId}-${spanId}-01`,
        set: (more) => void span.setAttributes({ ...more }),
        end: (error) => {
          if (error !== undefined) {
            span.setAttribute('error.type', error);
            span.setStatus({ code: SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    close: () => queue.shutdown(),
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

/** Only the exporter in use is loaded: gRPC takes 6 MB. */
async function exporterFor({ protocol, endpoint, headers }: TracingSettings): Promise<SpanExporter> {
  const common = { url: endpoint, timeoutMillis: exportMs };
  if (protocol === 'http') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
    return new OTLPTraceExporter({
      ...common,
      headers: Object.fromEntries(headers.map(({ name, text }) => [name, text])),
    });
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
  const { credentials, Metadata } = await import('@grpc/grpc-js');
  const metadata = new Metadata();
  for (const { name, text } of headers) metadata.set(name, text);
  return new OTLPTraceExporter({
    ...common,
    metadata,
    credentials: endpoint.startsWith('https:') ? credentials.createSsl() : credentials.createInsecure(),
  });
}
