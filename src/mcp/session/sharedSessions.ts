import { GatewayError } from '../../errors.ts';
import { principalMark, sameMark } from './carriedState.ts';
import type { DetachedSessions } from './detachedSessions.ts';
import type { EndedSessions } from './endedSessions.ts';
import type { OtherGateways } from './otherGateways.ts';
import type { Session } from './session.ts';
import type { SessionSeal } from './sessionId.ts';
import type { TransientMap } from '../limits/transientMap.ts';

export interface SharedSessionsOptions {
  readonly others: OtherGateways;
  readonly seal: SessionSeal;
  /** The live sessions of this process, by their ids. */
  readonly live: Pick<TransientMap<string, Session>, 'get' | 'values'>;
  readonly ended: EndedSessions;
  readonly detached: DetachedSessions;
}

export function unknown(detail: string): GatewayError {
  return new GatewayError('mcp_session_unknown', { detail });
}

/** The live sessions of this process, as other gateways with the same key and store affect them. */
export class SharedSessions {
  private readonly options: SharedSessionsOptions;
  /** The connection to the store over which live sessions were last looked up. */
  private lookedUpBy = 0;

  constructor(options: SharedSessionsOptions) {
    this.options = options;
    options.others.listen({
      cancelled: (id, principal, notification) =>
        this.heldFor(id, principal)?.notify(notification, undefined),
      ended: (id, principal) => this.endedElsewhere(id, principal),
    });
  }

  /** From now on other gateways can read the events of the session. */
  keepEvents(session: Session): void {
    const events = this.options.others.eventsOf(session);
    if (events !== undefined) session.streams.keepElsewhere(events);
  }

  /**
   * Resolves when no other gateway has ended the session.
   * @throws GatewayError mcp_session_unknown, StoreError (by the promise)
   */
  async check(id: string): Promise<void> {
    const ended = await this.options.others.endedAmong([id]);
    if (ended.includes(id)) throw unknown('the session was ended at another gateway');
  }

  /**
   * The same for a session whose server is asked, too: the server decides while the store does not answer.
   * @throws GatewayError mcp_session_unknown (by the promise)
   */
  async checkLenient(id: string): Promise<void> {
    await this.check(id).catch((error: unknown) => {
      if (error instanceof GatewayError) throw error;
    });
  }

  /** Every few seconds. */
  tick(): void {
    const { others } = this.options;
    others.tick();
    if (others.connection !== 0 && others.connection !== this.lookedUpBy) void this.lookUp(others.connection);
  }

  /** Ends what other gateways have ended while the store could not be reached. */
  private async lookUp(connection: number): Promise<void> {
    const { others, live } = this.options;
    this.lookedUpBy = connection;
    const ids = live.values().flatMap(({ continuable, id }) => (continuable ? [id] : []));
    try {
      for (const id of await others.endedAmong(ids)) {
        const session = live.get(id);
        if (session !== undefined) this.endedElsewhere(id, principalMark(session.principal));
      }
    } catch {
      this.lookedUpBy = 0;
    }
  }

  /** The live session with this id, if the principal is its owner. */
  private heldFor(id: string, principal: Buffer): Session | undefined {
    const session = this.options.live.get(id);
    const isOwner = session !== undefined && sameMark(principalMark(session.principal), principal);
    return isOwner ? session : undefined;
  }

  /** The session was ended at another gateway, which has told the servers that both have. */
  private endedElsewhere(id: string, principal: Buffer): void {
    const { seal, ended, detached } = this.options;
    const ticket = seal.open(id);
    if (ticket?.carried === undefined || !sameMark(ticket.carried.principal, principal)) return;
    ended.add(ticket.local);
    detached.forget(id);
    const session = this.heldFor(id, principal);
    session?.log.info('Session ended at another gateway');
    session?.leave();
  }
}
