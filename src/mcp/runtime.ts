import type { Limits, McpBackend, McpTarget } from '../model/index.ts';
import type { Logger, Metrics } from '../telemetry/index.ts';
import { createBudgets, type Budgets } from './limits/budgets.ts';
import { StreamableHttp, type McpHandler } from './serve/handler.ts';
import type { SseStream } from './serve/sseStream.ts';
import type { CallerWays } from './contract.ts';
import { McpMetrics } from './session/mcpMetrics.ts';
import { Circuits, type OpenCircuit } from './federation/circuits.ts';
import { Federation } from './federation/federation.ts';
import { PinGuard } from './federation/pinGuard.ts';
import type { PinStore } from '../pins/index.ts';
import type { Store } from '../store/index.ts';
import { NameOwners, type HiddenItem } from './federation/nameOwners.ts';
import type { Session, SessionView } from './session/session.ts';
import { OtherGateways } from './session/otherGateways.ts';
import { SessionSeal } from './session/sessionId.ts';
import { Sessions } from './session/sessions.ts';
import { TargetStarts, type FailedStart } from './session/targetStarts.ts';
import { defaultRestart } from './targets/conversation/backoff.ts';
import { HeldSessions } from './modern/heldSessions.ts';
import { Targets } from './targets/index.ts';
import type { RestartPolicy, TargetUse } from './targets/kind/targetRuntime.ts';

export interface McpRuntimeOptions {
  /** 64 hex digits; absent: a random key, and session ids die with the process. */
  readonly sessionKey?: string;
  /** The pinned definitions. */
  readonly pins?: PinStore;
  /** Backends are compiled and not served, so a backend with pins needs none. */
  readonly servesNothing?: true;
  /** The store that replicas share. */
  readonly store?: Store;
  /** The version of this program, as clients of several targets see it. */
  readonly version?: string;
  /** Names this process in session ids: 16 hex digits, random unless given. */
  readonly owner?: string;
  /**
   * The others that can open session ids: workers beside this process, or any holder of the key, also later; none
   * unless given.
   */
  readonly keyHolders?: 'workers' | 'others';
  /** Idle time after which a session ends, in milliseconds. */
  readonly sessionTtlMs: number;
  /** The time after its beginning in which another process may resume a session, in milliseconds; 0: never. */
  readonly sessionResumableMs: number;
  /** Asked whenever a limit applies, so that a reload takes effect at once. */
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Names of environment variables that hold secrets of the gateway: children never inherit them. May grow. */
  readonly secrets: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Set where only one client reaches this process. */
  readonly soleClient?: boolean;
  readonly restart?: RestartPolicy;
  /** Hears of every process group of a child, by the id of its leader: when it is there, and when nothing is left. */
  readonly onGroup?: (leader: number, alive: boolean) => void;
}

export interface McpView {
  readonly sessions: readonly SessionView[];
  /** Child processes, those on their way out included. */
  readonly children: number;
  /** Items that no client can reach, because an item of another target has their name. */
  readonly hidden: readonly HiddenItem[];
  /** Targets that new sessions of some caller do not try for a while. */
  readonly circuits: readonly OpenCircuit[];
  /** Targets whose last start failed. */
  readonly failedStarts: readonly FailedStart[];
}

/**
 * The use of a target by a session, for the caller that the session begins or goes on with. The connection keeps only
 * two functions of the caller, which would keep its whole request alive.
 */
const useOf = ({ name }: McpTarget, session: Session, { reach, environment }: CallerWays): TargetUse => ({
  session,
  log: session.log.child({ target: name }),
  reach: () => {
    const found = reach?.(name);
    if (found === undefined) throw new Error('the target has no compiled destination');
    return found;
  },
  environment: () => environment?.(name),
});

/** Period of the one timer of this room, in milliseconds. */
const tickMs = 5_000;

/**
 * MCP sessions and the servers behind them. One per process: it outlives snapshots, so that a reload of the
 * configuration does not end what is in use.
 */
export class McpRuntime {
  private readonly options: McpRuntimeOptions;
  private readonly budgets: Budgets;
  private readonly owners: NameOwners;
  private readonly circuits: Circuits;
  private readonly starts: TargetStarts;
  private readonly targets: Targets;
  private readonly sessions: Sessions;
  private readonly sseStreams = new Map<Session, SseStream>();
  private readonly held: HeldSessions;
  private readonly seal: SessionSeal;
  private readonly others: OtherGateways | undefined;
  private readonly mcpMetrics: McpMetrics;
  private readonly pins: PinGuard | undefined;
  private readonly timer: NodeJS.Timeout;
  private handedOver = false;

  constructor(options: McpRuntimeOptions) {
    this.options = options;
    const { limits, metrics } = options;
    const now = options.now ?? Date.now;
    const budgets = createBudgets(limits, options.log);
    const targets = new Targets({
      limits,
      log: options.log,
      metrics,
      now,
      restart: options.restart ?? defaultRestart,
      children: budgets.children,
      secrets: options.secrets,
      version: options.version ?? '0',
      idleMs: options.sessionTtlMs,
      ...(options.onGroup && { onGroup: options.onGroup }),
      onReplaced: (name) => this.mcpMetrics.replaced(name),
      onRestart: (name) => this.mcpMetrics.restarted(name),
      onRestartFailed: (name) => this.mcpMetrics.targetFailed(name),
      onTaken: (name) => this.mcpMetrics.taken(name),
    });
    const circuits = new Circuits(now);
    const starts = new TargetStarts(now, (name) => this.mcpMetrics.targetFailed(name));
    const owners = new NameOwners(options.log, ({ target }) => this.mcpMetrics.hidden(target));
    const pins =
      options.pins === undefined
        ? undefined
        : new PinGuard(options.pins, options.log, (target) => this.mcpMetrics.changed(target));
    const seal = new SessionSeal(options.sessionKey, options.owner);
    const others =
      options.store === undefined || options.keyHolders === undefined
        ? undefined
        : new OtherGateways({
            store: options.store,
            seal,
            eventsMs: options.sessionTtlMs,
            resumableMs: options.sessionResumableMs,
            log: options.log,
            now,
            metrics: () => this.mcpMetrics,
          });
    const sessions = new Sessions({
      seal,
      others,
      ttlMs: options.sessionTtlMs,
      limits,
      log: options.log,
      now,
      budget: budgets.sessions,
      connect: (target, session, caller) => targets.connect(target, useOf(target, session, caller)),
      federate: (session, settings, caller) =>
        new Federation(
          {
            session,
            settings,
            circuits,
            owners,
            pins,
            onStart: (target, failure) => starts.note(session.backendKey, target, failure),
            connect: (target, of) => targets.connect(target, useOf(target, session, of)),
          },
          caller,
        ),
      resumeAt: (target, session, caller, place) =>
        targets.takeUp(target, useOf(target, session, caller), place),
      resumableMs: options.sessionResumableMs,
      mayOutlive: () => this.mayOutlive,
      isOnlyHolder: () => !this.mayOutlive && options.keyHolders === undefined,
      onResumption: (outcome) => this.mcpMetrics.resumption(outcome),
    });
    this.budgets = budgets;
    this.pins = pins;
    this.owners = owners;
    this.circuits = circuits;
    this.starts = starts;
    this.targets = targets;
    this.sessions = sessions;
    this.held = new HeldSessions({
      sessions,
      seal,
      now,
      version: options.version ?? '0',
      starts,
      soleClient: options.soleClient,
    });
    this.seal = seal;
    this.others = others;
    this.mcpMetrics = new McpMetrics(metrics, {
      sessions: () => sessions.size,
      children: () => targets.children,
      targets: () => [...sessions].flatMap((session) => session.targetViews()),
    });
    this.timer = setInterval(() => this.tick(), tickMs).unref();
  }

  /** A handler for one backend; cheap. Sessions are kept by `settings.key`, so the next snapshot finds them. */
  backend(settings: McpBackend): McpHandler {
    // Served without its pins, it would show definitions that have changed.
    if (settings.pin !== undefined && this.pins === undefined && this.options.servesNothing !== true)
      throw new Error('pin: needs config.mcp.pins or config.store');
    const { sessions, held, sseStreams, mcpMetrics, budgets, starts } = this;
    const { limits, now = Date.now, version = '0' } = this.options;
    return new StreamableHttp({
      settings,
      sessions,
      held,
      sseStreams,
      mcpMetrics,
      starts,
      budgets,
      limits,
      now,
      version,
    });
  }

  /** Another program goes on with the key of this one: sessions that it can take up are left to it. */
  handOver(): void {
    this.handedOver = true;
  }

  private get mayOutlive(): boolean {
    return this.handedOver || this.options.keyHolders === 'others';
  }

  /** The process that holds a session, where it is another one than this; undefined for what is no id of ours, too. */
  ownerElsewhere(id: string): string | undefined {
    if (this.sessions.has(id)) return undefined;
    const owner = this.seal.open(id)?.owner;
    return owner === this.seal.owner ? undefined : owner;
  }

  /** Could any process that has the key go on with this session? */
  isMovable(id: string): boolean {
    return this.seal.open(id)?.carried !== undefined;
  }

  /** After a reload: ends the sessions of backends whose key is not in the set. */
  retire(liveKeys: ReadonlySet<string>): void {
    this.sessions.retire(liveKeys);
    this.targets.retire(liveKeys);
    this.owners.ofBackends.retire(liveKeys);
    this.starts.retire(liveKeys);
  }

  /** An operator ends a session for good. @returns false where no live session has the label */
  endSession(label: string): Promise<boolean> {
    return this.sessions.endLabelled(label);
  }

  /** Runs every five seconds: keep-alives, idle sessions, streams that are not read, approved pins. */
  tick(clock: number = performance.now()): void {
    this.sessions.tick(clock);
    this.held.tick();
    if (this.pins !== undefined && this.sessions.enforcePins) void this.followApprovals(this.pins);
  }

  private async followApprovals(pins: PinGuard): Promise<void> {
    if (await pins.hasNews()) this.sessions.pinsApproved();
  }

  view(): McpView {
    return {
      sessions: [...this.sessions].map((session) => session.view()),
      children: this.targets.children,
      hidden: [...this.owners.all],
      circuits: this.circuits.all,
      failedStarts: [...this.starts.all],
    };
  }

  /** The gateway is about to end: streams that only wait for news end now; calls in flight go on. */
  drain(): void {
    for (const session of this.sessions) session.streams.close();
  }

  /**
   * Ends every session. Children get their stdin closed, SIGTERM and at last, `graceMs` after the call, SIGKILL,
   * each for the whole process group. Resolves (never rejects) when no process is left.
   */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.timer);
    await this.sessions.close(graceMs);
    await this.others?.close();
    await this.targets.close(graceMs);
  }
}
