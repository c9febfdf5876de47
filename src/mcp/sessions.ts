import { GatewayError } from '../errors.ts';
import type { Limits, McpBackend, McpTarget } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Caller } from './contract.ts';
import { Session } from './session.ts';
import type { SessionSeal } from './sessionId.ts';
import type { TargetConnection } from './target.ts';

export interface SessionsOptions {
  readonly seal: SessionSeal;
  readonly ttlMs: number;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly now: () => number;
  /** Is there no room for one more target process? */
  readonly full: () => boolean;
  readonly connect: (target: McpTarget, session: Session, caller: Caller) => TargetConnection;
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
  private closing = false;

  constructor(options: SessionsOptions) {
    this.options = options;
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
    if (this.closing) throw new GatewayError('shutting_down');
    if (this.live.size >= options.limits().maxMcpSessions)
      throw new GatewayError('mcp_overloaded', { retryAfter, detail: 'limits.maxMcpSessions' });
    if (options.full() && settings.targets.some(({ kind }) => kind === 'stdio'))
      throw new GatewayError('mcp_overloaded', { retryAfter, detail: 'limits.maxChildren' });
    const session = new Session({
      id: options.seal.seal(settings.key),
      backendKey: settings.key,
      principal: caller.principal,
      log: options.log.child({ backend: settings.key }),
      now: options.now,
      onEnd: (ended) => this.live.delete(ended.id),
    });
    for (const target of settings.targets)
      session.targets.set(target.name, options.connect(target, session, caller));
    this.live.set(session.id, session);
    return session;
  }

  /**
   * The session with this id. An id that was made up, one of another backend and one of another caller are the
   * same to the client: unknown. The log knows the difference.
   * @throws GatewayError mcp_session_unknown
   */
  find(id: string, backendKey: string, principal: string | undefined): Session {
    const session = this.live.get(id);
    if (session === undefined)
      throw unknown(this.options.seal.open(id) === undefined ? 'not an id of ours' : 'ended');
    if (session.backendKey !== backendKey) throw unknown('the session belongs to another backend');
    if (session.principal !== principal) throw unknown('the session belongs to another caller');
    return session;
  }

  /** Ends the sessions of backends that are no more. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const session of [...this.live.values()])
      if (!liveKeys.has(session.backendKey)) this.end(session, endGraceMs);
  }

  /** Every few seconds, `clock` being `performance.now()`: keep-alives, and the end of sessions that nobody used for the idle time. */
  tick(clock: number): void {
    const now = this.options.now();
    for (const session of [...this.live.values()]) {
      session.tick(clock);
      if (now - session.lastUsedAt < this.options.ttlMs) continue;
      if (session.attached) session.touch();
      else {
        session.log.debug('the session was idle for its time to live');
        this.end(session, endGraceMs);
      }
    }
  }

  /** Ends every session and waits for their targets. */
  async close(graceMs: number): Promise<void> {
    this.closing = true;
    for (const session of [...this.live.values()]) this.end(session, graceMs);
    await Promise.all(this.ending);
  }

  private end(session: Session, graceMs: number): void {
    const ending = session.end(graceMs);
    this.ending.add(ending);
    void ending.then(() => this.ending.delete(ending));
  }
}

function unknown(detail: string): GatewayError {
  return new GatewayError('mcp_session_unknown', { detail });
}
