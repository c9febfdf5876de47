import { createKeySets } from '../auth/index.ts';
import type { HttpReply, HttpRequest } from '../http/index.ts';
import type { Caller } from '../mcp/index.ts';
import {
  defaults,
  type Backend,
  type Bind,
  type HeaderSettings,
  type HttpBackend,
  type Limits,
  type Listener,
  type Model,
  type PathMatch,
  type PolicyUse,
  type ProxyProtocol,
  type Route,
  type ServerTls,
  type McpTarget,
  type StdioTarget,
  type UpstreamSettings,
} from '../model/index.ts';
import { LocalTokens } from '../policies/index.ts';
import { createMetrics, type AccessRecord, type Fields, type Logger } from '../telemetry/index.ts';
import type { LookupTools, Target } from '../upstream/index.ts';
import { DataPlane, type DataPlaneOptions } from './dataPlane.ts';
import { Overload } from './load/overload.ts';
import { RawClient } from './wire.testing.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };

/** A local handler in the place of an MCP backend. */
export type LocalHandler = (request: HttpRequest, reply: HttpReply, caller: Caller) => void;

/** A route in short; its backend is an HTTP port of the loopback interface, or a handler of this process. */
export interface RouteInShort {
  readonly name?: string;
  readonly hostnames?: readonly string[];
  /** Path prefix; `/` unless given. */
  readonly prefix?: string;
  /** Regular expression for the path, in place of a prefix. */
  readonly regex?: string;
  /** Policy name → settings. */
  readonly policies?: Readonly<Record<string, unknown>>;
  /** Port, or the backends by weight. */
  readonly to?: number | readonly { readonly port: number; readonly weight: number }[];
  readonly handler?: LocalHandler;
  /** The target behind `handler`, or its name. */
  readonly target?: string | McpTarget;
  /** HTTP backends with all their settings, in place of `to`. */
  readonly targets?: readonly (Target & Pick<HttpBackend, 'affinity' | 'requestTimeoutMs'>)[];
  /** The weights of `targets`; 1 each unless given. */
  readonly weights?: readonly number[];
}

export interface ListenerInShort {
  readonly hostname?: string;
  readonly tls?: ServerTls;
  readonly routes: readonly RouteInShort[];
}

export interface ModelInShort {
  /** In the place of the one listener that `hostname`, `policies` and `routes` describe. */
  readonly listeners?: readonly ListenerInShort[];
  readonly limits?: Partial<Limits>;
  readonly sessionKey?: string;
  readonly headers?: Partial<HeaderSettings>;
  readonly trustedProxies?: readonly string[];
  readonly upstream?: Partial<UpstreamSettings>;
  readonly routes?: readonly RouteInShort[];
  /** Host of the only listener. */
  readonly hostname?: string;
  /** Policies of the listener. */
  readonly policies?: Readonly<Record<string, unknown>>;
  /** In the place of all ports and listeners. */
  readonly binds?: readonly Bind[];
  readonly proxyProtocol?: ProxyProtocol;
  /** Ports to bind; one, any free one, unless given. */
  readonly ports?: readonly number[];
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Fields | undefined;
}

export interface Neighbours extends Pick<Required<DataPlaneOptions>, 'relay'> {
  ownerElsewhere(session: string): string | undefined;
  /** Could another go on with it? No, unless given. */
  isMovable?(session: string): boolean;
}

/** A data plane in this process, with everything it logs at hand. */
export class TestPlane {
  readonly plane: DataPlane;
  readonly access: AccessRecord[] = [];
  readonly log: LogLine[] = [];
  /** Hears of a load by `note` alone. */
  readonly overload: Overload;
  private readonly metrics = createMetrics();
  private readonly handlers = new Map<string, LocalHandler>();
  private readonly clients: RawClient[] = [];
  private readonly keySets;

  /**
   * @param openFiles how many files the process may have open
   * @param neighbours how other workers are reached, and which of them a session belongs to
   */
  constructor(openFiles = Number.POSITIVE_INFINITY, lookup?: LookupTools, neighbours?: Neighbours) {
    const log = this.logger();
    this.overload = new Overload(defaults.limits.overload, log, false);
    this.keySets = createKeySets({ log });
    this.plane = new DataPlane({
      log,
      openFiles,
      overload: this.overload,
      ...(lookup && { lookup }),
      metrics: this.metrics,
      policyTools: { log, keySets: this.keySets, now: Date.now, tokens: new LocalTokens(Date.now) },
      mcp: {
        backend: ({ key }) => ({
          serve: (request, reply, caller) => (this.handlers.get(key) as LocalHandler)(request, reply, caller),
        }),
        retire: () => undefined,
        ownerElsewhere: (session) => neighbours?.ownerElsewhere(session),
        isMovable: (session) => neighbours?.isMovable?.(session) === true,
      },
      ...(neighbours && { relay: neighbours.relay }),
      openAccessLog: () => ({ write: (record) => void this.access.push(record), close: () => undefined }),
    });
  }

  static async start(model: ModelInShort, lookup?: LookupTools): Promise<TestPlane> {
    const plane = new TestPlane(undefined, lookup);
    await plane.apply(model);
    return plane;
  }

  async apply(model: ModelInShort): Promise<void> {
    await this.plane.apply(this.modelOf(model));
  }

  /** Makes a model ready, to be committed or aborted. */
  prepare(model: ModelInShort): ReturnType<DataPlane['prepare']> {
    return this.plane.prepare(this.modelOf(model));
  }

  /** Key sets that policies hold. */
  get heldKeySets(): readonly string[] {
    return this.keySets.view().map(({ source }) => source);
  }

  /** The first port. */
  get port(): number {
    return this.plane.binds[0]?.port ?? 0;
  }

  /** Open client connections. */
  get connections(): number {
    return this.plane.binds.reduce((sum, { connections }) => sum + connections, 0);
  }

  /** Open connections to backends. */
  get upstreamConnections(): number {
    let sum = 0;
    for (const endpoint of this.plane.endpoints.all()) sum += endpoint.connections;
    return sum;
  }

  async client(port = this.port, localAddress?: string): Promise<RawClient> {
    const client = await RawClient.connect(port, localAddress);
    this.clients.push(client);
    return client;
  }

  /** Sends a request on a connection of its own. */
  async ask(text: string | Buffer, bodyless = false): Promise<Awaited<ReturnType<RawClient['answer']>>> {
    const client = await this.client();
    const answer = await client.ask(text, bodyless);
    client.close();
    return answer;
  }

  metricsText(): Promise<string> {
    return this.metrics.expose();
  }

  close(): void {
    for (const client of this.clients) client.close();
    this.plane.close();
    this.keySets.close();
  }

  private modelOf(model: ModelInShort): Model {
    const short: readonly ListenerInShort[] = model.listeners ?? [
      {
        routes: model.routes ?? [],
        ...(model.hostname === undefined ? {} : { hostname: model.hostname }),
      },
    ];
    const listeners = short.map(({ hostname, tls, routes }, at): Listener => ({
      name: `listener${at}`,
      ...(hostname === undefined ? {} : { hostname }),
      protocol: tls === undefined ? 'HTTP' : 'HTTPS',
      ...(tls === undefined ? {} : { tls }),
      policies: uses(model.policies),
      routes: routes.map((route, index) => this.routeOf(route, index, at)),
    }));
    return {
      process: {
        ...defaults,
        fixed: { ...defaults.fixed, ...(model.sessionKey && { sessionKey: model.sessionKey }) },
        accessLog: 'json',
        limits: { ...defaults.limits, ...model.limits },
        headers: { ...defaults.headers, ...model.headers },
        ...(model.trustedProxies && { trustedProxies: model.trustedProxies }),
        upstream: { ...defaults.upstream, ...model.upstream },
      },
      binds:
        model.binds ??
        (model.ports ?? [0]).map((port) => ({
          port,
          listeners,
          ...(model.proxyProtocol && { proxyProtocol: model.proxyProtocol }),
        })),
    };
  }

  private routeOf(route: RouteInShort, index: number, listener: number): Route {
    const name = route.name ?? `${listener === 0 ? '' : `listener${listener}.`}route${index}`;
    if (route.handler !== undefined) this.handlers.set(name, route.handler);
    return {
      name,
      hostnames: route.hostnames ?? [],
      matches: [{ path: pathOf(route), headers: [], query: [] }],
      policies: uses(route.policies),
      backends: backendsOf(route, name),
      place,
    };
  }

  private logger(): Logger {
    const at =
      (level: string) =>
      (message: string, fields?: Fields): void =>
        void this.log.push({ level, message, fields });
    const logger: Logger = {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: () => logger,
    };
    return logger;
  }
}

const uses = (policies: Readonly<Record<string, unknown>> = {}): PolicyUse[] =>
  Object.entries(policies).map(([name, settings]) => ({ name, settings, place }));

const stdioTarget = (name: string): StdioTarget => ({
  kind: 'stdio',
  name,
  cmd: process.execPath,
  args: [],
  env: {},
  clearEnv: false,
  startTimeoutMs: 1_000,
});

const targetOf = (target: string | McpTarget): McpTarget =>
  typeof target === 'string' ? stdioTarget(target) : target;

function backendsOf(route: RouteInShort, key: string): Backend[] {
  if (route.handler !== undefined) {
    return [
      {
        kind: 'mcp',
        weight: 1,
        key,
        place,
        targets: route.target === undefined ? [] : [targetOf(route.target)],
        prefixMode: 'conditional',
        dnsRebindingProtection: false,
      },
    ];
  }
  const { to = [], targets, weights = [] } = route;
  if (targets !== undefined)
    return targets.map((target, index) => ({
      kind: 'http',
      weight: weights[index] ?? 1,
      key: `${key}#${index}`,
      place,
      ...target,
    }));
  const ports = typeof to === 'number' ? [{ port: to, weight: 1 }] : to;
  return ports.map(({ port, weight }, index) => ({
    kind: 'http',
    weight,
    key: `${key}#${index}`,
    place,
    host: '127.0.0.1',
    port,
  }));
}

const pathOf = ({ prefix = '/', regex }: RouteInShort): PathMatch =>
  regex === undefined ? { kind: 'prefix', value: prefix } : { kind: 'regex', value: regex };
