import type { GatewayError } from '../../../errors.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { Backoff, type RestartPolicy } from '../conversation/backoff.ts';
import type { Keep } from '../../limits/keep.ts';
import { Restore, type MayKnow } from '../conversation/restore.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { TargetState } from '../target.ts';
import { endSession } from './endSession.ts';
import { agree, newHome, type Home } from './home.ts';
import type { News } from './news.ts';
import type { StartTimer } from './startTimer.ts';
import type { Traffic } from './traffic.ts';

/** The connection whose session it is. */
export interface Renewed {
  home: Home;
  state: TargetState;
  /** The session is over, and what the server had asked in it is void. */
  down(): void;
  /** Another one begins. */
  again(): void;
  /** Tells the server that the client is initialized. @param then hears of it where the session is the same still */
  confirm(text: string, then: (error: GatewayError | undefined) => void): void;
  /** Calls that waited go now. */
  release(): void;
  /** May those who read the session's streams know of a resource? Undefined where nobody reads. */
  mayKnow(): MayKnow | undefined;
}

export interface RenewalOptions {
  readonly keep: Keep;
  readonly restart: RestartPolicy;
  readonly log: Logger;
  readonly now: () => number;
}

/** Begins the session with a server that forgot it once more, and tells the server what it knew before. */
export class Renewal {
  /** The state to restore at the server. */
  readonly restore: Restore;
  restarts = 0;
  /** The last error of the server. */
  lastError: string | undefined;
  private readonly owner: Renewed;
  private readonly traffic: Traffic;
  private readonly news: News;
  private readonly timer: StartTimer;
  private readonly backoff: Backoff;
  private readonly log: Logger;

  constructor(
    owner: Renewed,
    traffic: Traffic,
    news: News,
    timer: StartTimer,
    { restart, log, now, keep }: RenewalOptions,
  ) {
    this.restore = new Restore(keep);
    this.owner = owner;
    this.traffic = traffic;
    this.news = news;
    this.timer = timer;
    this.backoff = new Backoff(restart, now);
    this.log = log;
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
    owner.home = newHome();
    this.timer.stop();
    this.log.warn(`the target ${why}; its session is begun again`);
    this.news.stop();
    owner.down();
    this.afterFailure();
  }

  /** Begins a session anew and tells the server what it knew before. */
  retry(): void {
    const { owner, traffic } = this;
    owner.state = 'restarting';
    this.restarts++;
    owner.again();
    const home = newHome();
    owner.home = home;
    const wireId = traffic.calling.nextId();
    traffic.calling.add(wireId, {
      answered: (response) => {
        if (home !== owner.home) return;
        if (response.isError) this.failed(home, 'refused to initialize again');
        else {
          agree(home, response);
          this.tellAgain(home);
        }
      },
      failed: (error) => this.failed(home, `failed to initialize again (${error.message})`),
    });
    this.timer.arm(() => this.failed(home, this.timer.error.message));
    traffic.post(this.restore.beginning(wireId), 'initialize', wireId);
  }

  private afterFailure(): void {
    const { owner, traffic } = this;
    if (owner.state === 'closed') return;
    const delay = this.backoff.failure();
    // A server that fails slowly never fails often.
    const impatient = traffic.calling.delayedFor > this.timer.ms;
    const error = targetError('mcp_target_failed', traffic.name, `keeps failing: it ${this.lastError}`);
    if (delay === undefined) {
      owner.state = 'failed';
      this.log.error('the target keeps failing; given up until it is called again', {
        reason: this.lastError,
      });
      traffic.failAll(error);
      return;
    }
    if (impatient) traffic.failDelayed(error);
    this.timer.after(delay, () => this.retry());
  }

  private tellAgain(home: Home): void {
    const { owner, traffic } = this;
    const { initialized } = this.restore;
    if (initialized === undefined) {
      this.done();
      return;
    }
    owner.confirm(initialized, (error) => {
      if (error !== undefined) {
        this.failed(home, `failed to initialize again (${error.message})`);
        return;
      }
      const requests = this.restore.requests(() => traffic.calling.nextId(), owner.mayKnow());
      const going = (): boolean => home === owner.home && owner.state === 'restarting';
      traffic.sayAll([...requests], going, () => this.done());
    });
  }

  /** A caller is there for whom waiting subscriptions can be judged and then sent again. */
  attended(mayKnow: MayKnow): void {
    const { owner, traffic, restore } = this;
    const { home } = owner;
    if (owner.state !== 'ready' || !restore.waits) return;
    const requests = restore.requestsThatWaited(() => traffic.calling.nextId(), mayKnow);
    traffic.sayAll(
      [...requests],
      () => home === owner.home && owner.state === 'ready',
      () => undefined,
    );
  }

  private failed(home: Home, why: string): void {
    const { owner, traffic, log } = this;
    if (home !== owner.home || owner.state !== 'restarting') return;
    this.timer.stop();
    owner.home = newHome();
    this.lastError = why;
    log.warn(`the target ${why}`);
    traffic.leave(home);
    void endSession(traffic.reach, home, 0, log);
    this.news.stop();
    this.afterFailure();
  }

  private done(): void {
    this.timer.stop();
    this.log.info('the session with the target was begun again', { restarts: this.restarts });
    this.owner.state = 'ready';
    this.owner.release();
  }
}
