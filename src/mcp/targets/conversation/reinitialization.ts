import type { GatewayError } from '../../../errors.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { CanSeeResource, Opening, TargetState } from '../kind/target.ts';
import type { RestartPolicy } from '../kind/targetRuntime.ts';
import { Backoff } from './backoff.ts';
import { agree, type PinnedSession } from './pinnedSession.ts';
import type { ServerTransport } from './serverTransport.ts';
import { SessionReplay } from './sessionReplay.ts';
import type { StartTimer } from './startTimer.ts';

/** The connection whose session it is. */
export interface ReinitializedConnection<Session extends PinnedSession> {
  session: Session;
  state: TargetState;
  /** A session that the server does not know yet. */
  newSession(): Session;
  /** Ends a session that could not be begun. */
  endSession(session: Session): void;
  /** The session is over, and what the server had asked in it is void. */
  down(): void;
  /** Another one begins. */
  again(): void;
  /** The server knows again what it was told. */
  up(): void;
  /** The server does not take the first request of the session again. */
  refused(opening: Opening): void;
  /** Tells the server that the client is initialized. @param then hears of it where the session is the same still */
  confirm(text: string, then: (error: GatewayError | undefined) => void): void;
  /** Calls that waited go now. */
  release(): void;
  /** May those who read the session's streams know of a resource? Undefined where nobody reads. */
  canSeeResource(): CanSeeResource | undefined;
}

export interface ReinitializationOptions {
  readonly keep: RetainedMemory;
  readonly restart: RestartPolicy;
  readonly log: Logger;
  readonly now: () => number;
  readonly onRestartFailed: (target: string) => void;
}

/** Reinitializes the session with a server that has lost it, and restores the state of the session there. */
export class Reinitialization<Session extends PinnedSession> {
  /** The state to restore at the server. */
  readonly replay: SessionReplay;
  restarts = 0;
  /** The last error of the server. */
  lastError: string | undefined;
  private readonly owner: ReinitializedConnection<Session>;
  private readonly transport: ServerTransport;
  private readonly timer: StartTimer;
  private readonly backoff: Backoff;
  private readonly log: Logger;
  private readonly onFailed: (target: string) => void;

  constructor(
    owner: ReinitializedConnection<Session>,
    transport: ServerTransport,
    timer: StartTimer,
    { restart, log, now, keep, onRestartFailed }: ReinitializationOptions,
  ) {
    this.replay = new SessionReplay(keep);
    this.owner = owner;
    this.transport = transport;
    this.timer = timer;
    this.backoff = new Backoff(restart, now);
    this.log = log;
    this.onFailed = onRestartFailed;
  }

  /** After it was given up: may the next call try again? */
  get mayTry(): boolean {
    return this.backoff.mayTry;
  }

  /** The server knows nothing of the session any more. */
  begin(why: string): void {
    const { owner } = this;
    this.lastError = why;
    owner.state = 'restarting';
    owner.session = owner.newSession();
    this.timer.stop();
    this.log.warn(`Session reinitializing: the target ${why}`);
    owner.down();
    this.afterFailure();
  }

  /** Begins a new session and restores the state of the old one. */
  retry(): void {
    const { owner, transport } = this;
    owner.state = 'restarting';
    this.restarts++;
    owner.again();
    const session = owner.newSession();
    owner.session = session;
    const wireId = transport.calling.nextId();
    transport.calling.add(wireId, {
      answered: (response) => {
        if (session !== owner.session) return;
        if (response.isError) {
          this.failed(session, 'refused to initialize again');
          owner.refused({ response });
        } else {
          agree(session, response);
          this.restoreState(session);
        }
      },
      failed: (error) => {
        if (session !== owner.session) return;
        this.failed(session, `failed to initialize again (${error.message})`);
        owner.refused({ error });
      },
    });
    this.timer.arm(() => this.failed(session, this.timer.error.message));
    transport.post(this.replay.beginning(wireId), this.replay.method, wireId);
  }

  private afterFailure(): void {
    const { owner, transport } = this;
    if (owner.state === 'closed') return;
    const delay = this.backoff.failure();
    // A server that fails slowly never fails often.
    const impatient = transport.calling.delayedFor > this.timer.ms;
    const error = targetError('mcp_target_failed', transport.name, `keeps failing: it ${this.lastError}`);
    if (delay === undefined) {
      owner.state = 'failed';
      this.log.error('Target failed repeatedly; no restart until the next call', {
        reason: this.lastError,
      });
      transport.failAll(error);
      return;
    }
    if (impatient) transport.failDelayed(error);
    this.timer.after(delay, () => this.retry());
  }

  private restoreState(session: Session): void {
    const { owner, transport } = this;
    const { initialized } = this.replay;
    if (initialized === undefined) {
      this.done();
      return;
    }
    owner.confirm(initialized, (error) => {
      if (error !== undefined) {
        this.failed(session, `failed to initialize again (${error.message})`);
        return;
      }
      const requests = this.replay.requests(() => transport.calling.nextId(), owner.canSeeResource());
      const going = (): boolean => session === owner.session && owner.state === 'restarting';
      transport.sendAll([...requests], going, () => this.done());
    });
  }

  get awaitsCaller(): boolean {
    return this.owner.state === 'ready' && this.replay.waits;
  }

  /** A caller is there for whom waiting subscriptions can be judged and then sent again. */
  attended(canSeeResource: CanSeeResource): void {
    const { owner, transport, replay } = this;
    const { session } = owner;
    const requests = replay.requestsThatWaited(() => transport.calling.nextId(), canSeeResource);
    transport.sendAll(
      [...requests],
      () => session === owner.session && owner.state === 'ready',
      () => undefined,
    );
  }

  /** The new session, or its restoration, failed. */
  failed(session: Session, why: string): void {
    const { owner, transport, log } = this;
    if (session !== owner.session || owner.state !== 'restarting') return;
    this.timer.stop();
    owner.session = owner.newSession();
    this.lastError = why;
    log.warn(`Reinitialization failed: the target ${why}`);
    this.onFailed(transport.name);
    transport.leave(session);
    owner.endSession(session);
    this.afterFailure();
  }

  private done(): void {
    this.timer.stop();
    this.log.info('Session with the target reinitialized', { restarts: this.restarts });
    this.owner.state = 'ready';
    this.owner.release();
    this.owner.up();
  }
}
