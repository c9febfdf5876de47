/** A gateway without a data plane, for tests: MCP handlers behind `node:http`. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { GatewayError } from '../errors.ts';
import type { HeaderLine, HttpReply, HttpRequest, Reply, ReplyStream } from '../http/index.ts';
import {
  defaults,
  type Limits,
  type McpBackend,
  type RemoteTarget,
  type SseTarget,
  type StdioTarget,
} from '../model/index.ts';
import type { Fields, Logger, Metrics, Sample } from '../telemetry/index.ts';
import { Endpoints, targetOf, type LookupTools } from '../upstream/index.ts';
import type { Caller, McpItem, Reach } from './contract.ts';
import type { CatalogSettings } from './fixtures/catalog.ts';
import { sessionLabel, SessionSeal } from './session/sessionId.ts';
import { McpRuntime, type McpRuntimeOptions } from './runtime.ts';
import { isOverNetwork } from './targets/facts.ts';

export const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);
export const fixture = fileURLToPath(new URL('./fixtures/server.ts', import.meta.url));

export function stdioTarget(settings: Partial<StdioTarget> = {}): StdioTarget {
  return {
    kind: 'stdio',
    name: 'fixture',
    cmd: process.execPath,
    args: [fixture],
    env: {},
    clearEnv: false,
    startTimeoutMs: 30_000,
    ...settings,
  };
}

const at = (url: string): Pick<RemoteTarget, 'host' | 'port' | 'path'> => {
  const { hostname, port, pathname, search } = new URL(url);
  return { host: hostname, port: Number(port), path: pathname + search };
};

const catalogProgram = fileURLToPath(new URL('./fixtures/catalog.ts', import.meta.url));

/** A child that lists what the settings say, under their name. */
export const catalog = (settings: CatalogSettings): StdioTarget =>
  stdioTarget({ name: settings.name, args: [catalogProgram, JSON.stringify(settings)] });

/** A server at a URL. */
export const remoteTarget = (url: string, settings: Partial<RemoteTarget> = {}): RemoteTarget => ({
  kind: 'http',
  name: 'remote',
  ...at(url),
  ...settings,
});

/** A server whose event stream is at a URL. */
export const sseTarget = (url: string, settings: Partial<SseTarget> = {}): SseTarget => ({
  kind: 'sse',
  name: 'old',
  ...at(url),
  ...settings,
});

export function mcpBackend(settings: Partial<McpBackend> = {}): McpBackend {
  return {
    kind: 'mcp',
    weight: 1,
    key: 'backend-1',
    place: { file: 'test.yaml', line: 1, column: 1, path: 'binds[0]' },
    targets: [stdioTarget()],
    prefixMode: 'conditional',
    dnsRebindingProtection: false,
    ...settings,
  };
}

/** The rules of a caller that allow the items for which `mayUse` returns true. */
export const rulesBy = (mayUse: (item: McpItem) => boolean): Required<Pick<Caller, 'refusalOf'>> => ({
  refusalOf: (item) => (mayUse(item) ? undefined : { policy: 'mcpAuthorization', rule: 'test rule' }),
});

const sessionKey = 'ab'.repeat(32);

/** The label of a session in logs and views. */
export const labelOf = (id: string): string => sessionLabel(new SessionSeal(sessionKey).open(id)!);

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Fields;
}

/** A logger that keeps its lines. */
export function recordingLog(): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const make = (base: Fields): Logger => {
    const write =
      (level: string) =>
      (message: string, fields: Fields = {}): void => {
        lines.push({ level, message, fields: { ...base, ...fields } });
      };
    return {
      debug: write('debug'),
      info: write('info'),
      warn: write('warn'),
      error: write('error'),
      child: (fields) => make({ ...base, ...fields }),
    };
  };
  return { log: make({}), lines };
}

/** Metrics that can be read back: `name{label="value"}` → value. */
export function recordingMetrics(): { metrics: Metrics; read: () => Map<string, number> } {
  const counted = new Map<string, number>();
  const collected: { name: string; read: () => Iterable<Sample> }[] = [];
  const key = (name: string, labels: object): string =>
    `${name}{${Object.entries(labels)
      .map(([label, value]) => `${label}="${String(value)}"`)
      .join(',')}}`;
  const add = (name: string, labels: object, n: number): void => {
    counted.set(key(name, labels), (counted.get(key(name, labels)) ?? 0) + n);
  };
  const metrics: Metrics = {
    counter: (name) => ({ add: (labels, n = 1) => add(name, labels, n) }),
    gauge: (name) => ({ set: () => undefined, add: (labels, n) => add(name, labels, n) }),
    histogram: (name) => ({ observe: (labels) => add(`${name}_count`, labels, 1) }),
    collect: (name, _help, _type, _labels, read) => void collected.push({ name, read }),
    expose: () => Promise.resolve(''),
    snapshot: () => Promise.resolve([]),
    contentType: 'text/plain',
  };
  return {
    metrics,
    read: () => {
      const all = new Map(counted);
      for (const { name, read } of collected)
        for (const sample of read()) all.set(key(name + (sample.suffix ?? ''), sample.labels), sample.value);
      return all;
    },
  };
}

export interface HarnessOptions {
  readonly backend?: McpBackend;
  readonly caller?: (request: HttpRequest) => Caller;
  readonly limits?: Partial<Limits>;
  readonly runtime?: Partial<McpRuntimeOptions>;
  /** Finds addresses of targets over the network; as the system does unless given. */
  readonly lookup?: LookupTools['lookup'];
  /** The headers that policies add to requests to targets over the network. */
  readonly headers?: (request: HttpRequest) => readonly HeaderLine[];
}

export interface Harness {
  readonly url: URL;
  readonly runtime: McpRuntime;
  readonly log: readonly LogLine[];
  readonly metrics: () => Map<string, number>;
  /** Fields that were added to the access log, newest request last. */
  readonly annotations: readonly Map<string, string | number>[];
  /** Limits may be changed while it runs. */
  readonly limits: Limits;
  /** Changes what the next request is served with, as a reload does. */
  use(backend: McpBackend): void;
  /** Open connections to targets over the network, idle ones included. */
  connections(): number;
  close(): Promise<void>;
}

/** Starts one on a free port of 127.0.0.1. */
export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const { log, lines } = recordingLog();
  const { metrics, read } = recordingMetrics();
  const limits: Limits = { ...defaults.limits, ...options.limits };
  const runtime = new McpRuntime({
    sessionKey,
    sessionTtlMs: 60_000,
    sessionResumableMs: 3_600_000,
    limits: () => limits,
    log,
    metrics,
    secrets: new Set(),
    ...options.runtime,
  });
  const { lookup } = options;
  const endpoints = new Endpoints({ log, ...(lookup && { lookup: { lookup, everyMs: 5_000 } }) });
  let backend = options.backend ?? mcpBackend();
  let handler = runtime.backend(backend);
  const reach = (name: string, request: HttpRequest): Reach | undefined => {
    const target = backend.targets.find((one) => one.name === name);
    if (target === undefined || !isOverNetwork(target)) return undefined;
    return {
      destination: endpoints.use(targetOf(target), defaults.upstream, limits),
      path: target.path,
      headers: options.headers?.(request) ?? [],
      callTimeoutMs: target.requestTimeoutMs,
      settings: target,
    };
  };
  const annotations: Map<string, string | number>[] = [];
  const server = createServer((incoming, outgoing) => {
    const notes = new Map<string, string | number>();
    annotations.push(notes);
    const request = adaptRequest(incoming, notes);
    const caller = options.caller?.(request) ?? { principal: undefined };
    handler.serve(request, adaptReply(outgoing), { reach: (name) => reach(name, request), ...caller });
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    runtime,
    log: lines,
    metrics: read,
    annotations,
    limits,
    use: (next) => {
      backend = next;
      handler = runtime.backend(next);
    },
    connections: () => [...endpoints.all()].reduce((sum, endpoint) => sum + endpoint.connections, 0),
    close: async () => {
      await runtime.close(500);
      endpoints.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

function adaptRequest(incoming: IncomingMessage, notes: Map<string, string | number>): HttpRequest {
  const [path = '/', query = ''] = (incoming.url ?? '/').split('?');
  const authority = (incoming.headers.host ?? '').toLowerCase();
  return {
    method: incoming.method ?? 'GET',
    target: incoming.url ?? '/',
    path,
    query,
    host: authority.replace(/:\d+$/, ''),
    authority,
    scheme: 'http',
    shownScheme: 'http',
    shownAuthority: 'gateway.test',
    version: `HTTP/${incoming.httpVersion}`,
    remoteAddress: incoming.socket.remoteAddress ?? '',
    remotePort: incoming.socket.remotePort ?? 0,
    localAddress: incoming.socket.localAddress ?? '',
    localPort: incoming.socket.localPort ?? 0,
    id: 'test',
    startedAt: Date.now(),
    header: (name) => {
      const value = incoming.headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    headerLines: () =>
      Object.entries(incoming.headers).map(([name, value]): HeaderLine => [name, String(value)]),
    readBody: (limit) => readBody(incoming, limit),
    annotate: (field, value) => void notes.set(field, value),
    decided: ({ policy, rule }) => {
      notes.set('rule', rule ?? '');
      if (policy !== undefined) notes.set('policy', policy);
    },
  };
}

function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    incoming.on('data', (part: Buffer) => {
      size += part.length;
      // Bytes beyond the limit are read and dropped, so that the connection can be used again.
      if (size > limit) reject(new GatewayError('body_too_large'));
      else parts.push(part);
    });
    incoming.on('end', () => resolve(Buffer.concat(parts)));
    incoming.on('error', reject);
  });
}

function adaptReply(outgoing: ServerResponse): HttpReply {
  let closed = false;
  outgoing.on('close', () => {
    closed = true;
  });
  outgoing.on('error', () => undefined);
  const send = (reply: Reply): void => {
    if (outgoing.headersSent || closed) return;
    const body = Buffer.from(reply.body ?? '');
    outgoing.writeHead(reply.status, [
      ...(reply.headers ?? []).flat(),
      ...(reply.status === 204 ? [] : ['content-length', String(body.length)]),
    ]);
    outgoing.end(body);
  };
  return {
    get started() {
      return outgoing.headersSent;
    },
    get closed() {
      return closed || outgoing.writableEnded;
    },
    send,
    open: (status, headers) => {
      if (!outgoing.headersSent && !closed) {
        outgoing.writeHead(status, headers.flat());
        outgoing.flushHeaders();
      }
      return adaptStream(outgoing);
    },
    fail: (error) => {
      const known =
        error instanceof GatewayError ? error : new GatewayError('internal_error', { cause: error });
      send({ status: known.entry.status, body: known.message });
    },
    onClose: (listener) => void outgoing.once('close', listener),
  };
}

function adaptStream(outgoing: ServerResponse): ReplyStream {
  return {
    get closed() {
      return outgoing.destroyed || outgoing.writableEnded;
    },
    get pendingBytes() {
      return outgoing.writableLength;
    },
    write: (chunk, release) => outgoing.write(chunk, release),
    onDrain: (listener) => void outgoing.on('drain', listener),
    end: () => void outgoing.end(),
    destroy: () => void outgoing.destroy(),
  };
}
