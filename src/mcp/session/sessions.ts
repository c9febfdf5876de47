import { GatewayError } from '../../errors.ts';
import type { Limits, McpBackend, McpTarget } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { firstToEvict, type Budget } from '../limits/budget.ts';
import { holderOf } from '../limits/budgets.ts';
import type { Caller } from '../contract.ts';
import { principalMark } from './carriedState.ts';
import { EndedSessions } from './endedSessions.ts';
import { RetainedMemory, RetainedMemoryPool } from '../limits/retainedMemory.ts';
import { DetachedSessions } from './detachedSessions.ts';
import { Resumption } from './resumption.ts';
import { placeOf, revive } from './revival.ts';
import { SharedSessions, unknown } from './sharedSessions.ts';
import type { SessionFederation } from './sessionFederation.ts';
import { endGraceMs, Session, type SessionStart } from './session.ts';
import type { Era } from '../messages/eras.ts';
import { isUntold, sessionLabel, untoldId, type SessionSeal, type SessionTicket } from './sessionId.ts';
import type { Envelope } from '../json/envelope.ts';
import type { OtherGateways } from './otherGateways.ts';
import type { TargetConnection, TargetPlace } from '../targets/kind/target.ts';
import type { TakenUp } from '../targets/kind/targetRuntime.ts';
import { TaskRegistry } from './taskRegistry.ts';
import { TransientMap } from '../limits/transientMap.ts';
import type { ResumptionOutcome } from './mcpMetrics.ts';

export interface SessionsOptions {
  readonly seal: SessionSeal;
  readonly ttlMs: number;
  readonly limits: () => Limits;
  readonly budget: Budget;
  readonly log: Logger;
  readonly now: () => number;
  readonly connect: (target: McpTarget, session: Session, caller: Caller) => TargetConnection;
  /** The targets of a session that has several; nothing is started yet. */
  readonly federate: (session: Session, settings: McpBackend, caller: Caller) => SessionFederation;
  /** The same for a session that another process began. */
  readonly resumeAt: (target: McpTarget, session: Session, caller: Caller, place: TargetPlace) => TakenUp;
  /** The time after its beginning in which another process may resume a session, in milliseconds; 0: never. */
  readonly resumableMs: number;
  /** May others open ids with our key, when this process has ended too? */
  readonly mayOutlive: () => boolean;
  /** May others open ids with our key while this process runs? */
  readonly isOnlyHolder: () => boolean;
  readonly onResumption: (outcome: ResumptionOutcome) => void;
  /** Absent: there is no store, or no other gateway has the key. */
  readonly others?: OtherGateways | undefined;
}

/** A session by its id, and in logs. */
interface SessionNames {
  readonly id: string;
  readonly label: string;
  /** Remembers that the session has ended. Absent: no client could come back to it. */
  readonly onGone?: () => void;
}

/**
 * Makes the connection of a session. The session ends where its caller lacks a credential or a value, and gives its place
 * back.
 * @throws GatewayError policy_failed
 */
function orEnd<Made>(session: Session, connect: () => Made): Made {
  try {
    return connect();
  } catch (error) {
    void session.end(0);
    throw error;
  }
}

/** The live sessions: found by id, owner and backend; counted; ended when nobody uses them. */
export class Sessions {
  private readonly options: SessionsOptions;
  private readonly live = new TransientMap<string, Session>();
  /** Sessions whose targets are still on their way out. */
  private readonly ending = new TransientMap<Promise<void>, true>();
  private readonly ended = new EndedSessions();
  private readonly detached = new DetachedSessions();
  private readonly tasks: TaskRegistry;
  private readonly resumption: Resumption;
  private readonly retained = new RetainedMemoryPool();
  private closing = false;
  private readonly shared: SharedSessions | undefined;

  constructor(options: SessionsOptions) {
    this.options = options;
    const { ended, live, detached } = this;
    const { others, seal } = options;
    this.shared = others && new SharedSessions({ others, seal, live, ended, detached });
    this.tasks = new TaskRegistry(options.seal);
    this.resumption = new Resumption({ ...options, ended, onOutcome: options.onResumption });
  }

  get size(): number {
    return this.live.size;
  }

  has(id: string): boolean {
    return this.live.has(id);
  }

  *[Symbol.iterator](): Iterator<Session> {
    yield* this.live.values();
  }

  /** @throws GatewayError mcp_budget_full, mcp_overloaded, shutting_down, policy_failed */
  open(settings: McpBackend, caller: Caller, era: Era = 'legacy'): Session {
    const { options } = this;
    this.makeRoom(caller);
    // The client gets no id: the session ends with its request, or serves a client of the modern era.
    const knowsNoId = era === 'modern' || settings.stateless === true;
    const session = knowsNoId
      ? this.make(untoldId(), settings, caller, { era })
      : this.make(this.told(options.seal.begin(settings.key)), settings, caller, { era });
    if (settings.targets.length > 1 || settings.stateless === true || settings.pin !== undefined)
      session.federation = options.federate(session, settings, caller);
    else
      for (const target of settings.targets)
        session.targets.add(
          target,
          orEnd(session, () => options.connect(target, session, caller)),
        );
    this.live.set(session.id, session);
    return session;
  }

  /** Gives a session with one target the means to have several, or pins, where the configuration has them by now. */
  extend(session: Session, settings: McpBackend, caller: Caller): void {
    const { opening, federation } = session;
    if (settings.targets.length < 2 && settings.pin === undefined) return;
    if (federation !== undefined || opening === undefined) return;
    const connection = session.targets.first;
    const target = connection && session.targets.targetIn(connection, settings);
    if (connection === undefined || target === undefined) return;
    const extended = this.options.federate(session, settings, caller);
    extended.adopt(opening.request, opening.response, connection, target);
    session.federation = extended;
    session.opening = undefined;
  }

  /** Gives a session that has begun the id by which others can go on with it, where there is one. */
  carry(session: Session, settings: McpBackend, initialize: Envelope): void {
    const { seal, resumableMs } = this.options;
    const place = resumableMs === 0 ? undefined : placeOf(session, settings, initialize);
    if (place === undefined) return;
    const id = seal.sealCarrying(session.id, settings.key, {
      ...place,
      beganAt: session.createdAt,
      principal: principalMark(session.principal),
    });
    if (id === undefined) return;
    this.live.delete(session.id);
    if (place.initialize === undefined) session.makeResumable(id);
    else session.makeRevivable(id);
    this.live.set(id, session);
    this.shared?.keepEvents(session);
  }

  /** The client takes back a request that no call here has: the call may be at another gateway. */
  cancelElsewhere(session: Session, notification: Envelope): void {
    if (session.continuable) this.options.others?.cancel(session, notification);
  }

  /**
   * The session with this id; later, where another process began it and its server has to be asked. An id that was made
   * up, one of another backend and one of another caller are the same to the client: unknown. The log knows the
   * difference.
   * @throws GatewayError mcp_session_unknown, mcp_budget_full, mcp_overloaded, shutting_down, policy_failed; a promise
   *   rejects with them and with mcp_resume_failed
   */
  find(id: string, settings: McpBackend, caller: Caller): Session | Promise<Session> {
    const session = this.live.get(id);
    if (session === undefined) return this.resume(id, settings, caller);
    if (session.backendKey !== settings.key) throw unknown('the session belongs to another backend');
    if (session.principal !== caller.principal) throw unknown('the session belongs to another caller');
    return session;
  }

  /** Is there a live session of the caller with this id? */
  holds(id: string, settings: McpBackend, { principal }: Caller): boolean {
    const session = this.live.get(id);
    return session?.backendKey === settings.key && session.principal === principal && !session.ended;
  }

  private resume(id: string, settings: McpBackend, caller: Caller): Promise<Session> {
    const ticket = this.options.seal.open(id);
    if (ticket === undefined) throw unknown('not an id of ours');
    const claim = this.resumption.claim(ticket, settings, caller);
    if (typeof claim === 'string') throw unknown(claim);
    const { target, carried, initialize } = claim;
    const underWay = this.resumption.underWay(id);
    if (underWay !== undefined) return underWay;
    this.makeRoom(caller);
    const session = this.make(this.told({ id, ticket }), settings, caller, {
      resumedFrom: carried.beganAt,
      revivable: initialize !== undefined,
    });
    session.agree(carried.version);
    if (initialize !== undefined) {
      this.shared?.keepEvents(session);
      const { shared } = this;
      const check = shared && ((named: string) => shared.check(named));
      const revived = revive({ session, settings, caller, initialize }, { ...this.options, check });
      return this.resumption.begin(session, ticket.local, revived, () => this.live.set(id, session));
    }
    const { connection, ready } = orEnd(session, () =>
      this.options.resumeAt(target, session, caller, carried),
    );
    session.targets.add(target, connection);
    this.shared?.keepEvents(session);
    const both = Promise.all([ready, this.shared?.checkLenient(id)]).then(() => undefined);
    return this.resumption.begin(session, ticket.local, both, () => {
      this.detached.forget(id);
      this.live.set(id, session);
    });
  }

  /** The names of a session whose client has its id. */
  private told({ id, ticket }: { readonly id: string; readonly ticket: SessionTicket }): SessionNames {
    return { id, label: sessionLabel(ticket), onGone: () => this.ended.add(ticket.local) };
  }

  private make(
    { id, label, onGone }: SessionNames,
    settings: McpBackend,
    caller: Caller,
    more: Pick<SessionStart, 'era' | 'resumedFrom' | 'revivable'>,
  ): Session {
    const { log, now, mayOutlive, budget, limits } = this.options;
    return new Session({
      id,
      label,
      backendKey: settings.key,
      principal: caller.principal,
      tasks: this.tasks,
      tally: budget.enter(holderOf(caller)),
      keep: new RetainedMemory(this.retained, holderOf(caller)),
      graceMs: () => limits().mcpSessionGraceMs,
      log,
      now,
      mayOutlive,
      ...more,
      onEnd: (ended) => this.live.delete(ended.id),
      onGone: () => onGone?.(),
    });
  }

  /**
   * Sees to it that there is room for one more session of the caller: where a budget is full, an idle session ends.
   * @throws GatewayError mcp_budget_full, mcp_overloaded, shutting_down
   */
  private makeRoom(caller: Caller): void {
    if (this.closing) throw new GatewayError('shutting_down');
    const { budget } = this.options;
    const holder = holderOf(caller);
    const stop = budget.exceeded(holder);
    if (stop === undefined) return;
    const first = firstToEvict(this.idle(stop === 'each' ? holder : undefined), (one) => budget.of(one));
    if (first === undefined) throw budget.refusal(stop, holder);
    first.log.info('Idle session ended to make room', { limit: budget.nameOf(stop) });
    this.abandon(first);
  }

  /** Sessions that may give way. @param holder only those of this one */
  private *idle(holder: string | undefined): Iterable<Session> {
    for (const session of this.live.values())
      if ((holder === undefined || session.holder === holder) && session.idle) yield session;
  }

  /**
   * The client ends its session. Resolves (never rejects) when the client may be told so: whoever goes by the id after
   * that, wherever it may be, has to find it ended.
   * @param graceMs what the targets get to leave, in milliseconds
   */
  async endSession(session: Session, graceMs: number): Promise<void> {
    const ticket = isUntold(session.id) ? undefined : this.options.seal.open(session.id);
    if (ticket?.carried !== undefined) this.ended.add(ticket.local);
    const { shared, continuable, createdAt } = session;
    const told = continuable ? this.options.others?.end(session, createdAt) : undefined;
    const ending = this.end(session, graceMs);
    await Promise.all([shared ? ending : undefined, told]);
  }

  /**
   * An operator ends a session for good.
   * @returns false where no live session has the label
   */
  async endLabelled(label: string): Promise<boolean> {
    const found = this.live.values().filter((session) => session.label === label);
    await Promise.all(found.map((session) => this.endSession(session, endGraceMs)));
    return found.length > 0;
  }

  /** Gives up every call whose client has left. @param holder only in sessions of this one */
  dropAbandoned(holder: string | undefined): void {
    for (const session of this.live.values())
      if (holder === undefined || session.holder === holder) session.dropAbandoned();
  }

  /** Ends the sessions of backends that are no more. */
  retire(liveKeys: ReadonlySet<string>): void {
    this.detached.retire(liveKeys);
    for (const session of [...this.resumption]) if (!liveKeys.has(session.backendKey)) session.leave();
    for (const session of this.live.values())
      if (!liveKeys.has(session.backendKey)) void this.end(session, endGraceMs);
  }

  /** Does a session withhold changed definitions? */
  get enforcePins(): boolean {
    for (const { federation } of this.live.values()) if (federation?.enforcesPins === true) return true;
    return false;
  }

  /** Definitions that sessions withheld may have been approved. */
  pinsApproved(): void {
    for (const { federation } of this.live.values()) federation?.pinsApproved();
  }

  /** Every few seconds, `clock` being `performance.now()`: keep-alives, and the end of sessions that nobody used for the idle time. */
  tick(clock: number): void {
    const now = this.options.now();
    this.detached.tick(now);
    this.shared?.tick();
    for (const session of this.live.values()) {
      session.tick(clock);
      if (now - session.lastUsedAt < this.options.ttlMs) continue;
      if (session.attached) session.touch();
      else if (!(this.mayPark(session, now) && session.park())) {
        session.log.debug('Session expired');
        this.abandon(session);
      }
    }
  }

  /** A session of a client that has used it may come back, until it is too old. */
  private mayPark({ era, unused, createdAt }: Session, now: number): boolean {
    return era === 'legacy' && !unused && now - createdAt < this.options.resumableMs;
  }

  /** Ends a session that nobody uses here. */
  private abandon(session: Session): void {
    if (session.shared && !this.options.isOnlyHolder()) this.leave(session);
    else void this.end(session, endGraceMs);
  }

  /** Ends every session and waits for their targets; those that others can go on with end here only. */
  async close(graceMs: number): Promise<void> {
    this.closing = true;
    for (const session of [...this.resumption]) session.leave();
    const mayOutlive = this.options.mayOutlive();
    for (const session of this.live.values()) {
      if (session.shared && mayOutlive) session.leave();
      else void this.end(session, graceMs);
    }
    await Promise.all([...this.ending.keys(), mayOutlive ? undefined : this.detached.endAll()]);
  }

  private end(session: Session, graceMs: number): Promise<void> {
    const ending = session.end(graceMs);
    this.ending.set(ending, true);
    void ending.then(() => this.ending.delete(ending));
    return ending;
  }

  /**
   * Leaves a session that is idle here; it continues where it is used, and ends at its server when no process can
   * resume it any more.
   */
  private leave(session: Session): void {
    const { id, holder, backendKey, createdAt } = session;
    this.detached.add(id, {
      holder,
      backendKey,
      until: createdAt + this.options.resumableMs,
      end: session.leave(),
    });
  }
}
