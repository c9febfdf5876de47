import { GatewayError } from '../errors.ts';
import type { Limits, McpBackend, McpTarget, RemoteTarget } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Caller } from './contract.ts';
import { principalMark, serverMark } from './carriedState.ts';
import { EndedSessions } from './endedSessions.ts';
import { LeftSessions } from './leftSessions.ts';
import { resumableTarget, Resumption, type ResumptionOutcome } from './resumption.ts';
import { Session } from './session.ts';
import { sessionLabel, type SessionSeal, type SessionTicket } from './sessionId.ts';
import type { TargetConnection, TargetPlace } from './target.ts';

export interface SessionsOptions {
  readonly seal: SessionSeal;
  readonly ttlMs: number;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly now: () => number;
  /** Is there no room for one more target process? */
  readonly full: () => boolean;
  readonly connect: (target: McpTarget, session: Session, caller: Caller) => TargetConnection;
  /** The same for a session that another process began. */
  readonly takeUp: (
    target: RemoteTarget,
    session: Session,
    caller: Caller,
    place: TargetPlace,
  ) => { readonly connection: TargetConnection; readonly ready: Promise<void> };
  /** How long after its beginning a session may be resumed by another process, in milliseconds; 0: never. */
  readonly resumableMs: number;
  /** May others open ids with our key, when this process has ended too? */
  readonly lasting: () => boolean;
  /** May others open ids with our key while this process runs? */
  readonly alone: () => boolean;
  readonly onResumption: (outcome: ResumptionOutcome) => void;
}

/** What a target gets to leave when its session ends by itself, in milliseconds. */
const endGraceMs = 3_000;
/** Seconds a client is asked to wait when there is no room. */
const retryAfter = 5;

/** The live sessions: found by id, owner and backend; counted; ended when nobody uses them. */
export class Sessions {
  private readonly options: SessionsOptions;
  private readonly live = new Map<string, Session>();
  /** Sessions whose targets are still on their way out. */
  private readonly ending = new Set<Promise<void>>();
  private readonly ended = new EndedSessions();
  private readonly left = new LeftSessions();
  private readonly resumption: Resumption;
  private closing = false;

  constructor(options: SessionsOptions) {
    this.options = options;
    const { ended } = this;
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

  /** @throws GatewayError mcp_overloaded, shutting_down, policy_failed */
  open(settings: McpBackend, caller: Caller): Session {
    const { options } = this;
    this.checkRoom();
    if (options.full() && settings.targets.some(({ kind }) => kind === 'stdio'))
      throw new GatewayError('mcp_overloaded', { retryAfter, detail: 'limits.maxChildren' });
    const id = options.seal.seal(settings.key);
    const session = this.make(id, options.seal.open(id)!, settings, caller);
    for (const target of settings.targets)
      session.targets.set(target.name, options.connect(target, session, caller));
    this.live.set(session.id, session);
    return session;
  }

  /** Gives a session that has begun the id by which others can go on with it, where there is one. */
  carry(session: Session, settings: McpBackend): void {
    const { seal, resumableMs } = this.options;
    const target = resumableTarget(settings);
    const place = target && session.targets.get(target.name)?.place;
    if (target === undefined || place === undefined || resumableMs === 0) return;
    const id = seal.sealCarrying(session.id, settings.key, {
      ...place,
      beganAt: session.createdAt,
      principal: principalMark(session.principal),
      server: serverMark(target),
    });
    if (id === undefined) return;
    this.live.delete(session.id);
    session.carry(id);
    this.live.set(id, session);
  }

  /**
   * The session with this id; later, where another process began it and its server has to be asked. An id that was made
   * up, one of another backend and one of another caller are the same to the client: unknown. The log knows the
   * difference.
   * @throws GatewayError mcp_session_unknown, mcp_overloaded, shutting_down, policy_failed; a promise rejects with them
   *   and with mcp_resume_failed
   */
  find(id: string, settings: McpBackend, caller: Caller): Session | Promise<Session> {
    const session = this.live.get(id);
    if (session === undefined) return this.resume(id, settings, caller);
    if (session.backendKey !== settings.key) throw unknown('the session belongs to another backend');
    if (session.principal !== caller.principal) throw unknown('the session belongs to another caller');
    return session;
  }

  private resume(id: string, settings: McpBackend, caller: Caller): Promise<Session> {
    const ticket = this.options.seal.open(id);
    if (ticket === undefined) throw unknown('not an id of ours');
    const claim = this.resumption.claim(ticket, settings, caller);
    if (typeof claim === 'string') throw unknown(claim);
    const { target, carried } = claim;
    const underWay = this.resumption.underWay(id);
    if (underWay !== undefined) return underWay;
    this.checkRoom();
    const session = this.make(id, ticket, settings, caller, carried.beganAt);
    session.agree(carried.version);
    const { connection, ready } = this.options.takeUp(target, session, caller, carried);
    session.targets.set(target.name, connection);
    return this.resumption.begin(session, ticket.local, ready, () => {
      this.left.forget(id);
      this.live.set(id, session);
    });
  }

  private make(
    id: string,
    ticket: SessionTicket,
    settings: McpBackend,
    caller: Caller,
    resumedFrom?: number,
  ): Session {
    const { log, now, lasting } = this.options;
    return new Session({
      id,
      label: sessionLabel(ticket),
      backendKey: settings.key,
      principal: caller.principal,
      log: log.child({ backend: settings.key }),
      now,
      lasting,
      ...(resumedFrom === undefined ? {} : { resumedFrom }),
      onEnd: (ended) => this.live.delete(ended.id),
      onGone: () => this.ended.add(ticket.local),
    });
  }

  private checkRoom(): void {
    if (this.closing) throw new GatewayError('shutting_down');
    if (this.live.size + this.resumption.size >= this.options.limits().maxMcpSessions)
      throw new GatewayError('mcp_overloaded', { retryAfter, detail: 'limits.maxMcpSessions' });
  }

  /**
   * The client ends its session. Resolves (never rejects) when the client may be told so: whoever goes by the id after
   * that, wherever it may be, has to find it ended.
   * @param graceMs what the targets get to leave, in milliseconds
   */
  async quit(session: Session, graceMs: number): Promise<void> {
    const ticket = this.options.seal.open(session.id);
    if (ticket?.carried !== undefined) this.ended.add(ticket.local);
    const { shared } = session;
    const ending = this.end(session, graceMs);
    if (shared) await ending;
  }

  /** Ends the sessions of backends that are no more. */
  retire(liveKeys: ReadonlySet<string>): void {
    this.left.retire(liveKeys);
    for (const session of [...this.resumption]) if (!liveKeys.has(session.backendKey)) session.leave();
    for (const session of [...this.live.values()])
      if (!liveKeys.has(session.backendKey)) void this.end(session, endGraceMs);
  }

  /** Every few seconds, `clock` being `performance.now()`: keep-alives, and the end of sessions that nobody used for the idle time. */
  tick(clock: number): void {
    const now = this.options.now();
    this.left.tick(now);
    for (const session of [...this.live.values()]) {
      session.tick(clock);
      if (now - session.lastUsedAt < this.options.ttlMs) continue;
      if (session.attached) session.touch();
      else {
        session.log.debug('the session was idle for its time to live');
        if (session.shared && !this.options.alone()) this.leave(session);
        else void this.end(session, endGraceMs);
      }
    }
  }

  /** Ends every session and waits for their targets; those that others can go on with end here only. */
  async close(graceMs: number): Promise<void> {
    this.closing = true;
    for (const session of [...this.resumption]) session.leave();
    const lasting = this.options.lasting();
    for (const session of [...this.live.values()]) {
      if (session.shared && lasting) session.leave();
      else void this.end(session, graceMs);
    }
    await Promise.all([...this.ending, lasting ? undefined : this.left.endAll()]);
  }

  private end(session: Session, graceMs: number): Promise<void> {
    const ending = session.end(graceMs);
    this.ending.add(ending);
    void ending.then(() => this.ending.delete(ending));
    return ending;
  }

  /** Nobody uses it here; it goes on where it is used, and ends at its server when nobody can take it up any more. */
  private leave(session: Session): void {
    const { id, backendKey, createdAt } = session;
    this.left.add(id, { backendKey, until: createdAt + this.options.resumableMs, end: session.leave() });
  }
}

function unknown(detail: string): GatewayError {
  return new GatewayError('mcp_session_unknown', { detail });
}
