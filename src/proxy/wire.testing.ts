/**
 * Both ends of the gateway as plain sockets, with a reader of messages of their own: what the gateway's codec gets
 * wrong must not be wrong here in the same way.
 */
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';

export interface Message {
  /** Request line or status line. */
  readonly start: string;
  /** Field lines as they came. */
  readonly lines: readonly (readonly [name: string, value: string])[];
  /** Payload, without chunk framing. */
  readonly body: Buffer;
  /** Trailer lines as they came. */
  readonly trailers: string;
}

/** The only value of a field; undefined where there is none. @throws Error where it comes twice */
export function field(message: Message, name: string): string | undefined {
  const values = fields(message, name);
  if (values.length > 1) throw new Error(`${name} comes ${values.length} times`);
  return values[0];
}

export const fields = (message: Message, name: string): string[] =>
  message.lines.filter(([known]) => known.toLowerCase() === name.toLowerCase()).map(([, value]) => value);

export const status = (message: Message): number => Number(message.start.split(' ')[1]);

/** Bytes that arrived, and messages cut from their front. */
class Inbox {
  private buffer = Buffer.alloc(1_024);
  length = 0;
  /** Bytes the message at the front is known to need: looking earlier finds nothing. */
  private wanted = 0;
  /** The position up to which the chunks of the message at the front have been read. */
  private chunks: { at: number; parts: Buffer[] } | undefined;

  add(bytes: Buffer): void {
    const length = this.length + bytes.length;
    if (length > this.buffer.length) {
      const grown = Buffer.alloc(2 * length);
      this.bytes.copy(grown);
      this.buffer = grown;
    }
    bytes.copy(this.buffer, this.length);
    this.length = length;
  }

  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  drop(length: number): void {
    const rest = Buffer.from(this.bytes.subarray(length));
    this.length = 0;
    this.wanted = 0;
    this.chunks = undefined;
    this.add(rest);
  }

  /** The next head, left where it is. */
  head(): { start: string; lines: [string, string][]; length: number } | undefined {
    const end = this.bytes.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const [start = '', ...rest] = this.bytes.toString('latin1', 0, end).split('\r\n');
    const lines = rest.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    return { start, lines, length: end + 4 };
  }

  /** The next message where it is complete. `bodyless`: an answer to HEAD. `ended`: nothing more will come. */
  message(bodyless: boolean, ended: boolean): Message | undefined {
    if (this.length < this.wanted) return undefined;
    const head = this.head();
    if (head === undefined) return undefined;
    const { start, lines } = head;
    const get = (name: string): string | undefined =>
      lines.find(([known]) => known.toLowerCase() === name)?.[1];
    const code = start.startsWith('HTTP/') ? Number(start.split(' ')[1]) : 0;
    const none = bodyless || (code > 0 && (code < 200 || code === 204 || code === 304));
    const length = get('content-length');
    if (!none && get('transfer-encoding') === 'chunked') return this.chunked(head);
    if (!none && length === undefined && code > 0) {
      if (!ended) return undefined;
      const body = Buffer.from(this.bytes.subarray(head.length));
      this.drop(this.length);
      return { start, lines, body, trailers: '' };
    }
    const end = head.length + (none ? 0 : Number(length ?? 0));
    if (this.length < end) {
      this.wanted = end;
      return undefined;
    }
    const body = Buffer.from(this.bytes.subarray(head.length, end));
    this.drop(end);
    return { start, lines, body, trailers: '' };
  }

  private chunked({
    start,
    lines,
    length,
  }: {
    start: string;
    lines: [string, string][];
    length: number;
  }): Message | undefined {
    const { bytes } = this;
    const progress = (this.chunks ??= { at: length, parts: [] });
    let { at } = progress;
    for (;;) {
      const line = bytes.indexOf('\r\n', at);
      if (line === -1) return undefined;
      const size = Number.parseInt(bytes.toString('latin1', at, line), 16);
      at = line + 2;
      if (size === 0) break;
      if (bytes.length < at + size + 2) {
        this.wanted = at + size + 2;
        return undefined;
      }
      if (bytes.toString('latin1', at + size, at + size + 2) !== '\r\n')
        throw new Error('a chunk ends in its middle');
      progress.parts.push(Buffer.from(bytes.subarray(at, at + size)));
      at += size + 2;
      progress.at = at;
    }
    const end = bytes.indexOf('\r\n\r\n', at - 2);
    if (end === -1) return undefined;
    const trailers = bytes.toString('latin1', at, Math.max(at, end));
    this.drop(end + 4);
    return { start, lines, body: Buffer.concat(progress.parts), trailers };
  }
}

/** The way a connection ended. */
export type Ending = 'open' | 'fin' | 'reset';

/** An end of a connection that records what comes. */
class Wire {
  readonly socket: Socket;
  readonly inbox = new Inbox();
  ending: Ending = 'open';
  private readonly changes = new EventEmitter();

  constructor(socket: Socket) {
    this.socket = socket;
    this.changes.setMaxListeners(0);
    socket.on('data', (bytes: Buffer) => {
      this.inbox.add(bytes);
      this.changed();
    });
    socket.on('end', () => {
      if (this.ending === 'open') this.ending = 'fin';
      this.changed();
    });
    socket.on('error', () => {
      this.ending = 'reset';
      this.changed();
    });
    socket.on('close', () => {
      if (this.ending === 'open') this.ending = 'fin';
      this.changed();
    });
  }

  protected changed(): void {
    this.changes.emit('change');
  }

  send(data: string | Buffer): void {
    this.socket.write(typeof data === 'string' ? Buffer.from(data, 'latin1') : data);
  }

  /** Waits until `look` finds something. @throws Error when nothing comes within ten seconds */
  async find<T>(what: string, look: () => T | undefined): Promise<T> {
    const signal = AbortSignal.timeout(10_000);
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      try {
        await once(this.changes, 'change', { signal });
      } catch {
        const seen = this.inbox.bytes.toString('latin1', 0, 300);
        throw new Error(`waited in vain for ${what} (${this.ending}, ${this.inbox.length} bytes): ${seen}`);
      }
    }
  }

  /** Waits for the end of the connection. */
  closed(): Promise<Ending> {
    return this.find('the end', () => (this.ending === 'open' ? undefined : this.ending));
  }

  /** Everything that came and was not taken as a message. */
  get text(): string {
    return this.inbox.bytes.toString('latin1');
  }

  close(): void {
    this.socket.destroy();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

/** A client. */
export class RawClient extends Wire {
  /** @param localAddress another address of the loopback interface to come from */
  static async connect(port: number, localAddress = '127.0.0.1'): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true, allowHalfOpen: true });
    const client = new RawClient(socket);
    await once(socket, 'connect');
    return client;
  }

  /** The same under TLS. @throws Error where the handshake fails */
  static async secure(port: number, options: ConnectionOptions = {}): Promise<RawClient> {
    // The types have not heard of `allowHalfOpen` here.
    const given: ConnectionOptions & { allowHalfOpen: boolean } = {
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      allowHalfOpen: true,
      ...options,
    };
    const socket = connectTls(given);
    const client = new RawClient(socket);
    await once(socket, 'secureConnect');
    return client;
  }

  /** The next answer, interim ones included. @throws Error where the connection ends in its middle */
  answer(bodyless = false): Promise<Message> {
    return this.find('an answer', () => {
      const ended = this.ending !== 'open';
      const message = this.inbox.message(bodyless, this.ending === 'fin');
      if (message === undefined && ended)
        throw new Error(
          `the connection ended (${this.ending}) before the answer did: ${this.text.slice(0, 300)}`,
        );
      return message;
    });
  }

  /** Sends a request and waits for its answer. */
  async ask(text: string | Buffer, bodyless = false): Promise<Message> {
    this.send(text);
    return await this.answer(bodyless);
  }
}

/** A connection that the gateway opened to a backend. */
export class BackendConnection extends Wire {
  /** The head of the request under way, before its body is complete. */
  headSeen = false;
}

export interface BackendScript {
  /** A complete request. */
  onRequest?(request: Message, connection: BackendConnection, index: number): void;
  /** The head of a request, as soon as it is there; the body may follow. */
  onHead?(connection: BackendConnection): void;
  onConnection?(connection: BackendConnection): void;
}

/** A backend that does what its script says and remembers what it was asked. */
export class RawBackend {
  readonly requests: Message[] = [];
  readonly connections = new Set<BackendConnection>();
  accepted = 0;
  readonly server: Server;
  private readonly changes = new EventEmitter();

  private constructor(script: BackendScript) {
    this.changes.setMaxListeners(0);
    this.server = createServer({ noDelay: true }, (socket) => {
      const connection = new BackendConnection(socket);
      this.connections.add(connection);
      this.accepted++;
      socket.on('data', () => this.read(connection, script));
      socket.on('close', () => {
        this.connections.delete(connection);
        this.changes.emit('change');
      });
      script.onConnection?.(connection);
      this.changes.emit('change');
    });
  }

  static async start(script: BackendScript): Promise<RawBackend> {
    const backend = new RawBackend(script);
    backend.server.listen(0, '127.0.0.1');
    await once(backend.server, 'listening');
    return backend;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Waits for a condition on what the backend has seen. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(10_000);
    while (!condition()) {
      try {
        await once(this.changes, 'change', { signal });
      } catch {
        throw new Error(`waited in vain until ${what}`);
      }
    }
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const connection of this.connections) connection.close();
    await closed;
  }

  private read(connection: BackendConnection, script: BackendScript): void {
    this.changes.emit('change');
    for (;;) {
      if (!connection.headSeen && connection.inbox.head() !== undefined) {
        connection.headSeen = true;
        script.onHead?.(connection);
      }
      const request = connection.inbox.message(false, false);
      if (request === undefined) return;
      connection.headSeen = false;
      this.requests.push(request);
      this.changes.emit('change');
      script.onRequest?.(request, connection, this.requests.length - 1);
    }
  }
}

/** An answer of known length. */
export const ok = (body: string, ...lines: string[]): string =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

/** A request without a body. */
export const get = (target = '/', ...lines: string[]): string =>
  `GET ${target} HTTP/1.1\r\nhost: app.test\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

/** A request with a body of known length. */
export const post = (body: string, ...lines: string[]): string =>
  `POST /post HTTP/1.1\r\nhost: app.test\r\ncontent-length: ${body.length}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;
