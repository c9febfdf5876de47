import type { Metadata } from '@grpc/grpc-js';
import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import type { IExporterMetricsHelper, ISerializer } from '@opentelemetry/otlp-transformer';
import type { OtlpTarget } from '../model/index.ts';

/** The answer of a collector that took a batch, but not all of its items, or that has a warning. */
export interface PartialSuccess {
  /** Items that the collector did not take. */
  readonly rejected: number;
  readonly message: string | undefined;
}

export interface Exporter<T> {
  /** @param done hears of the end of the export */
  export(items: T[], done: (result: ExportResult, partial: PartialSuccess | undefined) => void): void;
  shutdown(): Promise<void>;
}

/** The part of a library exporter that is in use here. */
type Delegate<T> = Pick<IOtlpExportDelegate<T[]>, 'export' | 'shutdown'>;
type ExportResult = Parameters<Parameters<Delegate<unknown>['export']>[1]>[0];

/** The answer of a collector, as the serializers of the libraries read it. */
interface ExportResponse {
  readonly partialSuccess?: {
    readonly rejectedSpans?: number;
    readonly rejectedLogRecords?: number;
    readonly errorMessage?: string;
  };
}

/** A kind of telemetry, with the parts of the libraries that encode it. */
export interface Signal<T> {
  /** The gRPC service of the OTLP specification, without its package. */
  readonly service: 'trace.v1.TraceService' | 'logs.v1.LogsService';
  readonly serializer: ISerializer<T[], ExportResponse>;
  readonly helper: IExporterMetricsHelper<T[]>;
}

/** Time of one export with its repetitions, in milliseconds. */
const exportMs = 5_000;

/** Characters of a collector's message in the log. */
const mostMessage = 256;

/** One batch is under way at a time. */
const shared = { timeoutMillis: exportMs, concurrencyLimit: 1, compression: 'none' } as const;

/**
 * An exporter of the OpenTelemetry libraries. It is made from their parts, because the whole exporters merge the
 * variables `OTEL_EXPORTER_OTLP_*` of the environment into headers, compression and certificates. Only the transport in
 * use is loaded: gRPC takes 6 MB.
 */
export async function exporterFor<T>(
  { serializer, ...signal }: Signal<T>,
  target: OtlpTarget,
): Promise<Exporter<T>> {
  // The library reads the answer, and only logs a partial success. One export is under way at a time.
  let partial: PartialSuccess | undefined;
  const watched: Signal<T>['serializer'] = {
    serializeRequest: (items) => serializer.serializeRequest(items),
    deserializeResponse: (data) => {
      const response = serializer.deserializeResponse(data);
      partial = partialSuccessOf(response);
      return response;
    },
  };
  const delegate = await delegateFor({ ...signal, serializer: watched }, target);
  return {
    export(items, done) {
      partial = undefined;
      delegate.export(items, (result) => done(result, partial));
    },
    shutdown: () => delegate.shutdown(),
  };
}

function partialSuccessOf({ partialSuccess }: ExportResponse): PartialSuccess | undefined {
  if (partialSuccess === undefined) return undefined;
  const { rejectedSpans = 0, rejectedLogRecords = 0, errorMessage = '' } = partialSuccess;
  const rejected = Math.max(0, rejectedSpans + rejectedLogRecords);
  if (rejected === 0 && errorMessage === '') return undefined;
  return { rejected, message: errorMessage === '' ? undefined : errorMessage.slice(0, mostMessage) };
}

async function delegateFor<T>(
  { service, serializer, helper }: Signal<T>,
  { protocol, endpoint, headers }: OtlpTarget,
): Promise<Delegate<T>> {
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
