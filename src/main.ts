import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from './errorText.ts';
import { version } from './version.ts';
import { within } from './within.ts';
import { Audit, type AuditedEnd, type AuditedOperation } from './audit/index.ts';
import {
  ConsoleDoor,
  startAdmin,
  type Admin,
  type AdminAct,
  type AdminViews,
  type GatewayViews,
  type Readiness,
} from './admin/index.ts';
import {
  ConfigConflict,
  ConfigFile,
  configurationSchema,
  FileSource,
  loadText,
  maskedFields,
  effectiveTree,
  maskText,
  renderProblem,
  type LoadResult,
  type Secrets,
  withMissingCommands,
} from './config/index.ts';
import {
  choosePlane,
  configViews,
  gatewayViews,
  RateHistory,
  Intake,
  StartError,
  withOwnSettings,
  type Gateway,
  type GatewayOptions,
} from './gateway/index.ts';
import { defaults, secretVariables, type Model, type ProcessSettings } from './model/index.ts';
import { StreamSource, type StreamSettings } from './stream/index.ts';
import {
  createLogger,
  createMetrics,
  makeNonBlockingAgain,
  rememberSecrets,
  type RootLogger,
  redactArguments,
  redacted,
} from './telemetry/index.ts';
import {
  PrivateFolder,
  Upgrades,
  workerCount,
  type Plane,
  type PortView,
  type Predecessor,
} from './workers/index.ts';

export { StartError, type Gateway, type GatewayOptions };

/** The time for MCP servers to leave by themselves when the gateway ends in good order. */
const CHILD_GRACE_MS = 2_000;
/** The time to answer questions to the operator's ports when a new program has these ports. */
const ANSWER_MS = 3_000;

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

/** The gateway from its start to its end, in that order. */
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
  private intake: Intake | undefined;
  private admin: Admin | undefined;
  private upgrades: Upgrades | undefined;
  private audit: Audit | undefined;
  private door: ConsoleDoor | undefined;
  /** The texts of models, for as long as a model is in use. */
  private readonly texts = new WeakMap<Model, string>();
  private history: RateHistory | undefined;
  private document: ConfigFile | undefined;
  /** Names of environment variables that hold secrets, of every configuration since the start. */
  private readonly withheld = new Set<string>();
  private readiness: Readiness = 'starting';
  private closing: Promise<void> | undefined;
  /** Another program serves in the place of this one. */
  private followed = false;
  private ended: () => void = () => {};

  constructor(options: GatewayOptions) {
    this.options = options;
    this.sourceName = nameOf(options.source);
    this.version = options.version ?? version();
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
    this.keepText(first.model, this.source?.text);
    const { fixed } = first.model.process;
    this.log.close();
    this.log = createLogger({ level: fixed.logLevel, format: fixed.logFormat });
    const workers = workerCount(fixed.workers);
    const { source, program, inheritance } = this.options;
    let intake: Intake;
    try {
      const { log, metrics, sourceName } = this;
      const secrets = this.secretsOf(first.secrets);
      if (fixed.audit !== undefined)
        this.audit = new Audit({ settings: fixed.audit, writer: 'control', log, metrics });
      const { audit } = this;
      const door = new ConsoleDoor(() => new PrivateFolder(), log);
      this.door = door;
      const plane = choosePlane({
        workers,
        fixed,
        secrets,
        log,
        metrics,
        inherited: inheritance,
        consoleDoor: () => door.address,
      });
      this.plane = plane;
      // A program that is about to take the place of this one has got its ports, and reads the new file by itself.
      intake = new Intake({ source: sourceName, plane, log, audit, free: () => this.upgrades?.settled });
      this.intake = intake;
      if ('stream' in source) this.stream = this.streamOf(source.stream, first.model.process, plane, intake);
      await plane.apply(first.model);
      this.upgrades = new Upgrades({
        log,
        metrics,
        program,
        withheld: () => [...this.withheld],
        before: inheritance?.upgrades,
      });
      this.history = new RateHistory(() => plane.counts());
      this.history.start();
      const { history } = this;
      this.admin = await startAdmin({
        ...fixed,
        views: this.views(plane, intake, history),
        log,
        metrics,
        expose: () => plane.expose(),
        consoleFolder: new URL('../ui/dist/', import.meta.url),
        door,
        showLink: this.options.showLink,
        inherited: inheritance?.admin,
      });
      for (const [key, handle] of inheritance?.admin ?? []) if (!this.admin.handles.has(key)) handle.close();
    } catch (error) {
      // Clients that came to this program before its predecessor has ended are still served.
      if (inheritance !== undefined) await within(fixed.terminationDeadlineMs, this.plane?.drain(0));
      await this.closeNow();
      throw new StartError('system', [messageOf(error)], error);
    }
    if (this.stream === undefined) {
      intake.begin(first.model, first.warnings.map(renderProblem));
      this.readiness = 'ready';
    } else await this.stream.start();
    this.record('gateway.start', {}, { outcome: 'ok' });
    const { admin, stats, readiness } = this.addresses;
    this.log.info(this.readiness === 'ready' ? 'ready' : 'waiting for a model', {
      ports: this.portList,
      ...(workers === 1 ? {} : { workers }),
      admin: admin ?? 'off',
      stats: stats ?? 'off',
      readiness: readiness ?? 'off',
    });
  }

  /** Loads the configuration that the command line names: a file is watched from now on. */
  private load(): LoadResult {
    const { source, env } = this.options;
    if ('stream' in source) return loadText(source.settings, { file: this.sourceName, env, literal: true });
    if ('text' in source)
      return withMissingCommands(loadText(source.text, { file: this.sourceName, env }), env);
    this.source = new FileSource({
      file: source.file,
      env,
      onModel: (model, warnings, secrets) => {
        this.keepText(model, this.source?.text);
        this.plane?.keepSecret(this.secretsOf(secrets));
        this.intake?.offer(model, warnings.map(renderProblem));
      },
      onProblems: (problems) => this.intake?.refuse(problems.map(renderProblem)),
    });
    return this.source.start();
  }

  private keepText(model: Model, text: string | undefined): void {
    if (text !== undefined) this.texts.set(model, text);
  }

  /** The secrets of a configuration and those of the process itself. The log replaces them from now on. */
  private secretsOf({ variables, values }: Secrets): Secrets {
    const { env } = this.options;
    const own = secretVariables.flatMap((name) => env[name] ?? []);
    const secrets = { variables: [...secretVariables, ...variables], values: [...own, ...values] };
    rememberSecrets(secrets.values);
    for (const name of secrets.variables) this.withheld.add(name);
    return secrets;
  }

  /** @param own settings of this process, which no controller changes */
  private streamOf(
    settings: StreamSettings,
    own: ProcessSettings,
    plane: Plane,
    intake: Intake,
  ): StreamSource {
    const completed = (model: Model): Model => withOwnSettings(model, own);
    return new StreamSource({
      ...settings,
      onModel: async (model) => {
        await intake.take(completed(model));
        if (this.readiness !== 'starting') return;
        this.readiness = 'ready';
        this.log.info('First model loaded', { ports: this.portList });
      },
      onAddresses: (model, lists) => intake.takeAddresses(completed(model), lists),
      flaws: async () => {
        const { brokenRoutes, closedPorts } = await plane.view();
        return { broken: brokenRoutes, closed: closedPorts };
      },
      userAgent: `portcullis/${this.version}`,
      log: this.log,
      metrics: this.metrics,
    });
  }

  private views(plane: Plane, intake: Intake, history: RateHistory): AdminViews {
    return {
      version: this.version,
      masked: maskedFields,
      isShared: this.stream !== undefined,
      model: () => intake.model,
      configState: () => {
        const { stream } = this;
        const { problems, ...state } = intake.state;
        const all = stream?.problems ?? problems;
        return {
          ...state,
          source: this.sourceName,
          synchronized: all.length === 0,
          problems: all,
          ...(stream === undefined ? {} : { stream: stream.state }),
        };
      },
      serving: () => plane.view(),
      readiness: () => {
        // A probe of this process wants to know whether the gateway serves on its ports.
        if (this.followed) return 'ready';
        return this.readiness === 'ready' && !plane.serving ? 'starting' : this.readiness;
      },
      requests: {
        follow: (listener, filter) => plane.requests.follow(listener, filter),
        why: (request) => plane.why(request),
        evaluate: (trial) => plane.evaluate(trial),
      },
      gateway: gatewayViews({
        plane,
        model: () => intake.model,
        audit: this.audit,
        history,
        config: this.configViews(plane, intake),
        isShared: this.stream !== undefined,
      }),
      logLevel: () => this.log.level,
      setLogLevel: (level) => plane.setLogLevel(level),
      ...(this.audit && { acted: (act: AdminAct) => this.recordAct(act) }),
      drain: () => void this.close(),
      ...(this.options.program === undefined ? {} : { upgrade: () => this.upgrade() }),
    };
  }

  private configViews(plane: Plane, intake: Intake): GatewayViews['config'] {
    const { source, env } = this.options;
    const document = new ConfigFile({
      source: 'stream' in source ? { text: source.settings } : source,
      name: this.sourceName,
      env,
    });
    this.document = document;
    return configViews({
      document,
      conflict: ConfigConflict,
      schema: configurationSchema,
      mask: maskText,
      tree: (hidesArguments) => {
        const used = intake.model;
        const text = (used && this.texts.get(used)) ?? document.read().text;
        return effectiveTree(text, {
          file: this.sourceName,
          env,
          literal: 'stream' in source,
          flags: this.options.flags ?? {},
          mark: redacted,
          shownArguments: hidesArguments ? (list) => list.map(() => redacted) : redactArguments,
        });
      },
      model: () => intake.model,
      sessions: async () => (await plane.view()).mcp,
      isControlled: 'stream' in source,
      onWritten: () => this.source?.look(),
    });
  }

  private recordAct({ method, target, status, address, port, user }: AdminAct): void {
    const [path = ''] = target.split('?', 1);
    const operation = `admin.${path.slice(1, 64)}`;
    const outcome = status < 400 ? 'ok' : status < 500 ? 'refused' : 'error';
    this.record(
      operation,
      { caller: { address, port, user }, details: { kind: 'admin', name: `${method} ${target}` } },
      { outcome, httpStatus: status },
    );
  }

  /** Records an act of the gateway or of its operator. */
  private record(operation: string, about: Partial<AuditedOperation>, end: AuditedEnd): void {
    this.audit?.record({ time: Date.now(), operation, caller: {}, ...about }, end);
  }

  async upgrade(): Promise<number> {
    // A configuration that is half in use has ports that may go again.
    await this.intake?.settled;
    const { plane, admin, upgrades } = this;
    if (this.isEnding()) throw new Error('the gateway is shutting down');
    if (plane === undefined || admin === undefined || upgrades === undefined)
      throw new Error('the gateway is still starting');
    const successor = await upgrades.begin(() => ({ ...plane.handOver(), admin: admin.handles }));
    if (this.isEnding()) {
      successor.end();
      throw new Error('the gateway is shutting down');
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
      this.log.error(messageOf(error));
    }
    void predecessor.ended.then(() => {
      makeNonBlockingAgain();
      this.log.info('Upgrade completed: the previous process has exited');
    });
  }

  close(): Promise<void> {
    this.upgrades?.stop();
    return (this.closing ??= this.drain());
  }

  private async drain(): Promise<void> {
    const { terminationDeadlineMs, minTerminationDeadlineMs } = this.startEnding();
    const deadline = performance.now() + terminationDeadlineMs;
    // Load balancers need a moment to see that we are not ready any more; until then we still serve.
    if (minTerminationDeadlineMs > 0) await delay(minTerminationDeadlineMs);
    await this.stream?.close();
    await within(deadline - performance.now(), this.plane?.drain());
    await this.plane?.close(CHILD_GRACE_MS);
    await this.closeNow();
  }

  /** Another program serves on the same ports: only those that this one serves need to be told that it ends. */
  private async leave(answered: Promise<void>): Promise<void> {
    const { terminationDeadlineMs } = this.startEnding();
    await within(terminationDeadlineMs, this.plane?.drain(terminationDeadlineMs / 2, true));
    // A probe that came to this program in its last moment must not fail.
    await within(ANSWER_MS, answered);
    await this.plane?.close(CHILD_GRACE_MS);
    await this.closeNow();
  }

  /** Follows no configuration any more. @returns how long what runs may take */
  private startEnding(): ProcessSettings['fixed'] {
    this.stopFollowing();
    const { fixed } = this.intake?.model?.process ?? defaults;
    this.log.info('draining', { deadlineMs: fixed.terminationDeadlineMs });
    return fixed;
  }

  async closeNow(): Promise<void> {
    this.stopFollowing();
    // It may be taking a model into use, which nobody waits for any more.
    void this.stream?.close();
    this.history?.close();
    await this.plane?.close(0);
    await this.admin?.close();
    await this.door?.close();
    this.record('gateway.stop', {}, { outcome: 'ok' });
    await this.audit?.close();
    this.log.close();
    this.ended();
  }

  private stopFollowing(): void {
    this.readiness = 'draining';
    this.source?.close();
    this.document?.close();
    this.intake?.close();
  }

  private isEnding(): boolean {
    return this.readiness === 'draining';
  }

  private get portList(): string {
    return this.binds.map(({ port }) => port).join(',');
  }
}

function nameOf(source: GatewayOptions['source']): string {
  if ('stream' in source) return `Gateway ${source.stream.gateway}`;
  return 'file' in source ? source.file : '<inline>';
}
