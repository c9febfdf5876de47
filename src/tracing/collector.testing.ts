import { Server as GrpcServer, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { checkShown } from '../usedSecrets.testing.ts';

const protos = fileURLToPath(import.meta.resolve('otlp-protos/build/protos/'));

/** The official definitions of opentelemetry-proto. */
const root = new protobuf.Root();
root.resolvePath = (_from, path) => (isAbsolute(path) ? path : join(protos, path));
const collectorPackage = 'opentelemetry/proto/collector';
root.loadSync([
  join(protos, `${collectorPackage}/trace/v1/trace_service.proto`),
  join(protos, `${collectorPackage}/logs/v1/logs_service.proto`),
]);
const requests = {
  spans: root.lookupType('opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest'),
  logs: root.lookupType('opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest'),
};
type Kind = keyof typeof requests;
const services: Readonly<Record<Kind, string>> = {
  spans: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
};

interface RawAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface RawSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly RawAttribute[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

interface RawLog {
  readonly timeUnixNano: string;
  readonly severityText: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly attributes: readonly RawAttribute[];
  readonly flags: number;
  readonly traceId?: string;
  readonly spanId?: string;
}

interface RawRequest {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly RawAttribute[] };
    readonly scopeLogs: readonly {
      readonly scope: { readonly name: string };
      readonly logRecords: readonly RawLog[];
    }[];
  }[];
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly RawAttribute[] };
    readonly scopeSpans: readonly { readonly schemaUrl: string; readonly spans: readonly RawSpan[] }[];
  }[];
}

/** A span as the collector got it. Ids are hex digits. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly isError: boolean;
  readonly ms: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly resource: Readonly<Record<string, unknown>>;
  readonly schemaUrl: string;
}

/** A log record as the collector got it. Ids are hex digits, empty where there are none. */
export interface CollectedLog {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly severity: string;
  readonly body: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
}

const hex = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('hex');

const valuesOf = (attributes: readonly RawAttribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function valueOf(value: Readonly<Record<string, unknown>>): unknown {
  const [kind, inner] = Object.entries(value)[0] ?? [];
  if (kind === 'intValue') return Number(inner);
  if (kind === 'kvlistValue') return valuesOf((inner as { values: readonly RawAttribute[] }).values);
  if (kind === 'arrayValue')
    return (inner as { values: readonly Readonly<Record<string, unknown>>[] }).values.map(valueOf);
  return inner;
}

/** An OpenTelemetry collector for tests: it takes spans and log records over OTLP, and decodes their protobufs. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly logs: CollectedLog[] = [];
  /** Headers or metadata of the exports. */
  readonly heads: IncomingHttpHeaders[] = [];
  readonly paths: string[] = [];
  /** The collector answers each batch with this partial success. */
  partial: { readonly rejected: number; readonly message: string } | undefined;
  readonly url: string;
  /** Every batch as it was decoded: ids and bytes as Base64. */
  private readonly batches: string[] = [];
  private readonly stop: () => Promise<void>;

  private constructor(port: number, stop: () => Promise<void>) {
    this.url = `http://127.0.0.1:${port}`;
    this.stop = stop;
  }

  static async http(): Promise<Collector> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        collector.paths.push(request.url ?? '');
        const isLogs = request.url?.endsWith('/logs') === true;
        const kind = isLogs ? 'logs' : 'spans';
        collector.take(kind, Buffer.concat(chunks), request.headers);
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end(collector.answer);
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const collector = new Collector((server.address() as AddressInfo).port, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    });
    return collector;
  }

  static async grpc(): Promise<Collector> {
    const server = new GrpcServer();
    const bytes = (value: Buffer): Buffer => value;
    for (const kind of ['spans', 'logs'] as const) {
      const path = services[kind];
      const service: ServiceDefinition = {
        export: {
          path,
          requestStream: false,
          responseStream: false,
          requestSerialize: bytes,
          requestDeserialize: bytes,
          responseSerialize: bytes,
          responseDeserialize: bytes,
        },
      };
      server.addService(service, {
        export: (
          call: { request: Buffer; metadata: { getMap(): Record<string, unknown> } },
          done: (error: null, answer: Buffer) => void,
        ) => {
          collector.paths.push(path);
          collector.take(kind, call.request, call.metadata.getMap() as IncomingHttpHeaders);
          done(null, collector.answer);
        },
      });
    }
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const collector = new Collector(port, () => {
      server.forceShutdown();
      return Promise.resolve();
    });
    return collector;
  }

  /** The message `partial_success` has the same numbers of fields for spans and for log records. */
  private get answer(): Buffer {
    if (this.partial === undefined) return Buffer.alloc(0);
    const { rejected, message } = this.partial;
    const partial = [0x08, rejected, 0x12, message.length, ...Buffer.from(message)];
    return Buffer.from([0x0a, partial.length, ...partial]);
  }

  /** Spans of a kind, oldest first. */
  of(kind: 'server' | 'client'): CollectedSpan[] {
    return this.spans.filter((span) => span.kind === (kind === 'server' ? 2 : 3));
  }

  /** @throws AssertionError where a batch has shown a secret */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    for (const batch of this.batches) checkShown('an export of spans or log records', batch);
  }

  private take(kind: Kind, body: Buffer, head: IncomingHttpHeaders): void {
    this.heads.push(head);
    const type = requests[kind];
    const options = { bytes: String, longs: String, arrays: true };
    const request = type.toObject(type.decode(body), options) as RawRequest;
    this.batches.push(JSON.stringify(request));
    if (kind === 'spans') this.takeSpans(request);
    else this.takeLogs(request);
  }

  private takeLogs(request: RawRequest): void {
    for (const { resource, scopeLogs } of request.resourceLogs)
      for (const { scope, logRecords } of scopeLogs)
        for (const log of logRecords)
          this.logs.push({
            traceId: hex(log.traceId),
            spanId: hex(log.spanId),
            sampled: (log.flags & 1) === 1,
            time: Number(BigInt(log.timeUnixNano) / 1_000_000n),
            severity: log.severityText,
            body: valueOf(log.body),
            attributes: valuesOf(log.attributes),
            resource: valuesOf(resource.attributes),
            scope: scope.name,
          });
  }

  private takeSpans(request: RawRequest): void {
    for (const { resource, scopeSpans } of request.resourceSpans)
      for (const { spans, schemaUrl } of scopeSpans)
        for (const span of spans)
          this.spans.push({
            traceId: hex(span.traceId),
            spanId: hex(span.spanId),
            parentSpanId: hex(span.parentSpanId),
            name: span.name,
            kind: span.kind,
            isError: span.status?.code === 2,
            ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
            attributes: valuesOf(span.attributes),
            links: span.links.map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
            resource: valuesOf(resource.attributes),
            schemaUrl,
          });
  }
}
