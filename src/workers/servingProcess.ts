import type { Socket } from 'node:net';
import { Audit } from '../audit/index.ts';
import { createKeySets } from '../auth/index.ts';
import { version } from '../version.ts';
import { McpRuntime } from '../mcp/index.ts';
import {
  defaults,
  withConsoleDoor,
  type AddressLists,
  type Bind,
  type ConsoleDoorAddress,
  type FixedSettings,
  type Model,
} from '../model/index.ts';
import { PinFolder, StoredPins, type PinStore } from '../pins/index.ts';
import {
  CallsInProgress,
  LocalTokens,
  StoredCalls,
  StoredTokens,
  type TokenStore,
} from '../policies/index.ts';
import {
  bindKey,
  DataPlane,
  type DataPlaneOptions,
  type Decision,
  type ExpressionResult,
  type ExpressionTrial,
  type Prepared,
  type TrialRequest,
} from '../proxy/index.ts';
import { RedisStore, type Store } from '../store/index.ts';
import {
  createAccessLog,
  rememberSecrets,
  type Metrics,
  type MetricsSnapshot,
  type RootLogger,
} from '../telemetry/index.ts';
import { LogExport, Tracing } from '../tracing/index.ts';
import { CommonKeys } from './commonKeys.ts';
import type { EntranceRequest, Plane, PlaneView, PortView, Secrets } from './contract.ts';
import { Entrance } from './entrance.ts';
import type { PlaneInheritance } from './inheritance.ts';
import { exposeWorkers } from './metrics.ts';
import { handoverUnsupported } from './portSocket.ts';
import { surviveRejections } from './rejections.ts';
import { RequestRecords } from './requestFeed.ts';
import { Sockets } from './sockets.ts';

export interface ServingProcessOptions extends Pick<DataPlaneOptions, 'socketsFor' | 'relay'> {
  readonly log: RootLogger;
  readonly metrics: Metrics;
  readonly fixed: Pick<
    FixedSettings,
    | 'sessionKey'
    | 'sessionTtlMs'
    | 'sessionResumableMs'
    | 'pins'
    | 'store'
    | 'audit'
    | 'tracing'
    | 'logExport'
  >;
  /** The session key is one that was made for this start: nobody has it who comes after. */
  readonly madeKey?: boolean;
  readonly secrets: Secrets;
  /** Names this process in the ids of sessions; random unless given. */
  readonly owner?: string;
  /** Hears of the process groups of MCP servers. */
  readonly onGroup?: (leader: number, alive: boolean) => void;
  /** Keeps token buckets for all workers; absent where there is this process only. */
  readonly tokens?: TokenStore;
  /** Takes the records of requests; this process keeps them where absent. */
  readonly onRecord?: (json: string) => void;
  /** The number of this worker among several. */
  readonly worker?: number;
  /** The state from the program before this one. */
  readonly inherited?: PlaneInheritance | undefined;
  /** Set while another program serves on its ports. */
  readonly relieves?: boolean;
  /** The way to the console, for models with a route that leads there. */
  readonly consoleDoor?: (() => ConsoleDoorAddress) | undefined;
  /** No port is bound: every connection comes by `admit`. */
  readonly unbound?: boolean;
}

/** The processes that can open session ids beside this one. */
function keyHolders(
  given: boolean,
  worker: number | undefined,
): { readonly keyHolders?: 'workers' | 'others' } {
  if (given) return { keyHolders: 'others' };
  return worker === undefined ? {} : { keyHolders: 'workers' };
}

/** The name of the process in the audit stream. */
const writerOf = ({ worker, unbound }: ServingProcessOptions): string =>
  worker === undefined ? (unbound === true ? 'local' : 'server') : `worker-${worker}`;

/** A folder counts before the store: it may be there because the store forgets. */
function pinsOf(folder: string | undefined, store: Store | undefined): PinStore | undefined {
  if (folder !== undefined) return new PinFolder(folder);
  return store && new StoredPins(store);
}

/** The part that serves: the data plane, the MCP side and the key sets, all in this process. */
export class ServingProcess implements Plane {
  readonly dataPlane: DataPlane;
  readonly requests = new RequestRecords((watched) => this.dataPlane.watchRequests(watched));
  private readonly options: ServingProcessOptions;
  private readonly keySets: ReturnType<typeof createKeySets>;
  private readonly mcp: McpRuntime;
  private readonly store: Store | undefined;
  private readonly globalCalls: StoredCalls | undefined;
  private readonly audit: Audit | undefined;
  private readonly tracing: Tracing | undefined;
  private readonly logExport: LogExport | undefined;
  /**
   * The sockets and keys of a process that serves alone, where Node can bind them: those of a worker come from
   * the main process.
   */
  private readonly own: { readonly sockets: Sockets; readonly keys: CommonKeys } | undefined;
  /** Names of environment variables that no child process inherits; grows with configurations. */
  private readonly withheld: Set<string>;
  private readonly entrances = new Set<Entrance>();
  private readonly endSurvival: () => void;
  private ready = false;
  private applied = false;

  constructor(options: ServingProcessOptions) {
    this.options = options;
    this.withheld = new Set(options.secrets.variables);
    rememberSecrets(options.secrets.values);
    const { metrics, fixed, worker, inherited } = options;
    const log = worker === undefined ? options.log : options.log.child({ worker });
    if (fixed.audit !== undefined)
      this.audit = new Audit({ settings: fixed.audit, writer: writerOf(options), log, metrics });
    if (fixed.tracing !== undefined) this.tracing = new Tracing(fixed.tracing, { log, metrics });
    if (fixed.logExport !== undefined) this.logExport = new LogExport(fixed.logExport, { log, metrics });
    this.keySets = createKeySets({ log, metrics });
    if (worker === undefined && options.unbound !== true && handoverUnsupported() === undefined) {
      const keys = new CommonKeys(inherited, (secret) => this.dataPlane.useTicketSecret(secret));
      this.own = { keys, sockets: new Sockets(1, inherited?.sockets) };
    }
    const { own } = this;
    if (fixed.store !== undefined) this.store = new RedisStore({ settings: fixed.store, log, metrics });
    const pins = pinsOf(fixed.pins, this.store);
    const tokens = options.tokens ?? new LocalTokens(Date.now);
    const callsInProgress = new CallsInProgress();
    if (this.store !== undefined)
      this.globalCalls = new StoredCalls({ store: this.store, local: callsInProgress });
    const sessionKey = fixed.sessionKey ?? own?.keys.sessionKey;
    this.mcp = new McpRuntime({
      ...(sessionKey === undefined ? {} : { sessionKey }),
      ...(options.owner === undefined ? {} : { owner: options.owner }),
      ...(options.onGroup && { onGroup: options.onGroup }),
      ...keyHolders(fixed.sessionKey !== undefined && options.madeKey !== true, worker),
      ...(pins && { pins }),
      ...(this.store && { store: this.store }),
      version: version(),
      soleClient: options.unbound === true,
      sessionTtlMs: fixed.sessionTtlMs,
      sessionResumableMs: fixed.sessionResumableMs,
      limits: () => (this.ready ? this.dataPlane.limits : defaults.limits),
      log,
      metrics,
      secrets: this.withheld,
    });
    this.dataPlane = new DataPlane({
      log,
      metrics,
      onRecord: options.onRecord ?? ((json) => this.requests.add(json)),
      mcp: this.mcp,
      policyTools: {
        log,
        keySets: this.keySets,
        now: Date.now,
        tokens,
        callsInProgress,
        ...(this.store && { globalTokens: new StoredTokens(this.store, tokens) }),
        ...(this.globalCalls && { globalCalls: this.globalCalls }),
      },
      audit: this.audit,
      tracing: this.tracing && fixed.tracing && { spans: this.tracing, settings: fixed.tracing },
      logExport: this.logExport && fixed.logExport && { records: this.logExport, settings: fixed.logExport },
      openAccessLog: (kind, removed) =>
        kind === 'none' ? undefined : createAccessLog(kind, { log, metrics, removed }),
      ...(options.socketsFor && { socketsFor: options.socketsFor }),
      ...(options.unbound === true && { socketsFor: () => [] }),
      ...(options.relay && { relay: options.relay }),
      ...(own && {
        socketsFor: (key) => [...own.sockets.of(1, [key])].map(([, handle]) => handle),
        // There may be those of the program before this one, which are not handed over.
        datagrams: () => (inherited === undefined || this.applied ? 'first' : 'joining'),
      }),
    });
    this.ready = true;
    this.endSurvival = surviveRejections(log);
    if (own !== undefined) this.dataPlane.useTicketSecret(own.keys.ticketSecret);
    // A worker does not count itself: the main process does.
    if (worker === undefined)
      exposeWorkers(
        metrics,
        () => 1,
        () => [],
      );
  }

  get ports(): readonly PortView[] {
    return this.dataPlane.binds.map(({ key, port }) => ({ key, port }));
  }

  /** A process that looks at this looks at itself. */
  get serving(): boolean {
    return true;
  }

  async prepare(model: Model): Promise<Prepared> {
    await this.exportersReady();
    return await this.dataPlane.prepare(model);
  }

  async apply(given: Model): Promise<void> {
    const { own, dataPlane } = this;
    await this.exportersReady();
    const model = withConsoleDoor(given, this.options.consoleDoor);
    const opened = own?.sockets.open(model);
    let prepared: Prepared;
    try {
      prepared = await dataPlane.prepare(own?.keys.sealing(own.sockets.marked(model)) ?? model);
    } catch (error) {
      own?.sockets.close(opened);
      throw error;
    }
    // A program without its key sets would refuse callers that the old program still accepts.
    // Requests that come first are counted with the others.
    await this.store?.tried();
    if (this.options.relieves === true && !this.applied) await this.keySets.tried();
    this.applied = true;
    await prepared.commit();
    own?.sockets.keepOnly(model);
  }

  /** Serves a connection of this process to itself, at the first bind of the model. */
  admit(bind: Bind, socket: Socket): void {
    this.dataPlane.admit(bindKey(bind, 0), socket, { version: 'HTTP/2.0' });
  }

  private async exportersReady(): Promise<void> {
    await Promise.all([this.tracing?.ready, this.logExport?.ready]);
  }

  keepSecret({ variables, values }: Secrets): void {
    for (const name of variables) this.withheld.add(name);
    rememberSecrets(values);
  }

  useAddresses(_model: Model, lists: AddressLists): Promise<void> {
    this.dataPlane.useAddresses(lists);
    return Promise.resolve();
  }

  /** As `view`, at once. */
  look(): PlaneView {
    const { binds, broken, certificates, closedPorts } = this.dataPlane;
    return {
      binds,
      closedPorts,
      brokenRoutes: broken,
      certificates,
      keySets: this.keySets.view(),
      mcp: this.mcp.view(),
      workers: [],
    };
  }

  view(): Promise<PlaneView> {
    return Promise.resolve(this.look());
  }

  expose(): Promise<string> {
    return this.options.metrics.expose();
  }

  counts(): Promise<MetricsSnapshot> {
    return this.options.metrics.snapshot();
  }

  endSession(label: string): Promise<boolean> {
    return this.mcp.endSession(label);
  }

  auditLines(): Promise<readonly string[]> {
    return Promise.resolve(this.audit?.lastLines ?? []);
  }

  async entrance({ bind, tls }: EntranceRequest): Promise<string> {
    const opened = await Entrance.open((socket) =>
      this.dataPlane.admit(bind, socket, { version: 'HTTP/1.1', ...(tls && { tls }) }),
    );
    this.entrances.add(opened);
    void opened.closed.then(() => this.entrances.delete(opened));
    return opened.path;
  }

  why(request: TrialRequest): Promise<Decision> {
    return this.dataPlane.explain(request);
  }

  evaluate(trial: ExpressionTrial): Promise<ExpressionResult> {
    return this.dataPlane.evaluate(trial);
  }

  setLogLevel(level: RootLogger['level']): void {
    this.options.log.setLevel(level);
  }

  handOver(): PlaneInheritance {
    if (this.own === undefined) throw new Error(handoverUnsupported() ?? 'a worker has nothing to hand over');
    const { sockets, keys } = this.own;
    return { sockets: sockets.all, sessionKey: keys.sessionKey, ticketSecret: keys.ticketSecret };
  }

  async drain(patienceMs = 0, followed = false): Promise<void> {
    if (followed) this.mcp.handOver();
    const served = this.dataPlane.drain(patienceMs);
    this.mcp.drain();
    await served;
  }

  async close(graceMs: number): Promise<void> {
    if (graceMs > 0) await this.mcp.close(graceMs);
    for (const entrance of this.entrances) entrance.close();
    this.dataPlane.close();
    this.own?.sockets.close();
    this.own?.keys.close();
    this.keySets.close();
    await this.mcp.close(0);
    await Promise.all([this.tracing?.close(), this.logExport?.close()]);
    await this.audit?.close();
    this.globalCalls?.close();
    this.store?.close();
    this.endSurvival();
  }
}
