import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import type { IExporterMetricsHelper, ISerializer } from '@opentelemetry/otlp-transformer';
import type { OtlpTarget } from '../model/index.ts';

/** The answer of a collector that took a batch, but not all of its items, or that has a warning. */
export interface PartialSuccess {
  /** Items that the collector did not take. */
  readonly rejected: number;
  readonly message: string | undefined;
}

/** Exports batches, one at a time. */
export interface Exporter<T> {
  /**
   * @param done hears of the end of the export, once and within the time of an export: why it failed, or what the
   *   collector says of the batch
   * @throws Error if the batch cannot be encoded
   */
  export(items: T[], done: (failure: string | undefined, partial: PartialSuccess | undefined) => void): void;
  /** Breaks off the export that is under way, which fails for this reason, and closes the connection. */
  close(reason: string): void;
}

/** The part of a library exporter that is in use here. */
interface Delegate<T> extends Pick<IOtlpExportDelegate<T[]>, 'export' | 'shutdown'> {
  /** Ends the connections at once. */
  cut(error: Error): void;
}

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

/**
 * Time of one export with its repetitions, in milliseconds. The library ends most exports by its own limit, and knows a
 * better reason. Over HTTP its limit counts only while no byte arrives, so an answer that drips needs another one.
 */
const most = { libraryMs: 4_500, exportMs: 5_000 };

/** Characters of a collector's message in the log. */
const mostMessage = 256;

/** The queue exports one batch at a time. The library may see the end of one that was broken off a moment later. */
const shared = { timeoutMillis: most.libraryMs, concurrencyLimit: 2, compression: 'none' } as const;

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
  let unreadable: string | undefined;
  const watched: Signal<T>['serializer'] = {
    serializeRequest: (items) => serializer.serializeRequest(items),
    deserializeResponse: (data) => {
      const response = responseIn(serializer, data);
      if (response === undefined) unreadable = `the answer is no OTLP response: ${beginningOf(data)}`;
      partial = partialSuccessOf(response ?? {});
      return response ?? {};
    },
  };
  const delegate = await delegateFor({ ...signal, serializer: watched }, target);
  let breakOff: ((reason: string) => void) | undefined;
  return {
    export(items, done) {
      partial = undefined;
      unreadable = undefined;
      let isUnderWay = true;
      const end = (failure: string | undefined): void => {
        if (!isUnderWay) return;
        isUnderWay = false;
        clearTimeout(timer);
        done(failure, partial);
      };
      breakOff = (reason) => {
        if (!isUnderWay) return;
        end(reason);
        delegate.cut(new Error(reason));
      };
      const timer = setTimeout(breakOff, most.exportMs, 'the collector did not end its answer in time');
      try {
        delegate.export(items, ({ code, error }) =>
          end(code === 0 ? unreadable : (error?.message ?? 'unknown')),
        );
      } catch (error) {
        clearTimeout(timer);
        throw error;
      }
    },
    close(reason) {
      breakOff?.(reason);
      delegate.shutdown().catch(() => undefined);
    },
  };
}

/** The answer; some collectors answer in JSON. Undefined for any other text, such as a page of a web server. */
function responseIn(serializer: Signal<never>['serializer'], data: Uint8Array): ExportResponse | undefined {
  try {
    return serializer.deserializeResponse(data);
  } catch {
    try {
      return JSON.parse(Buffer.from(data).toString()) === null ? undefined : {};
    } catch {
      return undefined;
    }
  }
}

const beginningOf = (data: Uint8Array): string => Buffer.from(data.subarray(0, 64)).toString();

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
    const agent = await httpAgentFactoryFromOptions({ keepAlive: true })(new URL(endpoint).protocol);
    const delegate = createOtlpHttpExportDelegate(
      {
        ...shared,
        url: endpoint,
        headers: () => Promise.resolve({ ...given, 'Content-Type': 'application/x-protobuf' }),
        agentFactory: () => agent,
      },
      serializer,
      component,
      helper,
      undefined,
    );
    return {
      export: (items, done) => delegate.export(items, done),
      shutdown: () => delegate.shutdown(),
      cut(error) {
        // With an error of their own, since the library would repeat an export whose connection was reset.
        for (const sockets of Object.values(agent.sockets))
          for (const socket of sockets ?? []) socket.destroy(error);
      },
    };
  }
  const { createOtlpNetworkExportDelegate } = await import('@opentelemetry/otlp-exporter-base');
  const { createOtlpGrpcExporterMetrics } = await import('@opentelemetry/otlp-grpc-exporter-base');
  const { GrpcTransport } = await import('./grpcTransport.ts');
  const { hostname, port, protocol: scheme } = new URL(endpoint);
  const secure = scheme === 'https:';
  const address = `${hostname}:${port === '' ? (secure ? '443' : '80') : port}`;
  const transport = new GrpcTransport({
    address,
    secure,
    headers,
    path: `/opentelemetry.proto.collector.${service}/Export`,
  });
  const delegate = createOtlpNetworkExportDelegate(
    shared,
    serializer,
    createOtlpGrpcExporterMetrics(component, helper, address, undefined),
    transport,
  );
  return {
    export: (items, done) => delegate.export(items, done),
    shutdown: () => delegate.shutdown(),
    cut: () => transport.cut(),
  };
}
