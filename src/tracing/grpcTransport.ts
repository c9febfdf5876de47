import { Client, credentials, Metadata, status, type ClientUnaryCall } from '@grpc/grpc-js';
import type { ExportResponse, IExporterTransport } from '@opentelemetry/otlp-exporter-base';
import type { OtlpTarget } from '../model/index.ts';

/** The method of a collector and how to reach it. */
export interface GrpcTarget {
  /** `host:port`. */
  readonly address: string;
  /** TLS, by the authorities of Node. */
  readonly secure: boolean;
  readonly headers: OtlpTarget['headers'];
  /** `/package.Service/Method`. */
  readonly path: string;
}

const same = (bytes: Buffer): Buffer => bytes;

/** Sends batches to a method. The transport of the library cannot break off a call. */
export class GrpcTransport implements IExporterTransport {
  private readonly target: GrpcTarget;
  private readonly metadata: Metadata;
  private client: Client;
  private call: ClientUnaryCall | undefined;
  /** Calls in a row that got no answer in time. */
  private deadlines = 0;

  constructor(target: GrpcTarget) {
    this.target = target;
    this.metadata = metadataOf(target.headers);
    this.client = this.connect();
  }

  send(data: Uint8Array, timeoutMillis: number): Promise<ExportResponse> {
    const { path } = this.target;
    const deadline = Date.now() + timeoutMillis;
    return new Promise((resolve) => {
      this.call = this.client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.from(data),
        this.metadata,
        { deadline },
        (error, answer) => {
          if (error?.code !== status.DEADLINE_EXCEEDED) this.deadlines = 0;
          if (error === null) resolve({ status: 'success', ...(answer && { data: answer }) });
          else {
            if (error.code === status.DEADLINE_EXCEEDED) this.late();
            resolve({ status: 'failure', error });
          }
        },
      );
    });
  }

  /** Breaks off the call that is under way. */
  cut(): void {
    this.call?.cancel();
  }

  shutdown(): void {
    this.client.close();
  }

  private connect(): Client {
    const { address, secure } = this.target;
    return new Client(address, secure ? credentials.createSsl() : credentials.createInsecure());
  }

  /**
   * A connection that lost its other end looks alive for a long time, so another one takes its place. The library leaves it
   * open until the other end closes it, which a collector that hangs does not do: each time, twice as many calls are needed.
   */
  private late(): void {
    this.deadlines++;
    if (Number.isInteger(Math.log2(this.deadlines))) this.reconnect();
  }

  private reconnect(): void {
    this.client.close();
    this.client = this.connect();
  }
}

function metadataOf(headers: OtlpTarget['headers']): Metadata {
  const metadata = new Metadata();
  for (const { name, text } of headers)
    // gRPC sends bytes under these names, in Base64.
    metadata.set(name, name.endsWith('-bin') ? Buffer.from(text, 'base64') : text);
  return metadata;
}
