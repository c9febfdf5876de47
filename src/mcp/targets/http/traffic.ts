import { randomInt } from 'node:crypto';
import type { GatewayError } from '../../../errors.ts';
import type { Limits } from '../../../model/index.ts';
import { ThrottledLog, type Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import { CallClocks, type CallLimit } from '../../limits/callClocks.ts';
import { PendingCalls } from '../conversation/pendingCalls.ts';
import { Reception, type Receiver } from '../conversation/reception.ts';
import type { Envelope } from '../../json/envelope.ts';
import { targetError } from '../../messages/rpcError.ts';
import type { MessageOrigin } from '../target.ts';
import type { Carrier, CarrierHost, StreamPlace } from './carrier.ts';
import type { Home } from './home.ts';
import { Carriers } from './carriers.ts';
import { Listening } from './serverStream.ts';
import { Post } from './post.ts';

/** The session that the requests are made for. */
export interface TrafficOwner {
  /** The server of requests that begin now. */
  readonly home: Home;
  /** Failures are told in the log by somebody else. */
  readonly beginning: boolean;
  /** A request or notification of the server. */
  said(message: Envelope, origin: MessageOrigin): void;
  lost: CarrierHost['lost'];
  /** A call was not answered in time. */
  late(wireId: number, limit: CallLimit): void;
}

export interface TrafficOptions {
  /** Another process has begun the session. */
  readonly resumed: boolean;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly now: () => number;
}

/** Ids on the wire must not be used twice in a session: what another process takes up begins somewhere above. */
const firstForeign = 2 ** 32;
const lastForeign = 2 ** 47;
/** The number of restored messages that are on their way at a time: each may take a connection. */
const sayAtOnce = 8;

/** Everything that is under way between a session and its server: calls, the requests that carry them, what comes back. */
export class Traffic implements CarrierHost, Receiver {
  readonly name: string;
  reach: Reach;
  paused = false;
  readonly log: Logger;
  readonly calling: PendingCalls;
  readonly carriers = new Carriers();
  private readonly owner: TrafficOwner;
  private readonly options: TrafficOptions;
  private readonly clocks: CallClocks;
  private readonly reception: Reception;
  private readonly trouble: ThrottledLog;

  constructor(name: string, reach: Reach, owner: TrafficOwner, options: TrafficOptions) {
    this.name = name;
    this.reach = reach;
    this.log = options.log;
    this.calling = new PendingCalls(options.resumed ? randomInt(firstForeign, lastForeign) : 0);
    this.owner = owner;
    this.options = options;
    this.reception = new Reception(this);
    this.clocks = new CallClocks(
      () => this.limits.maxMcpCallTimeMs,
      (wireId, limit) => owner.late(wireId, limit),
    );
    this.trouble = new ThrottledLog(options.log, 'the target could not do its part');
  }

  get limits(): Limits {
    return this.options.limits();
  }

  /** @param done hears of the end of a notification or response, and of a call that failed */
  post(
    text: string,
    method: string,
    wireId: number,
    more: { readonly begun?: () => void; readonly done?: (error?: GatewayError) => void } = {},
  ): Post {
    const done = (error?: GatewayError): void => {
      if (error !== undefined && wireId === 0) this.warn(error.message, error.detail);
      more.done?.(error);
    };
    const post = new Post({ home: this.owner.home, text, method, wireId, ...more, done }, this);
    this.carriers.add(post);
    post.begin();
    return post;
  }

  /**
   * Opens a stream, or takes one up again.
   * @param contended another process may have a stream of the same session, for now
   */
  listen(wireId: number, home: Home, place: StreamPlace, contended = false): Listening {
    const note = (message: string, detail: string): void => this.warn(message, detail);
    const { now } = this.options;
    const listening = new Listening({ home, wireId, place, contended, now, note }, this);
    this.carriers.add(listening);
    listening.begin();
    return listening;
  }

  warn(reason: string, detail?: string): void {
    this.trouble.warn({ reason, detail });
  }

  /** A call begins. */
  limit(wireId: number, limit: CallLimit): void {
    this.clocks.start(wireId, limit);
  }

  progressed(wireId: number): void {
    this.clocks.progress(wireId);
  }

  hold(waits: boolean): void {
    this.clocks.hold(waits);
  }

  isLimited(wireId: number): boolean {
    return this.clocks.has(wireId);
  }

  forget(wireId: number): void {
    this.calling.forget(wireId);
    this.clocks.settled(wireId);
    this.carriers.of(wireId)?.abandon();
  }

  /** Takes back everything that was begun for a session, calls included: nobody waits for it any more. */
  leave(home: Home): void {
    for (const carrier of this.carriers.in(home)) {
      if (carrier.wireId !== 0) this.forget(carrier.wireId);
      carrier.abandon();
    }
  }

  /**
   * Sends requests of the gateway's own, a few at a time, and waits for all.
   * @param going is it still wanted?
   * @param then whether they succeeded or not: what fails is for the client to find out, such as a subscription to
   *   something that is gone
   */
  sayAll(
    requests: readonly (readonly [wireId: number, text: string])[],
    going: () => boolean,
    then: () => void,
  ): void {
    let begun = 0;
    let settled = 0;
    let sending = false;
    const more = (): void => {
      if (!going()) return;
      sending = true;
      for (; begun < requests.length && begun - settled < sayAtOnce; begun++) {
        const [wireId, text] = requests[begun]!;
        this.calling.add(wireId, { answered: one, failed: one });
        this.post(text, '', wireId);
      }
      sending = false;
      if (settled === requests.length) then();
    };
    const one = (): void => {
      settled++;
      // A request that fails at once does so inside of the loop.
      if (!sending) more();
    };
    more();
  }

  /** Fails the calls that wait for the next session. */
  failDelayed(error: GatewayError): void {
    this.calling.failDelayed(error, (wireId) => this.clocks.settled(wireId));
  }

  failAll(error: GatewayError): void {
    this.clocks.clear();
    this.calling.failAll(error);
  }

  pause(): void {
    this.paused = true;
    this.carriers.pause();
  }

  resume(): void {
    this.paused = false;
    this.carriers.resume();
  }

  // CarrierHost

  receive(text: string, wireId: number): void {
    // In JSON text a line break can only be white space.
    this.reception.take(/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, ' ') : text, wireId);
  }

  // Receiver

  said(message: Envelope, wireId: number): void {
    this.owner.said(message, this.calling.get(wireId) ?? 'aside');
  }

  settled(wireId: number): void {
    this.clocks.settled(wireId);
  }

  waits(wireId: number): boolean {
    return this.calling.get(wireId) !== undefined;
  }

  failed(wireId: number, error: GatewayError): void {
    this.clocks.settled(wireId);
    const waiter = this.calling.take(wireId);
    // The server did not accept it: nothing of it is to be said again.
    this.calling.forget(wireId);
    if (waiter === undefined) return;
    if (!this.owner.beginning) this.warn(error.message, error.detail);
    waiter.failed(error);
  }

  lost(home: Home, why: string, wireId: number, text?: string): void {
    this.owner.lost(home, why, wireId, text);
  }

  broken(home: Home, wireId: number, { lastId, retryMs }: StreamPlace): void {
    if (home === this.owner.home) this.listen(wireId, home, { lastId, retryMs });
    else this.failed(wireId, targetError('mcp_target_failed', this.name, 'lost the session of the call'));
  }

  over(carrier: Carrier): void {
    this.carriers.remove(carrier);
  }
}
