/** An MCP server over Streamable HTTP, for tests, that does exactly what it is told. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Message } from './rawClient.testing.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** The message of a POST. */
  readonly message: Message;
}

/** Reads a request whole. */
export async function readSeen(request: IncomingMessage): Promise<Seen> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString();
  const message = (text === '' ? {} : JSON.parse(text)) as Message;
  const { method = '', url = '', headers } = request;
  return { method, url, headers, message };
}

/** A request to the server, and the ways to answer it. */
export class Incoming {
  readonly seen: Seen;
  readonly response: ServerResponse;
  /** The request was given up. */
  readonly left: Promise<void>;

  constructor(seen: Seen, response: ServerResponse) {
    this.seen = seen;
    this.response = response;
    this.left = new Promise((resolve) => response.once('close', () => resolve()));
  }

  get id(): unknown {
    return this.seen.message.id;
  }

  /** The response to the request, as a message. */
  result(text: string): object {
    return { jsonrpc: '2.0', id: this.id, result: { content: [{ type: 'text', text }] } };
  }

  json(body: object | string, status = 200, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  status(status: number, headers: Record<string, string> = {}, body = ''): void {
    this.response.writeHead(status, headers);
    this.response.end(body);
  }

  /** Begins an event stream. */
  stream(): this {
    this.response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.response.flushHeaders();
    return this;
  }

  event(message: object | '', fields: { id?: string; retry?: number } = {}): void {
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
    const data = message === '' ? '' : JSON.stringify(message);
    this.response.write(`${lines.join('')}data: ${data}\n\n`);
  }

  end(): void {
    this.response.end();
  }

  /** Breaks the connection off. */
  cut(): void {
    this.response.destroy();
  }
}

type Answer = (x: Incoming) => void | Promise<void>;

const tools: Record<string, Answer> = {
  echo: (x) => x.json(x.result(String((x.seen.message.params?.['arguments'] as { text?: string }).text))),
};

/** HTTP/1.1, the same under TLS, or HTTP/2 with prior knowledge. */
type Kind = 'http' | 'h2c' | { readonly cert: string; readonly key: string };

export class RemoteServer {
  readonly seen: Seen[] = [];
  /** Sessions that it knows. */
  readonly sessions = new Set<string>();
  /** Sessions that were ended by DELETE. */
  readonly deleted: string[] = [];
  /** GET streams that are open. */
  readonly news = new Set<Incoming>();
  /** The answers of tools. */
  readonly tools: Record<string, Answer> = { ...tools };
  /** The answers of methods; other methods answer in the usual way. */
  readonly methods: Record<string, Answer> = {};
  /** The tools of `tools/list`, asked for each request. */
  listed: () => readonly object[] = () =>
    Object.keys(this.tools).map((name) => ({ name, inputSchema: { type: 'object' } }));
  /** The answer to initialize waits for this. */
  beforeInitialize: (() => Promise<unknown>) | undefined;
  stateful = true;
  /** The answer to GET; undefined: a stream. */
  get: Answer | undefined;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private last = 0;

  private constructor(kind: Kind) {
    const take = (request: IncomingMessage, response: ServerResponse): void => {
      void this.take(request, response);
    };
    // The two look alike to whoever answers.
    const h2c = (): Server => createHttp2(take as never) as unknown as Server;
    this.server = kind === 'h2c' ? h2c() : kind === 'http' ? createServer(take) : createSecure(kind, take);
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  static async start(port = 0, kind: Kind = 'http', host = '127.0.0.1'): Promise<RemoteServer> {
    const made = new RemoteServer(kind);
    await new Promise<void>((resolve, reject) => {
      made.server.once('error', reject);
      made.server.listen(port, host, resolve);
    });
    return made;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** The requests with this JSON-RPC method, in order; `GET` and `DELETE` for requests without a message. */
  of(method: string): Seen[] {
    return this.seen.filter((one) => (one.method === 'POST' ? one.message.method : one.method) === method);
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => void this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const seen = await readSeen(request);
    this.seen.push(seen);
    await this.answer(new Incoming(seen, response));
  }

  private answer(x: Incoming): void | Promise<void> {
    const { method, headers, message } = x.seen;
    const own = this.methods[message.method ?? method];
    if (own !== undefined) return own(x);
    if (message.method === 'initialize') return this.initialize(x);
    const session = headers['mcp-session-id'];
    if (this.stateful && (typeof session !== 'string' || !this.sessions.has(session)))
      return x.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }, 404);
    if (method === 'GET') return this.open(x);
    if (method === 'DELETE') {
      this.sessions.delete(session as string);
      this.deleted.push(session as string);
      return x.status(204);
    }
    if (message.id === undefined || message.method === undefined) return x.status(202);
    if (message.method === 'tools/call') return this.tools[String(message.params?.['name'])]!(x);
    const result = message.method === 'tools/list' ? { tools: this.listed() } : {};
    return x.json({ jsonrpc: '2.0', id: x.id, result });
  }

  private open(x: Incoming): void | Promise<void> {
    if (this.get !== undefined) return this.get(x);
    x.stream();
    this.news.add(x);
    void x.left.then(() => this.news.delete(x));
  }

  private async initialize(x: Incoming): Promise<void> {
    await this.beforeInitialize?.();
    const id = `session-${++this.last}`;
    if (this.stateful) this.sessions.add(id);
    const { protocolVersion } = x.seen.message.params as { protocolVersion: string };
    const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } };
    const result = { protocolVersion, capabilities, serverInfo: { name: 'remote', version: '1' } };
    x.json({ jsonrpc: '2.0', id: x.id, result }, 200, this.stateful ? { 'mcp-session-id': id } : {});
  }
}

/** A server that ends with the test. */
export async function startRemote(t: TestContext): Promise<RemoteServer> {
  const server = await RemoteServer.start();
  t.after(() => server.close());
  return server;
}
