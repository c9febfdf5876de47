import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { startAdmin, type Admin, type AdminViews, type Readiness } from './admin/index.ts';
import { defaults, type AddressLists, type Model, type ProcessSettings } from './model/index.ts';
import {
  FileSource,
  loadText,
  renderProblem,
  StreamSource,
  type Environment,
  type LoadResult,
  type Problem,
  type StreamSettings,
} from './sources/index.ts';
import { createLogger, createMetrics, makeNonBlockingAgain, type RootLogger } from './telemetry/index.ts';
import {
  Serving,
  Tree,
  Upgrades,
  whyNotSeveral,
  workerCount,
  type Inheritance,
  type Plane,
  type PortView,
  type Predecessor,
  type Program,
} from './workers/index.ts';

/** Variables that hold secrets of the gateway itself: no child process inherits them. */
const secretVariables = [
  'SESSION_KEY',
  'OIDC_COOKIE_SECRET',
  'XDS_AUTH_TOKEN',
  'CA_AUTH_TOKEN',
  'OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  'PORTCULLIS_CLIENT_SECRET',
];

/** What MCP servers get to leave by themselves when the gateway ends in good order. */
const CHILD_GRACE_MS = 2_000;
/** What questions to the operator's ports get to be answered when a new program has these ports. */
const ANSWER_MS = 3_000;

export interface GatewayOptions {
  /**
   * A file, which is followed, or the text itself; or a controller, with the text of the settings that are this
   * process's own.
   */
  readonly source:
    | { readonly file: string }
    | { readonly text: string }
    | { readonly stream: StreamSettings; readonly settings: string };
  /** For `$NAME` in values and for the overrides of `config`. */
  readonly env: Environment;
  /** Of the program, for admin and metrics. */
  readonly version?: string;
  /** How it is started; without it nothing can take its place by an upgrade. */
  readonly program?: Program;
  /** From the program whose place this one takes. */
  readonly inheritance?: Inheritance | undefined;
}

/** A running gateway. */
export interface Gateway {
  readonly binds: readonly PortView[];
  readonly addresses: Admin['addresses'];
  /** Resolves when the gateway has ended, whoever asked for it. */
  readonly closed: Promise<void>;
  /** Ends gracefully: takes no more connections, lets running requests finish within the configured deadline. */
  close(): Promise<void>;
  /** Ends at once. */
  closeNow(): Promise<void>;
  /**
   * Has a new program take the place of this one, which then drains and ends.
   * @returns the process id of the other one
   * @throws Error saying why it did not work: everything is as before then, and the log says it, too
   */
  upgrade(): Promise<number>;
  /** Tells the program before this one that this one serves. Resolves (never rejects) when it has left the ports. */
  replace(predecessor: Predecessor): Promise<void>;
}

/** The gateway could not start; `problems` are ready to print, a line each. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly kind: 'configuration' | 'system';
  readonly problems: readonly string[];

  constructor(kind: 'configuration' | 'system', problems: readonly string[], cause?: unknown) {
    super(problems.join('\n'), { cause });
    this.kind = kind;
    this.problems = problems;
  }
}

export const packageVersion = (): string => {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
};

/**
 * Puts the gateway together and starts it: the one place that knows every room. Sources produce models, the data
 * plane takes them into use one after the other, admin shows both.
 *
 * @throws StartError when the configuration is invalid or a port cannot be bound; nothing is left running then
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const assembly = new Assembly(options);
  await assembly.start();
  return assembly;
}

class Assembly implements Gateway {
  readonly closed: Promise<void>;
  private readonly options: GatewayOptions;
  private readonly sourceName: string;
  private readonly version: string;
  private readonly metrics = createMetrics();
  private log: RootLogger = createLogger({ level: 'info', format: 'text' });
  private source: FileSource | undefined;
  private stream: StreamSource | undefined;
  private plane: Plane | undefined;
  private admin: Admin | undefined;
  private upgrades: Upgrades | undefined;
  private readiness: Readiness = 'starting';
  private model: Model | undefined;
  private loadedAt: number | undefined;
  private problems: readonly string[] = [];
  private warnings: readonly string[] = [];
  /** Models are taken one after the other; only the newest of those that wait counts. */
  private waiting: { readonly model: Model; readonly warnings: readonly Problem[] } | undefined;
  private applying: Promise<void> | undefined;
  private closing: Promise<void> | undefined;
  /** Another program serves in the place of this one. */
  private followed = false;
  private ended: () => void = () => {};

  constructor(options: GatewayOptions) {
    this.options = options;
    this.sourceName = nameOf(options.source);
    this.version = options.version ?? packageVersion();
    this.closed = new Promise((resolve) => (this.ended = resolve));
  }

  get binds(): readonly PortView[] {
    return this.plane?.ports ?? [];
  }

  get addresses(): Admin['addresses'] {
    return this.admin?.addresses ?? { admin: undefined, stats: undefined, readiness: undefined };
  }

  async start(): Promise<void> {
    const first = this.load();
    if (!first.ok) {
      this.source?.close();
      throw new StartError('configuration', first.problems.map(renderProblem));
    }
    const { fixed } = first.model.process;
    this.log.close();
    this.log = createLogger({ level: fixed.logLevel, format: fixed.logFormat });
    const workers = workerCount(fixed.workers);
    const { source, program, inheritance } = this.options;
    try {
      if ('stream' in source) this.stream = this.streamOf(source.stream, first.model.process);
      const plane = this.planeOf(workers, first.model, first.secretVariables);
      this.plane = plane;
      await plane.apply(first.model);
      const before = inheritance?.upgrades;
      this.upgrades = new Upgrades({ log: this.log, metrics: this.metrics, program, before });
      this.admin = await startAdmin({
        ...fixed,
        views: this.views(plane),
        log: this.log,
        metrics: this.metrics,
        expose: () => plane.expose(),
        inherited: inheritance?.admin,
      });
      for (const [key, handle] of inheritance?.admin ?? []) if (!this.admin.handles.has(key)) handle.close();
    } catch (error) {
      // Whoever came to this program, while the one before it goes on, is still served.
      if (inheritance !== undefined) await this.served(first.model, 0);
      await this.closeNow();
      throw new StartError('system', [error instanceof Error ? error.message : String(error)], error);
    }
    if (this.stream === undefined) {
      this.taken(first.model, first.warnings);
      this.readiness = 'ready';
    } else await this.stream.start();
    const { admin, stats, readiness } = this.addresses;
    this.log.info(this.readiness === 'ready' ? 'ready' : 'waiting for a model', {
      ports: this.binds.map(({ port }) => port).join(','),
      ...(workers === 1 ? {} : { workers }),
      admin: admin ?? 'off',
      stats: stats ?? 'off',
      readiness: readiness ?? 'off',
    });
  }

  close(): Promise<void> {
    this.upgrades?.stop();
    return (this.closing ??= this.drain());
  }

  async upgrade(): Promise<number> {
    // A configuration that is half in use has ports that may go again.
    await this.applying;
    const { plane, admin, upgrades } = this;
    if (this.isEnding()) throw new Error('the gateway ends');
    if (plane === undefined || admin === undefined || upgrades === undefined)
      throw new Error('the gateway starts');
    const successor = await upgrades.begin(() => ({ ...plane.handOver(), admin: admin.handles }));
    if (this.isEnding()) {
      successor.end();
      throw new Error('the gateway ends');
    }
    this.followed = true;
    const answered = admin.stopAccepting();
    successor.takesOver();
    this.closing = this.leave(answered);
    return successor.pid;
  }

  async replace(predecessor: Predecessor): Promise<void> {
    if (this.isEnding()) return;
    await predecessor.ready();
    try {
      await this.admin?.openRest();
    } catch (error) {
      this.log.error(error instanceof Error ? error.message : String(error));
    }
    void predecessor.ended.then(() => {
      makeNonBlockingAgain();
      this.log.info('upgrade: the program before this one has ended');
    });
  }

  async closeNow(): Promise<void> {
    this.readiness = 'draining';
    this.source?.close();
    // It may be taking a model into use, which nobody waits for any more.
    void this.stream?.close();
    await this.plane?.close(0);
    await this.admin?.close();
    this.log.close();
    this.ended();
  }

  private load(): LoadResult {
    const { source, env } = this.options;
    if ('stream' in source) return loadText(source.settings, { file: this.sourceName, env });
    if ('text' in source) return loadText(source.text, { file: this.sourceName, env });
    this.source = new FileSource({
      file: source.file,
      env,
      onModel: (model, warnings) => this.offer(model, warnings),
      onProblems: (problems) => this.refuse(problems.map(renderProblem)),
    });
    return this.source.start();
  }

  /** What serves: this process itself, or a tree of others. */
  private planeOf(workers: number, model: Model, configuredSecrets: readonly string[]): Plane {
    const { log, metrics } = this;
    const secrets = [...secretVariables, ...configuredSecrets];
    const inherited = this.options.inheritance;
    if (workers === 1) return new Serving({ log, metrics, secrets, fixed: model.process.fixed, inherited });
    const impossible = whyNotSeveral();
    if (impossible !== undefined) throw new Error(impossible);
    return new Tree({ log, metrics, secrets, workers, inherited });
  }

  /** @param own settings of this process, which no controller changes */
  private streamOf(settings: StreamSettings, own: ProcessSettings): StreamSource {
    const { fixed, upstream } = own;
    const zone = upstream.zone === undefined ? {} : { zone: upstream.zone };
    const completed = ({ process, binds }: Model): Model => ({
      process: { ...process, fixed, upstream: { ...process.upstream, ...zone } },
      binds,
    });
    return new StreamSource({
      ...settings,
      onModel: (model) => this.takeStreamed(completed(model)),
      onAddresses: (model, lists) => this.takeAddresses(completed(model), lists),
      userAgent: `portcullis/${this.version}`,
      log: this.log,
      metrics: this.metrics,
    });
  }

  /** @throws Error where the model cannot be taken into use */
  private async takeStreamed(model: Model): Promise<void> {
    try {
      await this.plane?.apply(model);
    } catch (error) {
      this.refuse([error instanceof Error ? error.message : String(error)]);
      throw error;
    }
    this.taken(model, []);
    if (this.readiness !== 'starting') return;
    this.readiness = 'ready';
    this.log.info('the first model is in use', { ports: this.binds.map(({ port }) => port).join(',') });
  }

  private async takeAddresses(model: Model, lists: AddressLists): Promise<void> {
    await this.plane?.useAddresses(model, lists);
    this.model = model;
    this.loadedAt = Date.now();
    this.log.debug('addresses taken', { lists: lists.size });
  }

  /** A new model: taken when the one before it is. */
  private offer(model: Model, warnings: readonly Problem[]): void {
    this.waiting = { model, warnings };
    this.applying ??= this.applyWaiting().finally(() => (this.applying = undefined));
  }

  private async applyWaiting(): Promise<void> {
    for (let next = this.waiting; next !== undefined && !this.isEnding(); next = this.waiting) {
      this.waiting = undefined;
      // A program that is about to take the place of this one has got its ports, and reads the new file by itself.
      await this.upgrades?.settled;
      if (this.isEnding()) return;
      try {
        if (!isDeepStrictEqual(next.model, this.model)) await this.plane?.apply(next.model);
        // A plane that ends takes nothing more into use.
        if (!this.isEnding()) this.taken(next.model, next.warnings);
      } catch (error) {
        if (!this.isEnding())
          this.refuse([`${this.sourceName}: ${error instanceof Error ? error.message : String(error)}`]);
      }
    }
  }

  private isEnding(): boolean {
    return this.readiness === 'draining';
  }

  private taken(model: Model, warnings: readonly Problem[]): void {
    const previous = this.model;
    this.model = model;
    this.loadedAt = Date.now();
    this.problems = [];
    this.warnings = warnings.map(renderProblem);
    for (const warning of this.warnings) this.log.warn(warning);
    if (previous === undefined) return;
    this.log.info('configuration taken', { source: this.sourceName });
    if (!isDeepStrictEqual(previous.process.fixed, model.process.fixed)) {
      this.log.warn(
        'a part of `config` that is read at start only has changed: it takes effect after a restart or an upgrade',
      );
    }
  }

  private refuse(problems: readonly string[]): void {
    this.problems = problems;
    for (const problem of problems)
      this.log.error('configuration refused, the last good one stays', { problem });
  }

  private async drain(): Promise<void> {
    this.readiness = 'draining';
    this.source?.close();
    const { terminationDeadlineMs, minTerminationDeadlineMs } = (this.model?.process ?? defaults).fixed;
    this.log.info('draining', { deadlineMs: terminationDeadlineMs });
    const deadline = timer(terminationDeadlineMs);
    // Load balancers need a moment to see that we are not ready any more; until then we still serve.
    if (minTerminationDeadlineMs > 0) {
      const minimum = timer(minTerminationDeadlineMs);
      await minimum.done;
    }
    await this.stream?.close();
    await Promise.race([this.plane?.drain(), deadline.done]);
    deadline.cancel();
    await this.plane?.close(CHILD_GRACE_MS);
    await this.closeNow();
  }

  /** Another program serves on the same ports: only those that this one serves need to be told that it ends. */
  private async leave(answered: Promise<void>): Promise<void> {
    this.readiness = 'draining';
    this.source?.close();
    const model = this.model ?? { process: defaults, binds: [] };
    const { terminationDeadlineMs } = model.process.fixed;
    this.log.info('draining', { deadlineMs: terminationDeadlineMs });
    await this.served(model, terminationDeadlineMs / 2);
    // A probe that came to this program in its last moment must not fail.
    const patience = timer(ANSWER_MS);
    await Promise.race([answered, patience.done]);
    patience.cancel();
    await this.plane?.close(CHILD_GRACE_MS);
    await this.closeNow();
  }

  /** Takes nothing new; resolves when what runs is served, or its deadline is over. */
  private async served({ process: { fixed } }: Model, patienceMs: number): Promise<void> {
    const deadline = timer(fixed.terminationDeadlineMs);
    await Promise.race([this.plane?.drain(patienceMs), deadline.done]);
    deadline.cancel();
  }

  private get allProblems(): readonly string[] {
    return this.stream?.problems ?? this.problems;
  }

  private views(plane: Plane): AdminViews {
    return {
      version: this.version,
      model: () => this.model,
      configState: () => ({
        source: this.sourceName,
        loadedAt: this.loadedAt,
        synchronized: this.allProblems.length === 0,
        problems: this.allProblems,
        warnings: this.warnings,
        ...(this.stream === undefined ? {} : { stream: this.stream.state }),
      }),
      serving: () => plane.view(),
      readiness: () => {
        // Whoever asks this process wants to know whether somebody serves on its ports.
        if (this.followed) return 'ready';
        return this.readiness === 'ready' && !plane.serving ? 'starting' : this.readiness;
      },
      logLevel: () => this.log.level,
      setLogLevel: (level) => plane.setLogLevel(level),
      drain: () => void this.close(),
      ...(this.options.program === undefined ? {} : { upgrade: () => this.upgrade() }),
    };
  }
}

function nameOf(source: GatewayOptions['source']): string {
  if ('stream' in source) return `Gateway ${source.stream.gateway}`;
  return 'file' in source ? source.file : '<inline>';
}

/** A wait that can be given up. */
function timer(ms: number): { readonly done: Promise<void>; cancel(): void } {
  let cancel = (): void => {};
  const done = new Promise<void>((resolve) => {
    const handle = setTimeout(resolve, ms);
    cancel = () => {
      clearTimeout(handle);
      resolve();
    };
  });
  return { done, cancel: () => cancel() };
}
