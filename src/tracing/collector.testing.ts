import { Server as GrpcServer, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';

/** Messages of opentelemetry-proto 1.x (trace.proto, common.proto, resource.proto), with the fields that tests read. */
const schema = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message InstrumentationScope { string name = 1; string version = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Link links = 13; Status status = 15;
}
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
}
`;
const Request = protobuf.parse(schema).root.lookupType('ExportTraceServiceRequest');

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

interface RawRequest {
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

const hex = (base64: string | undefined): string => Buffer.from(base64 ?? '', 'base64').toString('hex');

const valuesOf = (attributes: readonly RawAttribute[]): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value['intValue'] === undefined ? Object.values(value)[0] : Number(value['intValue']),
    ]),
  );

/** An OpenTelemetry collector for tests: it takes traces over OTLP and decodes their protobufs. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  /** Headers or metadata of the exports. */
  readonly heads: IncomingHttpHeaders[] = [];
  readonly paths: string[] = [];
  readonly url: string;
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
        collector.take(Buffer.concat(chunks), request.headers);
        response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
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
    const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
    const bytes = (value: Buffer): Buffer => value;
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
        collector.take(call.request, call.metadata.getMap() as IncomingHttpHeaders);
        done(null, Buffer.alloc(0));
      },
    });
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

  /** Spans of a kind, oldest first. */
  of(kind: 'server' | 'client'): CollectedSpan[] {
    return this.spans.filter((span) => span.kind === (kind === 'server' ? 2 : 3));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private take(body: Buffer, head: IncomingHttpHeaders): void {
    this.heads.push(head);
    const request = Request.toObject(Request.decode(body), {
      bytes: String,
      longs: String,
      arrays: true,
    }) as RawRequest;
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
