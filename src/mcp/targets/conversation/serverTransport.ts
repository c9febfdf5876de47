import { randomInt } from 'node:crypto';
import type { GatewayError } from '../../../errors.ts';
import type { HeaderLine, LargeEvent } from '../../../http/index.ts';
import type { Limits } from '../../../model/index.ts';
import { ThrottledLog, type Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import type { Envelope } from '../../json/envelope.ts';
import { CallTimeouts, type CallLimit } from '../../limits/callTimeouts.ts';
import type { MessageOrigin } from '../kind/target.ts';
import type { InFlightRequest, RequestHost, UnheardCall } from './inFlightRequest.ts';
import { InFlightRequests } from './inFlightRequests.ts';
import { MessageReader } from './messageReader.ts';
import type { MessageReceiver } from './messageReceiver.ts';
import { PendingCalls } from './pendingCalls.ts';
import type { PinnedSession } from './pinnedSession.ts';

/** The session that the requests are made for. */
export interface TransportOwner {
  /** The server of requests that begin now. */
  readonly session: PinnedSession;
  /** The first initialize is under way: its failure is logged by the session. */
  readonly beginning: boolean;
  /** A request or notification of the server. */
  onMessage(message: Envelope, origin: MessageOrigin): void;
  lost: RequestHost['lost'];
  /** The answer to a request may be one of a server that speaks another era. */
  doubted?(): void;
  /** A call was not answered in time. */
  late(wireId: number, limit: CallLimit): void;
}

export interface TransportOptions {
  /** Another process has begun the session. */
  readonly resumed: boolean;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly now: () => number;
}

/** The use of a POST by its caller. */
export interface PostUse {
  /** Header lines besides those that every request has. */
  readonly headers?: readonly HeaderLine[] | undefined;
  /** The way of its own caller; absent: the way of the newest caller. */
  readonly reach?: Reach | undefined;
  /** The answer has begun. */
  readonly begun?: (() => void) | undefined;
  /** The end of a notification or response, and a call that failed. */
  readonly done?: (error?: GatewayError) => void;
}

/** Ids on the wire must not be used twice in a session: what another process takes up begins somewhere above. */
const minResumedId = 2 ** 32;
const maxResumedId = 2 ** 47;
/** The number of restored messages that are on their way at a time: each may take a connection. */
const sendAtOnce = 8;

/**
 * Everything that is under way between a session and its server over the network: calls, the requests that carry them,
 * what comes back. A kind of target adds the form of its requests.
 */
export abstract class ServerTransport implements RequestHost, MessageReceiver {
  readonly name: string;
  reach: Reach;
  paused = false;
  readonly log: Logger;
  readonly calling: PendingCalls;
  readonly inFlight = new InFlightRequests();
  protected readonly owner: TransportOwner;
  protected readonly options: TransportOptions;
  private readonly clocks: CallTimeouts;
  private readonly reader: MessageReader;
  private readonly trouble: ThrottledLog;

  constructor(name: string, reach: Reach, owner: TransportOwner, options: TransportOptions) {
    this.name = name;
    this.reach = reach;
    this.log = options.log;
    this.calling = new PendingCalls(options.resumed ? randomInt(minResumedId, maxResumedId) : 0);
    this.owner = owner;
    this.options = options;
    this.reader = new MessageReader(this);
    this.clocks = new CallTimeouts(
      () => this.limits.maxMcpCallTimeMs,
      (wireId, limit) => owner.late(wireId, limit),
    );
    this.trouble = new ThrottledLog(options.log, 'Request to the target failed');
  }

  /** Sends a message. @param wireId the id of a call; 0 for a notification or response */
  abstract post(text: string, method: string, wireId: number, use?: PostUse): InFlightRequest;

  /** The origin of a message that came with a call, or beside all calls (0). */
  protected abstract originOf(wireId: number): MessageOrigin;

  get limits(): Limits {
    return this.options.limits();
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
    this.inFlight.of(wireId)?.abandon();
  }

  /** Takes back everything that was begun for a session, calls included: nobody waits for it any more. */
  leave(session: PinnedSession): void {
    for (const request of this.inFlight.in(session)) {
      if (request.wireId !== 0) this.forget(request.wireId);
      request.abandon();
    }
  }

  /**
   * Sends requests of the gateway's own, a few at a time, and waits for all.
   * @param going is it still wanted?
   * @param then whether they succeeded or not: what fails is for the client to find out, such as a subscription to
   *   something that is gone
   */
  sendAll(
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
      for (; begun < requests.length && begun - settled < sendAtOnce; begun++) {
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
    this.inFlight.pause();
  }

  resume(): void {
    this.paused = false;
    this.inFlight.resume();
  }

  // RequestHost

  receive(text: string, wireId: number): void {
    // In JSON text a line break can only be white space.
    this.reader.take(/[\r\n]/.test(text) ? text.replaceAll(/[\r\n]/g, ' ') : text, wireId);
  }

  receiveLarge(head: Buffer, wireId: number): LargeEvent | undefined {
    return this.reader.takeLarge(head, wireId);
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

  lost(session: PinnedSession, why: string, wireId: number, unheard?: UnheardCall): void {
    this.owner.lost(session, why, wireId, unheard);
  }

  over(request: InFlightRequest): void {
    this.inFlight.remove(request);
  }

  // MessageReceiver

  onMessage(message: Envelope, wireId: number): void {
    this.owner.onMessage(message, this.originOf(wireId));
  }

  settled(wireId: number): void {
    this.clocks.settled(wireId);
  }
}
