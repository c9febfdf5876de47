/** An MCP server over HTTP+SSE, for tests, that does exactly what it is told. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { readSeen, type Seen } from '../../remoteServer.testing.ts';

/** An event stream of a client. */
export class ClientStream {
  readonly id: string;
  readonly response: ServerResponse;
  /** The client has closed it. */
  readonly left: Promise<void>;

  constructor(id: string, response: ServerResponse) {
    this.id = id;
    this.response = response;
    this.left = new Promise((resolve) => response.once('close', () => resolve()));
  }

  /** Sends a message. */
  say(message: object): void {
    this.event('message', JSON.stringify(message));
  }

  event(type: string, data: string): void {
    this.response.write(`event: ${type}\ndata: ${data}\n\n`);
  }

  end(): void {
    this.response.end();
  }

  cut(): void {
    this.response.destroy();
  }
}

/** A message to the server, its stream, and its POST, which has no receipt yet. */
export interface Arrival {
  readonly seen: Seen;
  readonly stream: ClientStream;
  readonly response: ServerResponse;
  /** Sends the receipt. */
  accept(): void;
  /** Refuses the POST. */
  refuse(status: number, body?: string): void;
  /** The response to the request, as a message. */
  result(text: string): object;
}

type Answer = (x: Arrival) => void;

export class SseServer {
  readonly seen: Seen[] = [];
  readonly streams = new Map<string, ClientStream>();
  /** The answers of tools; the receipt of the POST is sent before. */
  readonly tools: Record<string, Answer> = {
    echo: (x) =>
      x.stream.say(x.result(String((x.seen.message.params?.['arguments'] as { text?: string }).text))),
  };
  /** The answers of methods, which send the receipt too. */
  readonly methods: Record<string, Answer> = {};
  /** The answer to GET; undefined: a stream. */
  get: ((response: ServerResponse, seen: Seen) => void) | undefined;
  /** The text of the event `endpoint` for a session. */
  endpoint = (id: string): string => `/message?sessionId=${id}`;
  private readonly server = createServer((request, response) => void this.take(request, response));
  private readonly sockets = new Set<Socket>();
  private last = 0;

  static async start(): Promise<SseServer> {
    const made = new SseServer();
    made.server.on('connection', (socket) => {
      made.sockets.add(socket);
      socket.on('close', () => made.sockets.delete(socket));
    });
    await new Promise<void>((resolve) => void made.server.listen(0, '127.0.0.1', resolve));
    return made;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/sse`;
  }

  /** The requests with this JSON-RPC method, in order; `GET` for streams. */
  of(method: string): Seen[] {
    return this.seen.filter((one) => (one.method === 'POST' ? one.message.method : one.method) === method);
  }

  /** The only stream that is open. */
  get stream(): ClientStream {
    const [only, ...others] = this.streams.values();
    if (only === undefined || others.length > 0) throw new Error(`${this.streams.size} streams are open`);
    return only;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => void this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const seen = await readSeen(request);
    this.seen.push(seen);
    if (seen.method === 'GET') this.open(response, seen);
    else this.answer(seen, response);
  }

  private open(response: ServerResponse, seen: Seen): void {
    if (this.get !== undefined) {
      this.get(response, seen);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const id = `s${++this.last}`;
    const stream = new ClientStream(id, response);
    this.streams.set(id, stream);
    void stream.left.then(() => this.streams.delete(id));
    stream.event('endpoint', this.endpoint(id));
  }

  private answer(seen: Seen, response: ServerResponse): void {
    const { message, url } = seen;
    const stream = this.streams.get(new URL(url, 'http://server').searchParams.get('sessionId') ?? '');
    if (stream === undefined) {
      response.writeHead(404).end('Could not find session');
      return;
    }
    const accept = (): void => void response.writeHead(202).end('Accepted');
    const result = (text: string): object => ({
      jsonrpc: '2.0',
      id: message.id,
      result: { content: [{ type: 'text', text }] },
    });
    const refuse = (status: number, body = ''): void => void response.writeHead(status).end(body);
    const x: Arrival = { seen, stream, response, accept, refuse, result };
    const own = this.methods[message.method ?? ''];
    if (own !== undefined) {
      own(x);
      return;
    }
    accept();
    if (message.method === 'initialize') this.initialize(x);
    else if (message.method === 'tools/call') this.tools[String(message.params?.['name'])]!(x);
    else if (message.method !== undefined && message.id !== undefined)
      stream.say({ jsonrpc: '2.0', id: message.id, result: {} });
  }

  private initialize({ seen: { message }, stream }: Arrival): void {
    const { protocolVersion } = message.params as { protocolVersion: string };
    const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } };
    const serverInfo = { name: 'old', version: '1' };
    stream.say({ jsonrpc: '2.0', id: message.id, result: { protocolVersion, capabilities, serverInfo } });
  }
}
