import { randomBytes } from 'node:crypto';
import { messageOf } from '../errorText.ts';
import type { Decision, ExpressionResult, ExpressionTrial, TrialRequest } from '../proxy/index.ts';
import {
  withConsoleDoor,
  withoutRoutes,
  type AddressLists,
  type ConsoleDoorAddress,
  type Model,
} from '../model/index.ts';
import {
  accessSink,
  addUp,
  exposeSum,
  Sink,
  type LogLevel,
  type Metrics,
  type MetricsSnapshot,
  type RootLogger,
} from '../telemetry/index.ts';
import { CommonKeys } from './commonKeys.ts';
import type { EntranceRequest, Plane, PlaneView, PortView, Secrets } from './contract.ts';
import { WorkerPool, defaultPace, type Pace } from './workerPool.ts';
import type { PlaneInheritance } from './inheritance.ts';
import { LinkClosed } from './link.ts';
import { EndedCounts } from './endedCounts.ts';
import { exposeWorkers } from './metrics.ts';
import { sendRoutes } from './modelTransfer.ts';
import type { WorkerProcess } from './workerProcess.ts';
import { WorkerSlot } from './workerSlot.ts';
import { PrivateFolder, removeStaleFolders } from './privateFolder.ts';
import type { Start } from './workerMessages.ts';
import { RequestRecords } from './requestFeed.ts';
import { Sockets } from './sockets.ts';
import { inOrder } from '../audit/index.ts';
import { TokenThread } from './tokens/tokenThread.ts';
import { mergeViews } from './views.ts';
import { WorkerEndedError } from './workerEndedError.ts';

export interface ProcessTreeOptions {
  readonly workers: number;
  readonly log: RootLogger;
  readonly metrics: Metrics;
  readonly secrets: Secrets;
  /** The way to the console, for models with a route that leads there. */
  readonly consoleDoor?: (() => ConsoleDoorAddress) | undefined;
  /** Tests hurry. */
  readonly pace?: Partial<Pace>;
  /** The state from the program before this one. */
  readonly inherited?: PlaneInheritance | undefined;
}

/** Values of secrets that a worker gets at its start; configurations come and go. */
const maxValues = 1_024;
/** The time to wait for a worker's metrics or view, in milliseconds. */
const answerMs = 2_000;

/**
 * The main process of several workers: it binds the ports and hands them out, brings each model to all workers or to
 * none, and says of all of them what one process says of itself. No request passes through it.
 */
export class ProcessTree implements Plane {
  readonly requests = new RequestRecords(
    (watched) => void this.pool.broadcast(({ link }) => link.ask('watch', watched)),
  );
  private readonly options: ProcessTreeOptions;
  private readonly log: RootLogger;
  private readonly slots: readonly WorkerSlot[];
  private readonly sockets: Sockets;
  private readonly pool: WorkerPool;
  private readonly out: Sink;
  private readonly err = new Sink(2, { flushAt: 0, flushMs: 0 });
  private readonly keys: CommonKeys;
  private model: Model | undefined;
  private secrets: Secrets;
  private ending = false;
  private readonly endedCounts = new EndedCounts();
  private readonly innerSecret = randomBytes(32).toString('hex');
  /** For the sockets between the processes. */
  private folder: PrivateFolder | undefined;
  private counter: TokenThread | undefined;

  constructor(options: ProcessTreeOptions) {
    this.options = options;
    const { workers, log, metrics, inherited } = options;
    this.log = log;
    this.secrets = options.secrets;
    this.slots = Array.from({ length: workers }, (_, index) => new WorkerSlot(index + 1));
    this.sockets = new Sockets(workers, inherited?.sockets);
    this.out = accessSink({ log, metrics });
    this.pool = new WorkerPool({
      slots: this.slots,
      sockets: this.sockets,
      out: this.out,
      err: this.err,
      counter: () => this.counting(),
      withheld: () => this.secrets.variables,
      records: (records) => {
        for (const json of records) this.requests.add(json);
      },
      log,
      pace: { ...defaultPace, ...options.pace },
      model: () => this.completed(this.used),
      startOf: (of) => this.startOf(of),
      relayPathOf: (owner) => this.ownFolder.socket(owner),
      onLost: ({ owner, metrics: last }) => {
        this.endedCounts.add(last, this.used);
        this.ownFolder.removeSocket(owner);
      },
    });
    this.keys = new CommonKeys(
      inherited,
      (secret) => void this.pool.broadcast(({ link }) => link.ask('ticketSecret', secret)),
    );
    exposeWorkers(
      metrics,
      () => this.pool.serving.length,
      () => this.slots.map(({ view }) => view),
    );
  }

  get ports(): readonly PortView[] {
    return this.sockets.ports;
  }

  get serving(): boolean {
    return this.pool.serving.length > 0;
  }

  async apply(model: Model): Promise<void> {
    if (this.model !== undefined) {
      await this.pool.holdStarts(() => this.swap(model));
      return;
    }
    this.sockets.open(model);
    this.model = model;
    this.folder = new PrivateFolder();
    void removeStaleFolders();
    await this.pool.start();
  }

  keepSecret(more: Secrets): void {
    const { variables, values } = this.secrets;
    // A worker that starts later begins with all of them.
    this.secrets = {
      variables: [...new Set([...variables, ...more.variables])],
      values: [...new Set([...values, ...more.values])].slice(-maxValues),
    };
    void this.pool.broadcast(({ link }) => link.ask('secrets', more));
  }

  async useAddresses(model: Model, lists: AddressLists): Promise<void> {
    await this.pool.holdStarts(async () => {
      // Workers that start later begin with this model.
      this.model = model;
      await this.pool.broadcast(({ link }) => link.ask('addresses', lists));
    });
  }

  async view(): Promise<PlaneView> {
    const views = await Promise.all(
      this.pool.serving.map(async ({ worker, process }) => {
        const view = await inTime(process.link.ask('view', undefined));
        return view === undefined ? [] : [[worker, view] as const];
      }),
    );
    return mergeViews(
      views.flat(),
      this.slots.map(({ view }) => view),
    );
  }

  async expose(): Promise<string> {
    return await exposeSum(await this.snapshots());
  }

  async counts(): Promise<MetricsSnapshot> {
    return await addUp(await this.snapshots());
  }

  /** The metrics of every process, those of ended ones among them. */
  private async snapshots(): Promise<readonly MetricsSnapshot[]> {
    const workers = await Promise.all(
      this.pool.serving.map(async ({ process }) => {
        // A late worker is counted with its last numbers: a sum must not fall.
        process.metrics = (await inTime(process.link.ask('metrics', undefined))) ?? process.metrics;
        return process;
      }),
    );
    const own = await this.options.metrics.snapshot();
    // Workers that have ended meanwhile are among the ended workers, and only there.
    let ended = await this.endedCounts.present;
    for (let known; known !== this.endedCounts.present; ended = await known) known = this.endedCounts.present;
    const there = new Set(this.pool.serving.map(({ process }) => process));
    const snapshots = workers.filter((process) => there.has(process)).map(({ metrics }) => metrics);
    return [own, ended, ...snapshots];
  }

  async why(request: TrialRequest): Promise<Decision> {
    return await this.first.link.ask('why', request);
  }

  async evaluate(trial: ExpressionTrial): Promise<ExpressionResult> {
    return await this.first.link.ask('evaluate', trial);
  }

  /** Always of the same worker, which holds the MCP sessions that begin so. */
  async entrance(request: EntranceRequest): Promise<string> {
    return await this.first.link.ask('entrance', request);
  }

  private get first(): WorkerProcess {
    const [first] = this.pool.serving;
    if (first === undefined) throw new Error('no worker serves');
    return first.process;
  }

  async endSession(label: string): Promise<boolean> {
    const asked = this.pool.serving.map(({ process }) => inTime(process.link.ask('endSession', label)));
    return (await Promise.all(asked)).includes(true);
  }

  async auditLines(): Promise<readonly string[]> {
    const asked = this.pool.serving.map(({ process }) => inTime(process.link.ask('auditLines', undefined)));
    return inOrder((await Promise.all(asked)).flatMap((lines) => lines ?? []));
  }

  setLogLevel(level: LogLevel): void {
    this.log.setLevel(level);
    void this.pool.broadcast(({ link }) => link.ask('logLevel', level));
  }

  handOver(): PlaneInheritance {
    const { sessionKey, ticketSecret } = this.keys;
    return { sockets: this.sockets.all, sessionKey, ticketSecret };
  }

  async drain(patienceMs = 0, followed = false): Promise<void> {
    this.stop();
    await this.pool.broadcast(({ link }) => link.ask('drain', { patienceMs, followed }));
  }

  async close(graceMs: number): Promise<void> {
    this.stop();
    await this.pool.end(graceMs);
    await this.counter?.close();
    this.folder?.remove();
    this.out.close();
    this.err.close();
  }

  private stop(): void {
    this.ending = true;
    this.keys.close();
    this.pool.stop();
    // The workers close theirs, too: with that the ports are free.
    this.sockets.close();
  }

  /** Every worker prepares the model, and only when all have done so they take it into use. */
  private async swap(model: Model): Promise<void> {
    const { serving: served } = this.pool;
    // Starts of workers were waited for; with the end of the tree its ports are closed, and stay so.
    if (this.ending) throw new Error('the gateway is shutting down');
    const opened = this.sockets.open(model);
    const parts = withoutRoutes(this.completed(model));
    this.log.debug('Workers are preparing a configuration');
    const prepared = await Promise.allSettled(
      served.map(async ({ worker, process }) => {
        process.busy = true;
        for (const [key, handle] of this.sockets.of(worker, opened))
          process.link.ask('socket', { key }, handle).catch(() => undefined);
        try {
          await process.link.ask('prepare', await sendRoutes(process.link, parts));
        } finally {
          process.settled();
        }
      }),
    );
    const reasons = prepared.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as Error] : [],
    );
    if (reasons.length > 0) {
      await this.pool.broadcast(({ link }) => link.ask('abort', undefined));
      this.sockets.close(opened);
      const refusal = reasons.find((reason) => !(reason instanceof LinkClosed));
      if (refusal !== undefined) throw refusal;
      // A configuration that ends processes is none to take; whether it was this one nobody knows.
      const gone = served.filter((_, index) => prepared[index]?.status === 'rejected');
      throw new WorkerEndedError(this.pool.whenComplete(new Set(gone.map(({ process }) => process))));
    }
    this.model = model;
    this.endedCounts.keepRoutesOf(model);
    await Promise.all(
      served.map(async ({ worker, process }) => {
        try {
          await process.link.ask('commit', undefined);
        } catch (error) {
          if (error instanceof LinkClosed) return;
          // It has the model and lacks a port: its successor gets another try.
          const problem = messageOf(error);
          this.log.error('Worker could not apply the configuration', { worker, problem });
          process.kill();
        }
      }),
    );
    this.sockets.keepOnly(model);
  }

  /** The model in use. */
  private get used(): Model {
    if (this.model === undefined) throw new Error('there is no model yet');
    return this.model;
  }

  /** A model with everything that the workers need besides the file. */
  private completed(model: Model): Model {
    return withConsoleDoor(this.keys.sealing(this.sockets.marked(model)), this.options.consoleDoor);
  }

  private startOf(of: Pick<Start, 'worker' | 'owner' | 'relayPath' | 'peers' | 'model'>): Start {
    return {
      ...of,
      relieves: this.serving || this.options.inherited !== undefined,
      logLevel: this.log.level,
      secrets: this.secrets,
      innerSecret: this.innerSecret,
      watched: this.requests.isWatched,
      ticketSecret: this.keys.ticketSecret,
      madeKey: this.used.process.fixed.sessionKey === undefined,
    };
  }

  /** The counter of tokens, from the moment on in which the first worker asks for it. */
  private async counting(): Promise<string> {
    const { log, innerSecret: secret } = this;
    this.counter ??= new TokenThread({ path: this.ownFolder.counter, secret, log });
    return this.counter.where();
  }

  private get ownFolder(): PrivateFolder {
    if (this.folder === undefined) throw new Error('there is no model yet');
    return this.folder;
  }
}

/** Undefined where the answer does not come in time, or at all. */
async function inTime<T>(asked: Promise<T>): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, answerMs, undefined);
  try {
    return await Promise.race([asked, late.promise]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
