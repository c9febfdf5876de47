import { asGatewayError, GatewayError } from '../../errors.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import { isOverNetwork, isResumable, isRevivable } from '../targets/facts.ts';
import { principalMark, sameMark, serverMark, severalServers, type CarriedState } from './carriedState.ts';
import type { Caller } from '../contract.ts';
import type { Session } from './session.ts';
import type { SessionSeal, SessionTicket } from './sessionId.ts';
import type { ResumptionOutcome } from './mcpMetrics.ts';

export interface ResumptionOptions {
  readonly seal: SessionSeal;
  /** The time after its beginning in which a session may be resumed, in milliseconds; 0: never. */
  readonly resumableMs: number;
  readonly now: () => number;
  readonly mayOutlive: () => boolean;
  /** Sessions that ended here, by what is random in their ids. */
  readonly ended: { has(local: string): boolean; add(local: string): void };
  readonly onOutcome: (outcome: ResumptionOutcome) => void;
}

/** The one server that a session can be resumed with: children cannot move, and several are not told apart in an id. */
export function resumableTarget({ targets, pin }: McpBackend): McpTarget | undefined {
  // Another process would forward the lists as they come.
  if (pin !== undefined) return undefined;
  const [target, ...others] = targets;
  return target !== undefined && isResumable(target) && others.length === 0 ? target : undefined;
}

/** Can another gateway go on with a session by beginning anew at its servers? */
export function isRevivedAnew({ targets, stateless, pin }: McpBackend): boolean {
  if (stateless === true || !targets.every(isRevivable)) return false;
  // A single server over the network is asked whether it knows the session, unless its definitions are compared.
  return pin !== undefined || targets.length > 1 || targets.every((target) => !isOverNetwork(target));
}

/** Names the servers of sessions that begin anew. */
export function serversMark({ targets: [first, ...others] }: McpBackend): Buffer {
  return first === undefined || others.length > 0 ? severalServers : serverMark(first);
}

/** Seconds a client is asked to wait when the server of its session cannot be asked. */
const retryAfter = 1;

/** The means to go on with a session of another process: the server that knows it, or what its servers need to begin anew. */
export type Claim =
  | { readonly carried: CarriedState; readonly target: McpTarget; readonly initialize?: never }
  | { readonly carried: CarriedState; readonly initialize: string; readonly target?: never };

/** Sessions that other processes have begun, on their way into this one. */
export class Resumption {
  private readonly options: ResumptionOptions;
  /** By their ids: requests that come meanwhile wait for the same. */
  private readonly pending = new Map<
    string,
    { readonly session: Session; readonly ready: Promise<Session> }
  >();

  constructor(options: ResumptionOptions) {
    this.options = options;
  }

  get size(): number {
    return this.pending.size;
  }

  /** Sessions on their way. */
  *[Symbol.iterator](): Iterator<Session> {
    for (const { session } of this.pending.values()) yield session;
  }

  /** The resumption that is under way already. */
  underWay(id: string): Promise<Session> | undefined {
    return this.pending.get(id)?.ready;
  }

  /** With what a session can go on here for this caller, as far as can be told without its server; or why it cannot. */
  claim(
    ticket: SessionTicket,
    settings: McpBackend,
    { principal }: Pick<Caller, 'principal'>,
  ): Claim | string {
    const { seal, resumableMs, now, mayOutlive, ended } = this.options;
    const { carried, owner, local } = ticket;
    if (!seal.isOf(ticket, settings.key)) return 'the session belongs to another backend';
    if (carried === undefined || resumableMs === 0) return 'ended';
    if (!sameMark(carried.principal, principalMark(principal)))
      return 'the session belongs to another caller';
    // A session that began here and is not here any more has ended, unless other processes may hold it.
    if (ended.has(local) || (owner === seal.owner && !mayOutlive())) return 'ended';
    if (now() - carried.beganAt >= resumableMs) return 'the session began too long ago to be resumed';
    if (carried.initialize !== undefined) {
      if (!isRevivedAnew(settings)) return 'a target keeps state of its own: the session cannot begin anew';
      return sameMark(carried.server, serversMark(settings))
        ? { carried, initialize: carried.initialize }
        : 'the session is with other servers than those of the backend now';
    }
    const target = resumableTarget(settings);
    if (target === undefined || !sameMark(carried.server, serverMark(target)))
      return 'the session is with another server than the one of the backend now';
    return { target, carried };
  }

  /**
   * Asks the server whether it knows the session still. The promise rejects with a GatewayError: mcp_session_unknown,
   * mcp_resume_failed.
   * @param takeUp asks
   * @param take runs when it does
   */
  begin(session: Session, local: string, takeUp: Promise<void>, take: () => void): Promise<Session> {
    const ready = this.finish(session, local, takeUp, take);
    this.pending.set(session.id, { session, ready });
    return ready;
  }

  private async finish(
    session: Session,
    local: string,
    takeUp: Promise<void>,
    take: () => void,
  ): Promise<Session> {
    const { onOutcome, ended } = this.options;
    try {
      await takeUp;
      // Another gateway may have ended it meanwhile.
      if (ended.has(local)) throw new GatewayError('mcp_session_unknown', { detail: 'ended meanwhile' });
      // Its backend may have gone, or the gateway may be about to.
      if (session.ended) throw new GatewayError('mcp_target_failed', { message: 'it was left meanwhile' });
      take();
      session.log.info('Session resumed');
      onOutcome('resumed');
      return session;
    } catch (error) {
      session.leave();
      const { code, message, detail } = asGatewayError(error);
      if (code === 'mcp_session_unknown') {
        ended.add(local);
        onOutcome('unknown');
        throw error;
      }
      onOutcome('failed');
      session.log.warn('Session could not be resumed', { reason: message, detail });
      throw new GatewayError('mcp_resume_failed', { detail: message, retryAfter });
    } finally {
      this.pending.delete(session.id);
    }
  }
}
