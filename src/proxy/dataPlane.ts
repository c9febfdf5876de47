import type { Audit } from '../audit/index.ts';
import type { Socket } from 'node:net';
import { FairShare, networks } from '../http/index.ts';
import type { McpRuntime } from '../mcp/index.ts';
import {
  defaults,
  type AddressLists,
  type Bind,
  type Limits,
  type LogExportSettings,
  type Model,
  type TracingSettings,
} from '../model/index.ts';
import type { AccessLog, AccessRecord, Logger, Metrics } from '../telemetry/index.ts';
import { Endpoints, type Destination, type LookupTools } from '../upstream/index.ts';
import { bindProblem, type ClosedPort } from './ports/bindProblem.ts';
import { detectionsOf, type Detections } from './ports/detections.ts';
import type { Detection } from './ports/protocolDetector.ts';
import type { SocketHandle } from './ports/portSocketListening.ts';
import { Live } from './snapshot/live.ts';
import { exposeMetrics } from './metrics.ts';
import { openFilesLimit, withinOpenFiles } from './load/openFiles.ts';
import { Overload } from './load/overload.ts';
import { Port, type CountedConnection, type PortTools } from './ports/port.ts';
import { RelayPort } from './relay/relayPort.ts';
import { Relays, type RelayOptions } from './relay/relays.ts';
import { ServerIdentities, type IdentityView } from './ports/serverIdentity.ts';
import type { Decision, ExpressionResult, ExpressionTrial, TrialRequest } from './contract.ts';
import { noteFields } from './exchange/endedFields.ts';
import { LateRefusals } from './exchange/lateRefusals.ts';
import { RequestLogExport } from './exchange/requestLogExport.ts';
import { RequestTracing } from './exchange/requestTracing.ts';
import type { LogExport, Spans } from '../tracing/index.ts';
import { RequestObserver } from './requestObserver.ts';
import { explain, explainExpression, type ExplainTools } from './trial/explain.ts';
import { bindKey, Snapshot, type SnapshotTools } from './snapshot/snapshot.ts';
import { ExpressionErrors } from './stats/expressionErrors.ts';
import { RawStats } from './stats/rawStats.ts';
import { RouteStats, type WireStats } from './stats/stats.ts';
import { StatsByRoute } from './stats/tcpStats.ts';
import { inlineMore } from './load/inlining.ts';
import { keepObjectsYoung } from './load/youngObjects.ts';
import { UnreadResponses, type UnreadStream } from './load/unreadResponses.ts';
import { acceptsConnections, UdpPlane } from './ports/udpPlane.ts';
import type { Datagrams } from './ports/udpPort.ts';

export interface DataPlaneOptions {
  /** Looks up the names of backends; the resolver of the system unless given. */
  readonly lookup?: LookupTools;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly policyTools: SnapshotTools['policyTools'];
  readonly mcp: Pick<McpRuntime, 'backend' | 'retire' | 'ownerElsewhere' | 'isMovable'>;
  /** Opens the access log a model asks for; undefined for none. */
  readonly openAccessLog: (
    kind: 'json' | 'text' | 'none',
    removed: readonly string[],
  ) => AccessLog | undefined;
  /** The stream that records MCP operations; absent: nothing is recorded. */
  readonly audit?: Audit | undefined;
  /** Files and sockets the process may have open; the system says unless given. */
  readonly openFiles?: number;
  /** Watches the process unless given. */
  readonly overload?: Overload;
  /** Sockets of a new port, which another process has bound; ports bind their own unless given. */
  readonly socketsFor?: (key: string) => readonly SocketHandle[];
  /** Other workers hold MCP sessions, too; `relays.listen` is for the caller to call. */
  readonly relay?: RelayOptions;
  /** Makes the spans of requests; absent: nothing is traced. */
  readonly tracing?: { readonly spans: Spans; readonly settings: TracingSettings } | undefined;
  /** Exports the access log; absent: it is only written. */
  readonly logExport?: { readonly records: LogExport; readonly settings: LogExportSettings } | undefined;
  /** Takes records of finished requests, as JSON; absent: none are made. */
  readonly onRecord?: (json: string) => void;
  /** Tells which other processes of this gateway have the UDP ports open, where `socketsFor` is given. */
  readonly datagrams?: () => Datagrams;
}

/** A model that is ready to come into use. */
export interface Prepared {
  /**
   * Swaps at once; what then takes a moment is that handed-over sockets begin to be accepted on. Nothing happens where
   * the data plane is about to end.
   * @throws Error when the system refuses that, with the model in use
   */
  commit(): Promise<void>;
  /** Leaves everything as it was. */
  abort(): void;
}

/** Everything of a model that was prepared. */
interface Ready {
  readonly model: Model;
  readonly limits: Limits;
  readonly uses: { readonly destinations: Set<Destination>; readonly mcp: Set<string> };
  readonly snapshot: Snapshot;
  readonly detections: Detections;
  readonly wanted: ReadonlyMap<string, Bind>;
  readonly opened: ReadonlyMap<string, Port>;
  readonly closed: readonly ClosedPort[];
  readonly udp: Awaited<ReturnType<UdpPlane['prepare']>>;
}

const ends = 'the gateway is shutting down';

/** The view of a bound port from outside. */
export interface BindView {
  /** The bind's port in the model, with its place in the list where that is 0. */
  readonly key: string;
  readonly port: number;
  readonly connections: number;
}

/** A connection of this process to itself. */
export interface OwnConnection {
  /** Of HTTP. */
  readonly version: 'HTTP/1.1' | 'HTTP/2.0';
  /** The connection stands for one under TLS, to this listener. */
  readonly tls?: { readonly listener: string; readonly serverName: string };
}

/**
 * The ports, the snapshot they serve from, and the way from one model to the next: everything that can fail happens
 * before the swap, so that a model is in use wholly or not at all.
 */
export class DataPlane {
  readonly endpoints: Endpoints;
  private readonly identities: ServerIdentities;
  private detections: Detections = { byBind: new Map(), identities: new Set() };
  private readonly options: DataPlaneOptions;
  private readonly live = new Live();
  private readonly ports = new Map<string, Port>();
  private readonly leaving = new Set<Port>();
  private closedInUse: readonly ClosedPort[] = [];
  private readonly stats = new StatsByRoute(() => new RouteStats());
  private readonly wire: WireStats = {
    connections: 0,
    accepted: 0,
    refused: 0,
    acceptFailures: 0,
    requests: 0,
    shed: new Map(),
    ended: new Map(),
    relays: 0,
    relayed: new Map(),
    tunnels: 0,
    tunnelled: 0,
    handshakes: new Map(),
    errors: new Map(),
  };
  /** Ways from and to other workers, where there are any. */
  readonly relays: Relays | undefined;
  /** Connections of this process to itself. */
  private readonly local = new Map<string, RelayPort>();
  private readonly unread: UnreadResponses;
  private readonly proxies: PortTools['proxies'] = { trusted: undefined };
  private readonly share = new FairShare<CountedConnection>(() => this.counted());
  private readonly unrouted = new RouteStats();
  private readonly raw = new RawStats();
  private readonly overload: Overload;
  private readonly udp: UdpPlane;
  private readonly observer: RequestObserver | undefined;
  private readonly tracing: RequestTracing | undefined;
  private readonly logExport: RequestLogExport | undefined;
  private readonly expressionErrors: ExpressionErrors;
  private readonly lateRefusals: LateRefusals;
  private readonly openFiles: number | undefined;
  private accessLog: AccessLog | undefined;
  private accessLogForm = '';
  private limitsInUse: Limits = defaults.limits;
  private model: Model | undefined;
  private uses: Ready['uses'] = { destinations: new Set(), mcp: new Set() };
  /** Models are no longer taken. */
  private ending = false;
  private closed = false;

  constructor(options: DataPlaneOptions) {
    keepObjectsYoung();
    inlineMore();
    this.options = options;
    this.expressionErrors = new ExpressionErrors(options.log, options.metrics);
    this.lateRefusals = new LateRefusals(options.log);
    const { tracing, logExport } = options;
    this.logExport = logExport && new RequestLogExport(logExport.records, logExport.settings);
    this.tracing = tracing && new RequestTracing(tracing.spans, tracing.settings);
    this.observer = options.onRecord && new RequestObserver(options.onRecord, options.metrics);
    this.endpoints = new Endpoints({ log: options.log, ...(options.lookup && { lookup: options.lookup }) });
    this.identities = new ServerIdentities(options.log, () => this.endMoved());
    this.overload = options.overload ?? new Overload(defaults.limits.overload, options.log);
    this.unread = new UnreadResponses(options.log, () => this.unreadStreams());
    this.openFiles = options.openFiles ?? openFilesLimit();
    this.udp = new UdpPlane({
      log: options.log,
      writeRaw: (record) => this.writeRaw(record),
      overload: this.overload,
      stats: this.raw.udp,
      lookup: options.lookup,
      datagrams: options.datagrams ?? (() => (options.socketsFor === undefined ? 'alone' : 'shared')),
    });
    this.relays =
      options.relay &&
      new Relays(
        options.relay,
        this.portTools,
        this.limitsInUse,
        (session) => options.mcp.ownerElsewhere(session),
        (session) => options.mcp.isMovable(session),
      );
    this.raw.expose(options.metrics);
    exposeMetrics(options.metrics, {
      overload: this.overload,
      wire: this.wire,
      unread: this.unread,
      routes: () => this.stats.values(),
      unrouted: this.unrouted,
      destinations: () => this.endpoints.destinations(),
      identities: () => this.identities.views,
      broken: () => this.broken.length,
    });
  }

  get limits(): Limits {
    return this.limitsInUse;
  }

  get binds(): readonly BindView[] {
    const ports = [...this.ports.values()].map(({ key, port, open }) => ({ key, port, connections: open }));
    return [...ports, ...this.udp.views];
  }

  /** Ports of the model in use that could not be bound; the next model that has them tries again. */
  get closedPorts(): readonly ClosedPort[] {
    return this.closedInUse;
  }

  /** The certificates that listeners show to TLS clients. */
  get certificates(): readonly IdentityView[] {
    return this.identities.views;
  }

  /** Routes that are closed because they could not be prepared, with the reason. */
  get broken(): readonly { readonly route: string; readonly problem: string }[] {
    const { routes = [], tcpRoutes = [] } = this.live.now ?? {};
    return [...routes, ...tcpRoutes].flatMap(({ name, broken }) =>
      broken === undefined ? [] : [{ route: name, problem: broken }],
    );
  }

  /**
   * Takes a model into use. Ports that stay keep their sockets and connections; requests under way end on the old
   * snapshot.
   * @throws Error when a new port cannot be bound; nothing has changed then
   */
  async apply(model: Model): Promise<void> {
    await (await this.prepare(model)).commit();
  }

  /**
   * Does everything that can fail: what comes back is either committed or aborted, before another model is prepared.
   * @throws Error when a new port cannot be bound; nothing has changed then
   */
  async prepare(model: Model): Promise<Prepared> {
    if (this.ending) throw new Error(ends);
    const uses = { destinations: new Set<Destination>(), mcp: new Set<string>() };
    const limits = withinOpenFiles(model.process.limits, this.openFiles, this.options.log);
    const opened = new Map<string, Port>();
    const closed: ClosedPort[] = [];
    let snapshot: Snapshot | undefined;
    let udp: Awaited<ReturnType<UdpPlane['prepare']>> | undefined;
    const abort = (): void => {
      udp?.abort();
      for (const port of opened.values()) port.destroy();
      snapshot?.retire();
      if (!this.closed) this.restore();
    };
    try {
      snapshot = await this.compile(model, uses);
      if (this.ending) throw new Error(ends);
      const detections = detectionsOf(model, this.identities);
      const wanted = new Map(
        model.binds.flatMap((bind, index) =>
          acceptsConnections(bind) ? [[bindKey(bind, index), bind] as const] : [],
        ),
      );
      for (const [key, bind] of wanted) {
        if (this.ports.has(key)) continue;
        const port = await this.open(key, bind, limits, detections.byBind.get(key));
        if (this.ending) {
          if (port instanceof Port) port.destroy();
          throw new Error(ends);
        }
        if (port instanceof Port) opened.set(key, port);
        else closed.push({ key, port: bind.port, protocol: 'TCP', problem: port.problem });
      }
      udp = await this.udp.prepare(model, limits);
      closed.push(...udp.closed);
      if (this.ending) throw new Error(ends);
      const ready: Ready = { model, limits, uses, snapshot, detections, wanted, opened, closed, udp };
      // A plane that ends meanwhile does not need the model, and has no caller to tell.
      return { commit: async () => (this.ending ? abort() : await this.take(ready)), abort };
    } catch (error) {
      abort();
      throw error;
    }
  }

  /** Swaps; nothing in here fails but what is done at the very last. */
  private async take({
    model,
    limits,
    uses,
    snapshot,
    detections,
    wanted,
    opened,
    closed,
    udp,
  }: Ready): Promise<void> {
    this.live.swap(snapshot);
    this.noteClosed(closed);
    this.uses = uses;
    this.detections = detections;
    this.identities.retireOthers(detections.identities);
    this.model = model;
    this.limitsInUse = limits;
    this.overload.limits = limits.overload;
    this.unread.most = limits.maxUnreadBytes;
    const { trustedProxies } = model.process;
    this.proxies.trusted = trustedProxies && networks(trustedProxies);
    for (const [key, port] of opened) this.ports.set(key, port);
    for (const [key, port] of this.ports) {
      if (wanted.has(key)) port.configure(limits, detections.byBind.get(key));
      else this.retire(key, port);
    }
    udp.commit();
    this.relays?.configure(limits, wanted);
    for (const port of this.local.values()) port.configure(limits);
    this.endMoved();
    this.useAccessLog(model.process);
    this.endpoints.retireOthers(uses.destinations);
    this.options.mcp.retire(uses.mcp);
    this.forgetStats(snapshot);
    for (const port of opened.values()) port.begin();
    // Sockets of others accept from the first moment on which they are listened: so that is done at the very last.
    for (const [key, port] of opened)
      for (const handle of this.options.socketsFor?.(key) ?? []) await port.take(handle);
  }

  private compile(model: Model, uses: Ready['uses']): Promise<Snapshot> {
    return Snapshot.of(model, {
      log: this.options.log,
      policyTools: this.options.policyTools,
      stats: (bind, listener, route) => this.stats.of(bind, listener, route),
      tcpStats: (bind, listener, route) => this.raw.tcp.of(bind, listener, route),
      endpoints: this.endpoints,
      mcp: this.options.mcp,
      relays: this.relays,
      handshakeOf: (tls) => this.identities.useForHttp(tls),
      keepsResponse: this.tracing?.readsResponse === true || this.logExport?.readsResponse === true,
      hidesCookies: this.live.now?.hidesCookies === true,
      uses,
    });
  }

  /**
   * Lists of addresses of the model in use have changed, and nothing else: the snapshot stays as it is, and so do the
   * connections and the health of the addresses that stay. Not while a model is being prepared.
   */
  useAddresses(lists: AddressLists): void {
    if (this.model === undefined) return;
    const { upstream, limits } = this.model.process;
    this.endpoints.useAddresses(lists, upstream, limits);
    this.udp.useAddresses(lists, upstream);
  }

  /** An operator watches the requests, or no longer does. */
  watchRequests(watched: boolean): void {
    if (this.observer !== undefined) this.observer.watched = watched;
  }

  /**
   * Explains a request by the snapshot in use.
   * @throws Error for a request without a request line, or for a port that the configuration does not have
   */
  explain(request: TrialRequest): Promise<Decision> {
    return explain(request, this.explainTools);
  }

  /**
   * Tries an expression by the snapshot in use.
   * @throws Error as `explain`
   */
  evaluate(trial: ExpressionTrial): Promise<ExpressionResult> {
    return explainExpression(trial, this.explainTools);
  }

  private get explainTools(): ExplainTools {
    return {
      snapshot: this.live.current,
      log: this.options.log,
      limits: this.limitsInUse,
      trustedProxies: this.proxies.trusted,
    };
  }

  /** Accepts on one more socket of a port, for another process that does not accept on it just now. */
  async takeSocket(key: string, handle: SocketHandle): Promise<void> {
    const port = this.ports.get(key);
    if (port === undefined) handle.close();
    else await port.take(handle);
  }

  releaseSocket(key: string, handle: SocketHandle): void {
    this.ports.get(key)?.release(handle);
  }

  /**
   * Serves a connection that this process has made to itself, as that of a client on this machine. The port of the bind
   * need not be bound.
   */
  admit(key: string, socket: Socket, { version, tls }: OwnConnection): void {
    if (this.closed) {
      socket.destroy();
      return;
    }
    let port = this.local.get(key);
    if (port === undefined)
      this.local.set(key, (port = new RelayPort(key, this.limitsInUse, this.portTools)));
    const address = '127.0.0.1';
    const ends = { address, port: 0, localAddress: address, localPort: 0, version };
    const terms = tls && this.termsOf(key, tls.serverName);
    port.admitRelayed({ bind: key, ...ends, ...(tls && { tls: { ...tls, terms } }) }, socket);
  }

  /** Sessions of TLS are resumed wherever the same secret (32 random bytes) is in use. */
  useTicketSecret(secret: Buffer): void {
    this.identities.useTicketSecret(secret);
  }

  /**
   * Stops accepting and lets running exchanges end. A model that is being prepared no longer comes into use.
   * @param patienceMs another process serves on the same ports: idle connections may bring one more request each, within
   *   this time, and datagrams are still taken
   */
  async drain(patienceMs = 0): Promise<void> {
    this.ending = true;
    await Promise.all([
      ...[...this.ports.values()].map((port) => port.drain(patienceMs)),
      ...[...this.leaving].map((port) => port.drain()),
      this.udp.drain(patienceMs),
      this.relays?.drain(),
    ]);
  }

  /** Ends everything now, and what a model that is being prepared has opened as soon as it is. */
  close(): void {
    this.ending = true;
    this.closed = true;
    for (const port of [...this.ports.values(), ...this.leaving]) port.destroy();
    for (const port of this.local.values()) port.destroy();
    this.ports.clear();
    this.leaving.clear();
    this.relays?.close();
    this.udp.close();
    this.endpoints.close();
    this.identities.close();
    this.overload.close();
    this.unread.close();
    this.live.close();
    this.accessLog?.close();
  }

  private *unreadStreams(): Iterable<UnreadStream> {
    for (const port of this.ports.values()) yield* port.unreadStreams();
    for (const port of this.leaving) yield* port.unreadStreams();
  }

  /** Connections of all ports, those included that are about to close. */
  private *counted(): Iterable<CountedConnection> {
    for (const port of this.ports.values()) yield* port.counted();
    for (const port of this.leaving) yield* port.counted();
  }

  private get portTools(): PortTools {
    const { observer } = this;
    return {
      live: this.live,
      log: this.options.log,
      accessLog: () => this.accessLog,
      writeRaw: (record) => this.writeRaw(record),
      logExport: this.logExport,
      audit: this.options.audit,
      wire: this.wire,
      raw: this.raw,
      unrouted: this.unrouted,
      overload: this.overload,
      expressionFailed: (by, reason) => this.expressionErrors.note(by, reason),
      refusedLate: (exchange, by) => this.lateRefusals.note(exchange, by),
      proxies: this.proxies,
      observe: (exchange) => {
        const { record } = exchange.snapshot;
        if (record !== undefined) noteFields(exchange, record);
        this.tracing?.end(exchange);
        this.logExport?.note(exchange);
        observer?.observe(exchange);
      },
      tracing: this.tracing,
      unread: (bytes) => this.unread.change(bytes),
      makeRoom: (open, most) => this.share.makeRoom(open, most),
    };
  }

  /**
   * @returns the port, or why it stays closed where the model can do without it
   * @throws Error where it cannot
   */
  private async open(
    key: string,
    bind: Bind,
    limits: Limits,
    detection: Detection | undefined,
  ): Promise<Port | { readonly problem: string }> {
    if (bind.closed !== undefined) return { problem: bind.closed };
    const opened = new Port(key, limits, detection, this.portTools);
    if (this.options.socketsFor !== undefined) return opened;
    try {
      await opened.listen(bind.port, bind.address);
    } catch (error) {
      opened.destroy();
      const problem = bindProblem(bind, error, this.ports.values());
      if (bind.optional === true) return { problem: problem.message };
      throw problem;
    }
    return opened;
  }

  private noteClosed(closed: readonly ClosedPort[]): void {
    const known = new Set(this.closedInUse.map(({ key }) => key));
    this.closedInUse = closed;
    for (const { key, problem } of closed)
      if (!known.has(key))
        this.options.log.error('Port could not be opened; the other ports are served', { problem });
  }

  /** Takes back what the preparation of a model left behind that did not come into use. */
  private restore(): void {
    this.identities.retireOthers(this.detections.identities);
    if (this.live.now !== undefined) this.forgetStats(this.live.now);
    if (this.model === undefined) return;
    const { upstream, limits } = this.model.process;
    this.endpoints.undo();
    for (const { target } of this.uses.destinations) this.endpoints.use(target, upstream, limits);
    this.endpoints.retireOthers(this.uses.destinations);
    this.options.mcp.retire(this.uses.mcp);
  }

  private endMoved(): void {
    for (const port of this.ports.values()) port.endMoved();
  }

  /** A connection of our own makes no handshake, and stands for one under the present terms. */
  private termsOf(key: string, serverName: string): string | undefined {
    return this.live.now?.bind(key, true)?.find(serverName)?.handshake?.terms;
  }

  private retire(key: string, port: Port): void {
    this.ports.delete(key);
    this.leaving.add(port);
    void port.drain().then(() => {
      port.destroy();
      this.leaving.delete(port);
    });
  }

  private writeRaw(record: () => AccessRecord): void {
    if (this.accessLog === undefined && this.logExport === undefined) return;
    const line = record();
    this.accessLog?.write(line);
    this.logExport?.write(line);
  }

  private useAccessLog({ accessLog: kind, accessFields }: Model['process']): void {
    // An added field stands in place of the field of the same name.
    const removed = [...(accessFields?.remove ?? []), ...Object.keys(accessFields?.add ?? {})];
    const form = [kind, ...removed].join('\n');
    if (form === this.accessLogForm) return;
    this.accessLogForm = form;
    this.accessLog?.close();
    this.accessLog = kind === 'none' ? undefined : this.options.openAccessLog(kind, removed);
  }

  /** Routes come and go with configurations: what they counted must not grow for ever. */
  private forgetStats({ routes, tcpRoutes }: Snapshot): void {
    this.stats.retireOthers(new Set(routes.map(({ stats }) => stats)));
    this.raw.tcp.retireOthers(new Set(tcpRoutes.map(({ stats }) => stats)), ({ open }) => open > 0);
  }
}
