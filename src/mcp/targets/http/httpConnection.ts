import { GatewayError } from '../../../errors.ts';
import type { Limits, RemoteTarget } from '../../../model/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import type { Reach } from '../../contract.ts';
import type { RetainedMemory } from '../../limits/retainedMemory.ts';
import type { CallLimit } from '../../limits/callTimeouts.ts';
import type { Envelope, RpcId } from '../../json/envelope.ts';
import { renderOutgoing, type Outgoing } from '../../messages/outgoing.ts';
import { lateError, targetError } from '../../messages/rpcError.ts';
import type {
  CanSeeResource,
  MessageOrigin,
  TargetConnection,
  TargetListener,
  TargetPlace,
  TargetState,
  TargetView,
  Waiter,
} from '../kind/target.ts';
import { endMs, endSession, within } from './endSession.ts';
import { InitializeRequest } from './initializeRequest.ts';
import { PreviousServers } from './previousServers.ts';
import { agree, newPinnedSession, sameServer, type PinnedSession } from './pinnedSession.ts';
import { StandaloneStream } from './standaloneStream.ts';
import { Reinitialization, type ReinitializedConnection } from './reinitialization.ts';
import { probeSession } from './probeSession.ts';
import { StartTimer } from './startTimer.ts';
import { HttpTransport, type TransportOwner } from './httpTransport.ts';
import type { RestartPolicy } from '../kind/targetRuntime.ts';

export interface HttpOptions {
  readonly reach: Reach;
  readonly restart: RestartPolicy;
  readonly limits: () => Limits;
  readonly log: Logger;
  readonly listener: TargetListener;
  /** Counts what is remembered for a server that must be told again. */
  readonly keep: RetainedMemory;
  readonly now: () => number;
  readonly onRestart: (target: string) => void;
  /** Another process has begun the session. */
  readonly resumed: boolean;
  /** Other processes may hold the session as well. */
  readonly shared: () => boolean;
}

/** Calls of one session that may wait for one target: each has a connection of its own in HTTP/1.1. */
const maxPending = 128;
/** Calls that wait until the server is told again what it forgot. */
const maxWaiting = 64;
/** Notifications and responses on their way. */
const maxNotes = 256;
/** Bytes that the server may leave unread before calls to it are refused. */
const maxBacklog = 8_388_608;

/**
 * A session with a server that speaks Streamable HTTP. Each message is a POST of its own, what the server says by
 * itself comes on a GET. A server that forgets the session is told everything again, so that the client need not
 * notice.
 */
export class HttpConnection implements TargetConnection, TransportOwner, ReinitializedConnection {
  readonly name: string;
  generation = 0;
  session: PinnedSession = newPinnedSession();
  state: TargetState = 'starting';
  private readonly options: HttpOptions;
  private readonly transport: HttpTransport;
  private readonly standaloneStream: StandaloneStream;
  private readonly former: PreviousServers;
  private readonly timer: StartTimer;
  private readonly reinitialization: Reinitialization;
  private notes = 0;
  /** The server is being told that the client is initialized: some refuse everything else before. */
  private confirming = false;
  private settled = Promise.withResolvers<void>();
  /** The first request of the session, until it is answered. */
  private opening: InitializeRequest | undefined;
  /** Resolves when the server knows that the session is over. */
  private leaving: Promise<void> = Promise.resolve();

  constructor(target: RemoteTarget, options: HttpOptions) {
    this.name = target.name;
    this.options = options;
    this.transport = new HttpTransport(target.name, options.reach, this, options);
    this.standaloneStream = new StandaloneStream(this.transport, options.shared);
    this.former = new PreviousServers(this.transport.inFlight, options.log);
    this.timer = new StartTimer(this.transport);
    this.reinitialization = new Reinitialization(
      this,
      this.transport,
      this.standaloneStream,
      this.timer,
      options,
    );
  }

  /**
   * Goes on with a session that another process began, where the server knows it still.
   * @throws GatewayError mcp_session_unknown, and what the server failed with where that cannot be told
   */
  async takeUp({ serverSession: id, version, address }: TargetPlace): Promise<void> {
    this.session = { id, version, endpoint: undefined, address };
    await probeSession(this.transport);
    if (this.state === 'starting') this.state = 'ready';
  }

  // TargetConnection

  use(reach: Reach): void {
    const { reach: before } = this.transport;
    this.transport.reach = reach;
    if (reach.destination === before.destination || this.state !== 'ready') return;
    if (!this.mayBeginAgain && sameServer(reach, before)) {
      // Others may be with it still: the server is to say whether it knows the session, not we.
      this.session.address = this.session.endpoint?.name ?? this.session.address;
      this.session.endpoint = undefined;
      this.standaloneStream.move(this.session);
      return;
    }
    // Exchanges under way at the former server still end there.
    this.former.add(before, this.session);
    if (this.mayBeginAgain) this.reinitialization.begin('is another server now');
    else this.gone();
  }

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
          this.opening = undefined;
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
    this.opening = new InitializeRequest(this.transport, renderOutgoing(out, wireId), wireId);
  }

  call(out: Outgoing, waiter: Waiter): number {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      waiter.failed(refusal);
      return 0;
    }
    const wireId = this.transport.calling.nextId();
    const text = renderOutgoing(out, wireId);
    const note = this.reinitialization.replay.note(out.envelope);
    if (note !== undefined) this.transport.calling.note(wireId, note);
    if (out.limit !== undefined) this.transport.limit(wireId, out.limit);
    if (this.state === 'ready' && !this.confirming) {
      this.transport.calling.add(wireId, waiter);
      this.standaloneStream.wake();
      this.transport.post(text, out.envelope.method, wireId);
      return wireId;
    }
    this.transport.calling.delay(wireId, waiter, text, out.envelope.method);
    if (this.state === 'failed') this.reinitialization.retry();
    return wireId;
  }

  send(text: string, method = ''): void {
    if (method === 'notifications/initialized') this.reinitialization.replay.confirm(text);
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

  get place(): TargetPlace | undefined {
    if (this.state !== 'ready') return undefined;
    const { id: serverSession, version, endpoint } = this.session;
    return { serverSession, version, address: endpoint?.name };
  }

  attended(canSeeResource: CanSeeResource): void {
    this.reinitialization.attended(canSeeResource);
  }

  setClientListening(wanted: boolean): void {
    this.standaloneStream.setClientListening(
      wanted,
      this.state === 'ready' && !this.confirming ? this.session : undefined,
    );
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

  leave(): () => Promise<void> {
    const { session } = this;
    const { reach } = this.transport;
    const { log } = this.options;
    if (this.state !== 'closed') {
      this.stop();
      this.transport.inFlight.abandon();
    }
    // It is kept for hours, and must hold nothing of the session but this.
    return () => endSession(reach, session, 0, log);
  }

  async close(graceMs: number): Promise<void> {
    if (this.state === 'closed') return this.leaving;
    const { opening } = this;
    this.stop();
    // The server may just have opened a session, which nobody could end later.
    this.transport.inFlight.abandon(opening?.post);
    this.leaving = this.part(graceMs, opening);
    return this.leaving;
  }

  private stop(): void {
    this.state = 'closed';
    this.timer.stop();
    this.standaloneStream.stop();
    this.former.close();
    this.settled.resolve();
    this.transport.failAll(targetError('mcp_target_failed', this.name, 'has been stopped'));
  }

  private async part(graceMs: number, opening: InitializeRequest | undefined): Promise<void> {
    if (opening !== undefined) await within(endMs(graceMs), opening.answered);
    this.transport.inFlight.abandon();
    await endSession(this.transport.reach, this.session, graceMs, this.options.log);
  }

  view(): TargetView {
    return {
      name: this.name,
      state: this.state,
      pid: undefined,
      restarts: this.reinitialization.restarts,
      pending: this.transport.calling.size,
      lastError: this.reinitialization.lastError,
    };
  }

  /** The reason why a call cannot be taken now, or undefined. */
  private refusal(): GatewayError | undefined {
    const failed = (what: string): GatewayError => targetError('mcp_target_failed', this.name, what);
    if (this.state === 'closed') return failed('has been stopped');
    if (this.state === 'failed' && !this.reinitialization.mayTry)
      return failed(`keeps failing: it ${this.reinitialization.lastError}; try again later`);
    if (this.transport.calling.size >= maxPending && !this.dropAbandoned())
      return failed('has too many calls waiting');
    if (this.transport.inFlight.backlog > maxBacklog) return failed('does not read its messages');
    const waits = this.state !== 'ready' || this.confirming;
    if (waits && this.transport.calling.delayedSize >= maxWaiting)
      return failed('begins its session again and has too many calls waiting');
    return undefined;
  }

  dropAbandoned(): boolean {
    const wireId = this.transport.calling.dropAbandoned();
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

  progressed(wireId: number): void {
    this.transport.progressed(wireId);
  }

  hold(waits: boolean): void {
    this.transport.hold(waits);
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

  lost(session: PinnedSession, why: string, wireId: number, text?: string): void {
    if (this.state === 'closed') return;
    const current = session === this.session;
    // Messages during the beginning of a session belong to that beginning, and fail with it.
    const beginning = current && this.state !== 'ready';
    const waiter = wireId === 0 ? undefined : this.transport.calling.take(wireId);
    if (current && !this.mayBeginAgain) {
      this.transport.forget(wireId);
      waiter?.failed(new GatewayError('mcp_session_unknown', { detail: why }));
      if (!beginning) this.gone();
      return;
    }
    if (current && !beginning) this.reinitialization.begin(why);
    if (waiter === undefined || text === undefined) return;
    if (beginning || this.state === 'failed' || this.transport.calling.delayedSize >= maxWaiting) {
      const what = this.state === 'failed' ? `keeps failing: it ${why}` : why;
      this.transport.forget(wireId);
      waiter.failed(targetError('mcp_target_failed', this.name, what));
      return;
    }
    // The server has not carried it out, so the next session can have it.
    this.transport.calling.delay(wireId, waiter, text, '');
    if (this.state === 'ready' && !this.confirming) this.release();
  }

  // The session with the server

  confirm(text: string, then: (error: GatewayError | undefined) => void): void {
    const { session } = this;
    const done = (error?: GatewayError): void => {
      if (session !== this.session || this.state === 'closed') return;
      if (error === undefined) this.standaloneStream.begin(session);
      then(error);
    };
    this.transport.post(text, 'notifications/initialized', 0, { done });
  }

  /**
   * Is a session that the server does not know begun again? Whoever holds it alone knows that the client has not ended
   * it; of one that others hold as well, only an open stream of the client says so. One that another process has begun
   * cannot be: what the client said in the beginning is not known here.
   */
  private get mayBeginAgain(): boolean {
    return !this.options.resumed && (this.standaloneStream.wanted || !this.options.shared());
  }

  /** The server does not know the session, which ends with that. */
  private gone(): void {
    this.session = newPinnedSession();
    this.transport.failAll(new GatewayError('mcp_session_unknown'));
    this.options.listener.onGone(this);
  }

  // ReinitializedConnection

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
  }

  /** Calls that waited go now. */
  release(): void {
    this.confirming = false;
    this.settled.resolve();
    for (const { wireId, line, method } of this.transport.calling.release())
      this.transport.post(line, method, wireId);
  }
}
