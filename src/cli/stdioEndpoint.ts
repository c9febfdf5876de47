import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { GatheredBytes } from '../gatheredBytes.ts';
import { EventReader } from '../http/index.ts';

/** Receives the answer to one request. */
export interface EndpointReader {
  /** A message of the answer. */
  onMessage(text: string): void;
  /** The answer is complete. @param problem why the request was not accepted, with its status */
  onEnd(answer: EndpointAnswer): void;
}

export interface EndpointAnswer {
  /** 0 where the connection ended before the answer was complete. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body of an answer that is no message, or a failure. */
  readonly text: string;
  /** The last event of a stream, to resume it from; undefined where there is none. */
  readonly lastId: string | undefined;
  /** The delay that a stream asked for, in milliseconds. */
  readonly retryMs: number | undefined;
}

/** The bytes that are read of an answer that is no message. */
const maxProblemBytes = 65_536;

/**
 * The MCP endpoint of a gateway in this process, over one connection of HTTP/2: the gateway gets requests in the order
 * in which they were made.
 */
export class StdioEndpoint {
  private readonly open: () => Socket;
  private readonly path: string;
  private readonly token: string | undefined;
  private readonly maxMessageBytes: number;
  private session: ClientHttp2Session | undefined;
  private readonly streams = new Set<ClientHttp2Stream>();
  private paused = false;

  constructor(options: {
    readonly connect: () => Socket;
    readonly path: string;
    /** Goes with every request; undefined for none. */
    readonly token: string | undefined;
    readonly maxMessageBytes: number;
  }) {
    this.open = options.connect;
    this.path = options.path;
    this.token = options.token;
    this.maxMessageBytes = options.maxMessageBytes;
  }

  /** Requests without a complete answer. */
  get underWay(): number {
    return this.streams.size;
  }

  /** @returns what closes the stream of the request */
  request(
    method: 'POST' | 'GET',
    headers: Readonly<Record<string, string>>,
    body: string | undefined,
    reader: EndpointReader,
  ): () => void {
    const stream = this.connected().request({
      ':method': method,
      ':path': this.path,
      ':authority': 'localhost',
      'user-agent': 'portcullis stdio',
      ...(this.token === undefined ? {} : { authorization: `Bearer ${this.token}` }),
      ...headers,
    });
    this.streams.add(stream);
    if (this.paused) stream.pause();
    this.read(stream, reader);
    stream.end(body);
    return () => stream.close(constants.NGHTTP2_CANCEL);
  }

  /** Reads no answers for now: the client does not take them. */
  pause(): void {
    this.paused = true;
    for (const stream of this.streams) stream.pause();
  }

  resume(): void {
    this.paused = false;
    for (const stream of this.streams) stream.resume();
  }

  close(): void {
    this.session?.destroy();
  }

  private read(stream: ClientHttp2Stream, reader: EndpointReader): void {
    let headers: IncomingHttpHeaders = {};
    let status = 0;
    let events: EventReader | undefined;
    const gathered = new GatheredBytes();
    let length = 0;
    let complete = false;
    stream.on('end', () => (complete = !stream.aborted));
    stream.on('response', (received) => {
      headers = received;
      status = received[':status'] ?? 0;
      if (status === 200 && received['content-type']?.startsWith('text/event-stream') === true)
        events = new EventReader(
          { onEvent: (data) => reader.onMessage(data), onTooLong: () => undefined },
          this.maxMessageBytes,
        );
    });
    stream.on('data', (bytes: Buffer) => {
      if (events !== undefined) {
        events.take(bytes, 0, bytes.length);
        return;
      }
      length += bytes.length;
      if (status === 200 || length <= maxProblemBytes) gathered.add(bytes);
    });
    // The missing answer shows that it failed.
    stream.on('error', () => undefined);
    stream.on('close', () => {
      this.streams.delete(stream);
      const text = gathered.whole().toString();
      const isMessage = complete && status === 200 && events === undefined && text !== '';
      if (isMessage) reader.onMessage(text);
      reader.onEnd({
        status: complete ? status : 0,
        headers,
        text: isMessage ? '' : text,
        lastId: events?.lastId,
        retryMs: events?.retryMs,
      });
    });
  }

  private connected(): ClientHttp2Session {
    if (this.session !== undefined && !this.session.closed && !this.session.destroyed) return this.session;
    const session = connect('http://localhost', { createConnection: () => this.open() });
    // Every request tells its own failure.
    session.on('error', () => undefined);
    this.session = session;
    return session;
  }
}
