import type { GatewayError } from '../../../errors.ts';
import type { NetworkTarget } from '../../../model/index.ts';
import type { Reach } from '../../contract.ts';
import type { Envelope, RpcId } from '../../json/envelope.ts';
import type { Era } from '../../messages/eras.ts';
import type { CallLimit } from '../../limits/callTimeouts.ts';
import { renderOutgoing, type Outgoing } from '../../messages/outgoing.ts';
import { lateError, targetError } from '../../messages/rpcError.ts';
import type {
  CanSeeResource,
  MessageOrigin,
  Opening,
  TargetConnection,
  TargetState,
  TargetView,
  Waiter,
} from '../kind/target.ts';
import type { ConnectionOptions, TargetServices, TargetUse } from '../kind/targetRuntime.ts';
import { agree, sameServer, type PinnedSession } from './pinnedSession.ts';
import { PreviousServers } from './previousServers.ts';
import { maxPendingOf } from './pendingCalls.ts';
import { Reinitialization, type ReinitializedConnection } from './reinitialization.ts';
import type { UnheardCall } from './inFlightRequest.ts';
import type { ServerTransport, TransportOwner } from './serverTransport.ts';
import { StartTimer } from './startTimer.ts';
import { StateClock } from '../kind/stateClock.ts';

export interface RemoteOptions extends ConnectionOptions {
  readonly reach: Reach;
  /** Another process has begun the session. */
  readonly resumed: boolean;
  /** The era in which the connection speaks; absent: legacy. */
  readonly era?: Era | undefined;
  /** Calls that may wait for the server. */
  readonly maxPending: number;
}

/** The options of a connection for one session. @throws GatewayError policy_failed */
export const remoteOptions = (
  { restart, limits, now, onRestart, onRestartFailed }: TargetServices,
  { session, log, reach, serverEra }: TargetUse,
): RemoteOptions => ({
  reach: reach(),
  restart,
  limits,
  log,
  listener: session,
  keep: session.keep,
  now,
  onRestart,
  onRestartFailed,
  resumed: session.resumed,
  era: serverEra,
  maxPending: maxPendingOf(session),
});

/** Calls that wait until the server is told again what it forgot. */
const maxWaiting = 64;
/** Notifications and responses on their way. */
const maxNotes = 256;

/**
 * A session with a server over the network, whatever the form of its requests. A server that forgets the session is
 * told everything again, so that the client need not notice.
 */
export abstract class RemoteConnection<Session extends PinnedSession, Transport extends ServerTransport>
  implements TargetConnection, TransportOwner, ReinitializedConnection<Session>
{
  readonly name: string;
  generation = 0;
  session: Session;
  private readonly clock = new StateClock();
  protected readonly target: NetworkTarget;
  protected readonly options: RemoteOptions;
  protected readonly transport: Transport;
  protected readonly former: PreviousServers<Session>;
  protected readonly timer: StartTimer;
  protected readonly reinitialization: Reinitialization<Session>;
  private notes = 0;
  /** The server is being told that the client is initialized: some refuse everything else before. */
  protected confirming = false;
  private settled = Promise.withResolvers<void>();

  constructor(target: NetworkTarget, options: RemoteOptions) {
    this.name = target.name;
    this.target = target;
    this.options = options;
    this.session = this.newSession();
    this.transport = this.newTransport();
    this.former = new PreviousServers(this.transport.inFlight, (reach, session) =>
      this.endAt(reach, session),
    );
    this.timer = new StartTimer(this.transport, () => this.reinitialization.replay.method);
    this.reinitialization = new Reinitialization(this, this.transport, this.timer, options);
  }

  // A kind of target; the first two run before the fields of its class are there.

  abstract newSession(): Session;
  protected abstract newTransport(): Transport;
  /** Ends a session at a server, which the configuration may name no more. */
  protected abstract endAt(reach: Reach, session: Session): void;
  /** Sends the first request of the session. */
  protected abstract begin(text: string, method: string, wireId: number): void;
  /** The server knows that the client is initialized. */
  protected confirmed(_session: Session): void {
    // Most kinds have nothing more to do.
  }
  abstract use(reach: Reach): void;
  abstract close(graceMs: number): Promise<void>;

  // TargetConnection

  open(out: Outgoing, waiter: Waiter): void {
    this.reinitialization.replay.begin(out.envelope);
    const wireId = this.transport.calling.nextId();
    this.transport.calling.add(wireId, {
      answered: (response) => {
        this.timer.stop();
        if (response.isError) void this.close(0);
        else {
          agree(this.session, response);
          this.state = 'ready';
        }
        waiter.answered(response);
      },
      failed: (error) => {
        this.timer.stop();
        void this.close(0);
        waiter.failed(error);
      },
    });
    this.timer.arm(() => this.transport.failed(wireId, this.timer.error));
    this.begin(renderOutgoing(out, wireId), out.envelope.method, wireId);
  }

  call(out: Outgoing, waiter: Waiter): number {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      waiter.failed(refusal);
      return 0;
    }
    const reach = this.wayOf(out.reach);
    if (reach === 'elsewhere') {
      waiter.failed(this.elsewhere());
      return 0;
    }
    const wireId = this.transport.calling.nextId();
    const line = renderOutgoing(out, wireId);
    const { method } = out.envelope;
    const { headers } = out;
    const note = this.reinitialization.replay.note(out.envelope, out.edits);
    if (note !== undefined) this.transport.calling.note(wireId, note);
    if (out.limit !== undefined) this.transport.limit(wireId, out.limit);
    if (this.isOpen) {
      this.transport.calling.add(wireId, waiter);
      this.transport.post(line, method, wireId, { headers, reach });
      return wireId;
    }
    this.transport.calling.delay({ wireId, waiter, line, method, headers, reach });
    if (this.state === 'failed') this.reinitialization.retry();
    return wireId;
  }

  send(text: string, method = ''): void {
    if (method === 'notifications/initialized') this.reinitialization.replay.confirm(text);
    // 2026-07-28, Streamable HTTP: the end of the stream of a call is its cancellation.
    if (this.isModern && method === 'notifications/cancelled') return;
    if (this.state !== 'ready') return;
    if (method === 'notifications/initialized') {
      // Once is enough, however often the client says it.
      if (this.confirming) return;
      this.confirming = true;
      this.settled = Promise.withResolvers();
      // A server that leaves this unanswered gets the rest all the same, later.
      this.timer.arm(() => this.release());
      this.confirm(text, () => {
        this.timer.stop();
        this.release();
      });
      return;
    }
    if (this.notes >= maxNotes) {
      this.transport.warn('too many notifications and responses are on their way; dropped');
      return;
    }
    this.notes++;
    this.transport.post(text, method, 0, { done: () => void this.notes-- });
  }

  get settling(): Promise<void> | undefined {
    return this.confirming ? this.settled.promise : undefined;
  }

  get awaitsCaller(): boolean {
    return this.reinitialization.awaitsCaller;
  }

  attended(canSeeResource: CanSeeResource): void {
    this.reinitialization.attended(canSeeResource);
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.transport.calling.get(wireId);
  }

  calls(): Iterable<[number, Waiter]> {
    return this.transport.calling.all();
  }

  forget(wireId: number): void {
    this.transport.forget(wireId);
  }

  pause(): void {
    this.transport.pause();
  }

  resume(): void {
    this.transport.resume();
  }

  tick(now: number): void {
    this.transport.inFlight.tick(now);
    this.former.tick(now);
  }

  get state(): TargetState {
    return this.clock.state;
  }

  set state(next: TargetState) {
    this.clock.state = next;
  }

  view(): TargetView {
    return {
      name: this.name,
      state: this.state,
      since: this.clock.since,
      pid: undefined,
      restarts: this.reinitialization.restarts,
      pending: this.transport.calling.size,
      lastError: this.reinitialization.lastError,
    };
  }

  dropAbandoned(): boolean {
    const wireId = this.transport.calling.dropAbandoned();
    if (wireId === undefined) return false;
    this.cancel(wireId, 'client left');
    return true;
  }

  progressed(wireId: number): void {
    this.transport.progressed(wireId);
  }

  hold(waits: boolean): void {
    this.transport.hold(waits);
  }

  /** Requests are those of the modern era. */
  protected get isModern(): boolean {
    return this.options.era === 'modern';
  }

  /** Calls can be sent now. */
  protected get isOpen(): boolean {
    return this.state === 'ready' && !this.confirming;
  }

  /** Takes no further calls, and fails those that wait. */
  protected stop(): void {
    this.state = 'closed';
    this.timer.stop();
    this.former.close();
    this.settled.resolve();
    this.transport.failAll(targetError('mcp_target_failed', this.name, 'has been stopped'));
  }

  /**
   * The way of a call that may have waited. A reload may have brought another server meanwhile, which must not get the
   * credentials for the former one.
   */
  private wayOf(own: Reach | undefined): Reach | 'elsewhere' | undefined {
    const { reach } = this.transport;
    if (own === undefined || own.destination === reach.destination) return own;
    return sameServer(own, reach) ? { ...own, destination: reach.destination } : 'elsewhere';
  }

  private elsewhere(): GatewayError {
    return targetError('mcp_target_failed', this.name, 'is another server now');
  }

  /** The reason why a call cannot be taken now, or undefined. */
  private refusal(): GatewayError | undefined {
    const failed = (what: string): GatewayError => targetError('mcp_target_failed', this.name, what);
    if (this.state === 'closed') return failed('has been stopped');
    if (this.state === 'failed' && !this.reinitialization.mayTry)
      return failed(`keeps failing: it ${this.reinitialization.lastError}; try again later`);
    if (this.transport.calling.size >= this.options.maxPending && !this.dropAbandoned())
      return failed('has too many calls waiting');
    if (this.transport.inFlight.isBehind) return failed('does not read its messages');
    if (!this.isOpen && this.transport.calling.delayedSize >= maxWaiting)
      return failed('begins its session again and has too many calls waiting');
    return undefined;
  }

  private cancel(wireId: number, reason: string): void {
    const params = `{"requestId":${wireId},"reason":"${reason}"}`;
    this.send(
      `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`,
      'notifications/cancelled',
    );
    this.forget(wireId);
  }

  // TransportOwner

  late(wireId: number, limit: CallLimit): void {
    const waiter = this.transport.calling.find(wireId);
    if (waiter === undefined) return;
    this.transport.warn('call timed out; the target was told', `${limit.ms} ms`);
    this.cancel(wireId, 'timeout');
    waiter.failed(lateError(this.name, limit));
  }

  onMessage(message: Envelope, origin: MessageOrigin): void {
    this.options.listener.onMessage(this, message, origin);
  }

  get beginning(): boolean {
    return this.state === 'starting';
  }

  lost(session: PinnedSession, why: string, wireId: number, unheard?: UnheardCall): void {
    if (this.state === 'closed') return;
    const current = session === this.session;
    // Messages during the beginning of a session belong to that beginning, and fail with it.
    const beginning = current && this.state !== 'ready';
    const waiter = wireId === 0 ? undefined : this.transport.calling.take(wireId);
    if (current && !beginning) this.reinitialization.begin(why);
    if (waiter === undefined) return;
    if (
      unheard === undefined ||
      beginning ||
      this.state === 'failed' ||
      this.transport.calling.delayedSize >= maxWaiting
    ) {
      const what = this.state === 'failed' ? `keeps failing: it ${why}` : why;
      this.transport.forget(wireId);
      waiter.failed(targetError('mcp_target_failed', this.name, what));
      return;
    }
    // The server has not carried it out, so the next session can have it.
    const { text: line, headers, reach } = unheard;
    this.transport.calling.delay({ wireId, waiter, line, method: '', headers, reach });
    if (this.isOpen) this.release();
  }

  /** Begins the session again with a server that was given up, where it is time to. */
  retry(): void {
    if (this.state === 'failed' && this.reinitialization.mayTry) this.reinitialization.retry();
  }

  // ReinitializedConnection

  confirm(text: string, then: (error: GatewayError | undefined) => void): void {
    const { session } = this;
    const done = (error?: GatewayError): void => {
      if (session !== this.session || this.state === 'closed') return;
      if (error === undefined) this.confirmed(session);
      then(error);
    };
    this.transport.post(text, 'notifications/initialized', 0, { done });
  }

  endSession(session: Session): void {
    this.endAt(this.transport.reach, session);
  }

  down(): void {
    this.confirming = false;
    this.settled.resolve();
    this.options.listener.onDown(this);
  }

  canSeeResource(): CanSeeResource | undefined {
    return this.options.listener.canSeeResource(this);
  }

  again(): void {
    this.generation++;
    this.options.onRestart(this.name);
    this.options.listener.onAgain?.(this);
  }

  up(): void {
    this.options.listener.onUp?.(this);
  }

  refused(opening: Opening): void {
    this.options.listener.onRefused?.(this, opening);
  }

  /** Calls that waited go now. */
  release(): void {
    this.confirming = false;
    this.settled.resolve();
    for (const { wireId, line, method, headers, reach: own } of this.transport.calling.release()) {
      const reach = this.wayOf(own);
      if (reach === 'elsewhere') this.transport.failed(wireId, this.elsewhere());
      else this.transport.post(line, method, wireId, { headers, reach });
    }
  }
}
