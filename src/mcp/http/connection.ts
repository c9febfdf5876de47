import type { GatewayError } from '../../errors.ts';
import type { Limits, RemoteTarget } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { Reach } from '../contract.ts';
import { Backoff, type RestartPolicy } from '../conversation/backoff.ts';
import { handOver } from '../conversation/handOver.ts';
import { PendingCalls } from '../conversation/pendingCalls.ts';
import { QuietLog } from '../conversation/quietLog.ts';
import { readMessages } from '../conversation/readMessages.ts';
import { Restore } from '../conversation/restore.ts';
import { memberOf, stringValue, type Envelope, type RpcId } from '../json/envelope.ts';
import { renderOutgoing, type Outgoing } from '../outgoing.ts';
import { targetError } from '../sendError.ts';
import type { TargetConnection, TargetListener, TargetState, TargetView, Waiter } from '../target.ts';
import type { Carrier, CarrierHost, Home, StreamPlace } from './carrier.ts';
import { Carriers } from './carriers.ts';
import { Deadlines } from './deadlines.ts';
import { endMs, endSession, within } from './endSession.ts';
import { Listening } from './listening.ts';
import { Post } from './post.ts';

export interface HttpOptions {
  readonly reach: Reach;
  readonly restart: RestartPolicy;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly listener: TargetListener;
  readonly now: () => number;
  readonly onRestart: (target: string) => void;
}

/** Calls of one session that may wait for one target: each has a connection of its own in HTTP/1.1. */
const maxPending = 128;
/** Calls that wait until the server is told again what it forgot. */
const maxWaiting = 64;
/** Notifications and responses on their way. */
const maxNotes = 256;
/** Bytes that the server may leave unread before calls to it are refused. */
const maxBacklog = 8_388_608;
/** From initialize to its response, in milliseconds, where the target has no limit of its own. */
const startTimeoutMs = 60_000;

/** A POST, and when its answer begins or will not come. */
interface Opening {
  readonly post: Post;
  readonly answered: Promise<void>;
}

const nowhere: StreamPlace = { lastId: undefined, retryMs: undefined };

/**
 * One session with a server that speaks Streamable HTTP. Each message is a POST of its own, what the server says by
 * itself comes on a GET. A server that forgets the session is told everything again, so that the client need not
 * notice.
 */
export class HttpConnection implements TargetConnection, CarrierHost {
  readonly name: string;
  generation = 0;
  reach: Reach;
  paused = false;
  private readonly options: HttpOptions;
  private readonly backoff: Backoff;
  private readonly restore = new Restore();
  private readonly garbage: QuietLog;
  private readonly trouble: QuietLog;
  private readonly calling = new PendingCalls();
  private readonly carriers = new Carriers();
  private readonly deadlines = new Deadlines();
  private home: Home = newHome();
  private news: Listening | undefined;
  private notes = 0;
  /** The server is being told that the client is initialized: some refuse everything else before. */
  private confirming = false;
  private state: TargetState = 'starting';
  private restarts = 0;
  private lastError: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The first request of the session, until it is answered. */
  private opening: Opening | undefined;
  /** Resolves when the server knows that the session is over. */
  private leaving: Promise<void> = Promise.resolve();

  constructor(target: RemoteTarget, options: HttpOptions) {
    this.name = target.name;
    this.reach = options.reach;
    this.options = options;
    this.backoff = new Backoff(options.restart, options.now);
    this.garbage = new QuietLog(options.log, 'the target sent something that is no MCP message; skipped');
    this.trouble = new QuietLog(options.log, 'the target could not do its part');
  }

  get limits(): Limits {
    return this.options.limits();
  }

  // TargetConnection

  use(reach: Reach): void {
    const before = this.reach;
    this.reach = reach;
    if (reach.destination === before.destination || this.state !== 'ready') return;
    // What is under way there still ends there.
    if (this.carriers.calls === 0) void endSession(before, this.home, 0, this.options.log);
    this.forgotten('is another server now');
  }

  open(out: Outgoing, waiter: Waiter): void {
    this.restore.begin(out.envelope);
    const wireId = this.calling.nextId();
    this.calling.add(wireId, {
      answered: (response) => {
        clearTimeout(this.timer);
        if (response.isError) void this.close(0);
        else {
          this.agree(response);
          this.state = 'ready';
          this.opening = undefined;
        }
        waiter.answered(response);
      },
      failed: (error) => {
        clearTimeout(this.timer);
        void this.close(0);
        waiter.failed(error);
      },
    });
    this.armStart(() => this.failed(wireId, this.startTimedOut()));
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const text = renderOutgoing(out, wireId);
    const post = new Post(
      { home: this.home, text, method: 'initialize', wireId, begun: resolve, done: () => resolve() },
      this,
    );
    this.opening = { post, answered };
    this.carriers.add(post);
    post.begin();
  }

  call(out: Outgoing, waiter: Waiter): number {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      waiter.failed(refusal);
      return 0;
    }
    const wireId = this.calling.nextId();
    const text = renderOutgoing(out, wireId);
    const note = this.restore.note(out.envelope);
    if (note !== undefined) this.calling.note(wireId, note);
    this.limit(wireId);
    if (this.state === 'ready' && !this.confirming) {
      this.calling.add(wireId, waiter);
      this.news?.wake();
      this.post(text, out.envelope.method, wireId);
      return wireId;
    }
    this.calling.delay(wireId, waiter, text, out.envelope.method);
    if (this.state === 'failed') this.retry();
    return wireId;
  }

  send(text: string, method = ''): void {
    if (method === 'notifications/initialized') this.restore.initialized = text;
    if (this.state !== 'ready') return;
    if (method === 'notifications/initialized') {
      this.confirming = true;
      // A server that leaves this unanswered gets the rest all the same, later.
      this.armStart(() => this.release());
      this.confirm(text, () => {
        clearTimeout(this.timer);
        this.release();
      });
      return;
    }
    if (this.notes >= maxNotes) {
      this.trouble.warn({ reason: 'too many notifications and responses are on their way; dropped' });
      return;
    }
    this.notes++;
    this.post(text, method, 0, () => this.notes--);
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.calling.get(wireId);
  }

  calls(): Iterable<[number, Waiter]> {
    return this.calling.all();
  }

  forget(wireId: number): void {
    this.calling.forget(wireId);
    this.deadlines.settled(wireId);
    this.carriers.of(wireId)?.abandon();
  }

  pause(): void {
    this.paused = true;
    this.carriers.pause();
  }

  resume(): void {
    this.paused = false;
    this.carriers.resume();
  }

  tick(now: number): void {
    this.carriers.tick(now);
  }

  async close(graceMs: number): Promise<void> {
    if (this.state === 'closed') return this.leaving;
    const { opening } = this;
    this.state = 'closed';
    clearTimeout(this.timer);
    this.failAll(targetError('mcp_target_failed', this.name, 'has been stopped'));
    // The server may just have opened a session, which nobody could end later.
    this.carriers.abandon(opening?.post);
    this.leaving = this.leave(graceMs, opening);
    return this.leaving;
  }

  private async leave(graceMs: number, opening: Opening | undefined): Promise<void> {
    if (opening !== undefined) await within(endMs(graceMs), opening.answered);
    this.carriers.abandon();
    await endSession(this.reach, this.home, graceMs, this.options.log);
  }

  view(): TargetView {
    return {
      name: this.name,
      state: this.state,
      pid: undefined,
      restarts: this.restarts,
      pending: this.calling.size,
      lastError: this.lastError,
    };
  }

  /** Why a call cannot be taken now, or undefined. */
  private refusal(): GatewayError | undefined {
    const failed = (what: string): GatewayError => targetError('mcp_target_failed', this.name, what);
    if (this.state === 'closed') return failed('has been stopped');
    if (this.state === 'failed' && !this.backoff.mayTry)
      return failed(`keeps failing: it ${this.lastError}; try again later`);
    if (this.calling.size >= maxPending && !this.dropAbandoned()) return failed('has too many calls waiting');
    if (this.carriers.backlog > maxBacklog) return failed('does not read its messages');
    const waits = this.state !== 'ready' || this.confirming;
    if (waits && this.calling.delayedSize >= maxWaiting)
      return failed('begins its session again and has too many calls waiting');
    return undefined;
  }

  /** Makes room by giving up a call whose client has left; the target is told that nobody waits. */
  private dropAbandoned(): boolean {
    const wireId = this.calling.dropAbandoned();
    if (wireId === undefined) return false;
    this.cancel(wireId, 'client left');
    return true;
  }

  private cancel(wireId: number, reason: string): void {
    const params = `{"requestId":${wireId},"reason":"${reason}"}`;
    this.send(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`,
      'notifications/cancelled',
    );
    this.forget(wireId);
  }

  private limit(wireId: number): void {
    const { callTimeoutMs: ms } = this.reach;
    if (ms === undefined) return;
    this.deadlines.set(wireId, ms, () => {
      const waiter = this.calling.find(wireId);
      this.cancel(wireId, 'timeout');
      waiter?.failed(targetError('mcp_target_timeout', this.name, `did not answer within ${ms} ms`));
    });
  }

  private post(
    text: string,
    method: string,
    wireId: number,
    done?: (error: GatewayError | undefined) => void,
  ): void {
    const report = (error?: GatewayError): void => {
      if (error !== undefined) this.trouble.warn({ reason: error.message, detail: error.detail, method });
      done?.(error);
    };
    const post = new Post({ home: this.home, text, method, wireId, done: report }, this);
    this.carriers.add(post);
    post.begin();
  }

  private listen(wireId: number, home: Home, place: StreamPlace): Listening {
    const note = (message: string, detail: string): void => this.trouble.warn({ reason: message, detail });
    const listening = new Listening({ home, wireId, place, now: this.options.now, note }, this);
    this.carriers.add(listening);
    listening.begin();
    return listening;
  }

  // CarrierHost

  receive(text: string, wireId: number): void {
    // In JSON text a line break can only be white space.
    const messages = readMessages(/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, ' ') : text);
    if (typeof messages === 'string') {
      this.garbage.warn({ why: messages, text: text.slice(0, 200) });
      return;
    }
    for (const message of messages) {
      try {
        this.onMessage(message, wireId);
      } catch (error) {
        // A defect must not take every other session down with it.
        const stack = error instanceof Error ? error.stack : String(error);
        this.options.log.error('a message of the target could not be handled', { stack });
      }
    }
  }

  private onMessage(message: Envelope, wireId: number): void {
    if (message.kind !== 'response') {
      this.options.listener.onMessage(this, message, this.calling.get(wireId) ?? 'aside');
      return;
    }
    const waiter = this.calling.settle(message);
    if (waiter === undefined) {
      this.options.log.debug('the target answered a call that does not wait', { id: String(message.id) });
      return;
    }
    this.deadlines.settled(message.id as number);
    handOver(waiter, message);
  }

  waits(wireId: number): boolean {
    return this.calling.get(wireId) !== undefined;
  }

  failed(wireId: number, error: GatewayError): void {
    this.deadlines.settled(wireId);
    const waiter = this.calling.take(wireId);
    if (waiter === undefined) return;
    // The first request has its own line in the log (opening.ts).
    if (this.state !== 'starting') this.trouble.warn({ reason: error.message, detail: error.detail });
    waiter.failed(error);
  }

  lost(home: Home, why: string, wireId: number, text?: string): void {
    if (this.state === 'closed') return;
    const current = home === this.home;
    // What is said while a session is begun belongs to that beginning, and fails with it.
    const beginning = current && this.state !== 'ready';
    const waiter = wireId === 0 ? undefined : this.calling.take(wireId);
    if (current && !beginning) this.forgotten(why);
    if (waiter === undefined || text === undefined) return;
    if (beginning || this.state === 'failed' || this.calling.delayedSize >= maxWaiting) {
      const what = this.state === 'failed' ? `keeps failing: it ${why}` : why;
      waiter.failed(targetError('mcp_target_failed', this.name, what));
      return;
    }
    // The server has not carried it out, so the next session can have it.
    this.calling.delay(wireId, waiter, text, '');
    if (this.state === 'ready' && !this.confirming) this.release();
  }

  broken(home: Home, wireId: number, place: StreamPlace): void {
    if (home === this.home) this.listen(wireId, home, { lastId: place.lastId, retryMs: place.retryMs });
    else this.failed(wireId, targetError('mcp_target_failed', this.name, 'lost the session of the call'));
  }

  over(carrier: Carrier): void {
    this.carriers.remove(carrier);
  }

  // The session with the server

  /** Notes what was agreed on. */
  private agree(response: Envelope): void {
    const place = memberOf(response.text, response.body, 'protocolVersion');
    const version = place === 'ambiguous' ? undefined : stringValue(response.text, place);
    this.home.version = version !== undefined && /^[\w.-]{1,64}$/.test(version) ? version : undefined;
  }

  private confirm(text: string, then: (error: GatewayError | undefined) => void): void {
    const { home } = this;
    this.post(text, 'notifications/initialized', 0, (error) => {
      if (home !== this.home || this.state === 'closed') return;
      if (error === undefined) {
        this.news?.abandon();
        this.news = this.listen(0, home, nowhere);
      }
      then(error);
    });
  }

  /** The server knows nothing of the session any more. */
  private forgotten(why: string): void {
    this.lastError = why;
    this.state = 'restarting';
    this.confirming = false;
    this.home = newHome();
    clearTimeout(this.timer);
    this.options.log.warn(`the target ${why}; its session is begun again`);
    this.news?.abandon();
    this.news = undefined;
    this.options.listener.onDown(this);
    this.afterFailure();
  }

  private afterFailure(): void {
    if (this.state === 'closed') return;
    const delay = this.backoff.failure();
    if (delay === undefined) {
      this.state = 'failed';
      const error = targetError('mcp_target_failed', this.name, `keeps failing: it ${this.lastError}`);
      this.options.log.error('the target keeps failing; given up until it is called again', {
        reason: this.lastError,
      });
      this.failAll(error);
      return;
    }
    this.timer = setTimeout(() => this.retry(), delay).unref();
  }

  /** Begins a session anew and tells the server what it knew before. */
  private retry(): void {
    this.state = 'restarting';
    this.restarts++;
    this.generation++;
    this.options.onRestart(this.name);
    const home = newHome();
    this.home = home;
    const wireId = this.calling.nextId();
    this.calling.add(wireId, {
      answered: (response) => {
        if (home !== this.home) return;
        if (response.isError) this.restartFailed(home, 'refused to initialize again');
        else {
          this.agree(response);
          this.tellAgain(home);
        }
      },
      failed: (error) => this.restartFailed(home, `failed to initialize again (${error.message})`),
    });
    this.armStart(() => this.restartFailed(home, this.startTimedOut().message));
    this.post(this.restore.beginning(wireId), 'initialize', wireId);
  }

  private tellAgain(home: Home): void {
    const { initialized } = this.restore;
    if (initialized === undefined) {
      this.restarted();
      return;
    }
    this.confirm(initialized, (error) => {
      if (error !== undefined) {
        this.restartFailed(home, `failed to initialize again (${error.message})`);
        return;
      }
      const requests = [...this.restore.requests(() => this.calling.nextId())];
      let left = requests.length;
      const settled = (): void => {
        if (--left === 0 && home === this.home && this.state === 'restarting') this.restarted();
      };
      // One that fails is for the client to find out: the subscription may be to something that is gone.
      for (const [wireId] of requests) this.calling.add(wireId, { answered: settled, failed: settled });
      for (const [wireId, text] of requests) this.post(text, '', wireId);
      if (requests.length === 0) this.restarted();
    });
  }

  private restartFailed(home: Home, why: string): void {
    if (home !== this.home || this.state !== 'restarting') return;
    clearTimeout(this.timer);
    this.home = newHome();
    this.lastError = why;
    this.options.log.warn(`the target ${why}`);
    this.news?.abandon();
    this.news = undefined;
    this.afterFailure();
  }

  private restarted(): void {
    clearTimeout(this.timer);
    this.options.log.info('the session with the target was begun again', { restarts: this.restarts });
    this.state = 'ready';
    this.release();
  }

  /** Calls that waited go now. */
  private release(): void {
    this.confirming = false;
    for (const { wireId, line, method } of this.calling.release()) this.post(line, method, wireId);
  }

  private failAll(error: GatewayError): void {
    this.deadlines.clear();
    this.calling.failAll(error);
  }

  private startTimedOut(): GatewayError {
    return targetError(
      'mcp_target_timeout',
      this.name,
      `did not answer initialize within ${this.startMs} ms`,
    );
  }

  private get startMs(): number {
    return this.reach.callTimeoutMs ?? startTimeoutMs;
  }

  private armStart(late: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(late, this.startMs).unref();
  }
}

const newHome = (): Home => ({ id: undefined, version: undefined, endpoint: undefined });
