import type { Metadata } from '@grpc/grpc-js';
import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import type { IExporterMetricsHelper, ISerializer } from '@opentelemetry/otlp-transformer';
import type { OtlpTarget } from '../model/index.ts';

/** The part of a library exporter that is in use here. */
export type Exporter<T> = Pick<IOtlpExportDelegate<T[]>, 'export' | 'shutdown'>;

/** A kind of telemetry, with the parts of the libraries that encode it. */
export interface Signal<T> {
  /** The gRPC service of the OTLP specification, without its package. */
  readonly service: 'trace.v1.TraceService' | 'logs.v1.LogsService';
  readonly serializer: ISerializer<T[], unknown>;
  readonly helper: IExporterMetricsHelper<T[]>;
}

/** Time of one export with its repetitions, in milliseconds. */
const exportMs = 5_000;

/** One batch is under way at a time. */
const shared = { timeoutMillis: exportMs, concurrencyLimit: 1, compression: 'none' } as const;

/**
 * An exporter of the OpenTelemetry libraries. It is made from their parts, because the whole exporters merge the
 * variables `OTEL_EXPORTER_OTLP_*` of the environment into headers, compression and certificates. Only the transport in
 * use is loaded: gRPC takes 6 MB.
 */
export async function exporterFor<T>(
  { service, serializer, helper }: Signal<T>,
  { protocol, endpoint, headers }: OtlpTarget,
): Promise<Exporter<T>> {
  const component = `otlp_${protocol}_${helper.name}_exporter`;
  if (protocol === 'http') {
    const { createOtlpHttpExportDelegate, httpAgentFactoryFromOptions } =
      await import('@opentelemetry/otlp-exporter-base/node-http');
    const given = Object.fromEntries(headers.map(({ name, text }) => [name, text]));
    return createOtlpHttpExportDelegate(
      {
        ...shared,
        url: endpoint,
        headers: () => Promise.resolve({ ...given, 'Content-Type': 'application/x-protobuf' }),
        agentFactory: httpAgentFactoryFromOptions({ keepAlive: true }),
      },
      serializer,
      component,
      helper,
      undefined,
    );
  }
  const { createOtlpGrpcExportDelegate } = await import('@opentelemetry/otlp-grpc-exporter-base');
  const grpc = await import('@grpc/grpc-js');
  const metadata: Metadata = new grpc.Metadata();
  for (const { name, text } of headers) metadata.set(name, text);
  const { hostname, port, protocol: scheme } = new URL(endpoint);
  const secure = scheme === 'https:';
  return createOtlpGrpcExportDelegate(
    {
      ...shared,
      url: `${hostname}:${port === '' ? (secure ? '443' : '80') : port}`,
      metadata: () => metadata,
      credentials: () => (secure ? grpc.credentials.createSsl() : grpc.credentials.createInsecure()),
    },
    serializer,
    component,
    helper,
    undefined,
    service.split('.').at(-1) ?? service,
    `/opentelemetry.proto.collector.${service}/Export`,
  );
}
