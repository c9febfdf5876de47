import { GatewayError } from '../../../errors.ts';
import { within } from '../../../within.ts';
import type { RemoteTarget } from '../../../model/index.ts';
import type { Reach } from '../../contract.ts';
import { newPinnedSession, sameServer, type PinnedSession } from '../conversation/pinnedSession.ts';
import { RemoteConnection, type RemoteOptions } from '../conversation/remoteConnection.ts';
import type { UnheardCall } from '../conversation/inFlightRequest.ts';
import { modernVersion } from '../../messages/eras.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import type { TargetPlace, Waiter } from '../kind/target.ts';
import { endMs, endSession } from './endSession.ts';
import { HttpTransport } from './httpTransport.ts';
import { InitializeRequest } from './initializeRequest.ts';
import { probeSession } from './probeSession.ts';
import { StandaloneStream } from './standaloneStream.ts';

export interface HttpOptions extends RemoteOptions {
  /** Other processes may hold the session as well. */
  readonly shared: () => boolean;
}

/**
 * A session with a server that speaks Streamable HTTP. Each message is a POST of its own, what the server says by
 * itself comes on a GET.
 */
export class HttpConnection extends RemoteConnection<PinnedSession, HttpTransport> {
  private readonly shared: () => boolean;
  private readonly standaloneStream: StandaloneStream;
  /** The first request of the session, until it is answered. */
  private opening: InitializeRequest | undefined;
  /** The server is being asked whether it speaks the era still. */
  private isDoubted = false;
  /** Resolves when the server knows that the session is over. */
  private leaving: Promise<void> = Promise.resolve();

  constructor(target: RemoteTarget, options: HttpOptions) {
    super(target, options);
    this.shared = options.shared;
    this.standaloneStream = new StandaloneStream(this.transport, options.shared);
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

  override newSession(): PinnedSession {
    // A server of the modern era keeps no session, and agrees on nothing.
    return { ...newPinnedSession(), version: this.isModern ? modernVersion : undefined };
  }

  protected override newTransport(): HttpTransport {
    return new HttpTransport(this.name, this.options.reach, this, this.options);
  }

  protected override endAt(reach: Reach, session: PinnedSession): void {
    void endSession(reach, session, 0, this.options.log);
  }

  protected override begin(text: string, method: string, wireId: number): void {
    this.opening = new InitializeRequest(this.transport, text, method, wireId);
  }

  protected override confirmed(session: PinnedSession): void {
    this.standaloneStream.begin(session);
  }

  // TargetConnection

  override use(reach: Reach): void {
    const { reach: before } = this.transport;
    this.transport.reach = reach;
    if (reach.destination === before.destination || this.state !== 'ready') return;
    if ((this.isModern || !this.mayBeginAgain) && sameServer(reach, before)) {
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

  override call(out: Outgoing, waiter: Waiter): number {
    this.standaloneStream.wake();
    return super.call(out, waiter);
  }

  get place(): TargetPlace | undefined {
    if (this.state !== 'ready') return undefined;
    const { id: serverSession, version, endpoint } = this.session;
    return { serverSession, version, address: endpoint?.name };
  }

  setClientListening(wanted: boolean): void {
    this.standaloneStream.setClientListening(wanted, this.isOpen ? this.session : undefined);
  }

  get hearing(): Promise<void> | undefined {
    // The stream is opened when the server knows that the client is initialized.
    return this.settling?.then(() => this.standaloneStream.opening) ?? this.standaloneStream.opening;
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

  override async close(graceMs: number): Promise<void> {
    if (this.state === 'closed') return this.leaving;
    const opening = this.state === 'starting' ? this.opening : undefined;
    this.stop();
    // The server may just have opened a session, which nobody could end later.
    this.transport.inFlight.abandon(opening?.post);
    this.leaving = this.part(graceMs, opening);
    return this.leaving;
  }

  protected override stop(): void {
    super.stop();
    this.standaloneStream.stop();
  }

  private async part(graceMs: number, opening: InitializeRequest | undefined): Promise<void> {
    if (opening !== undefined) await within(endMs(graceMs), opening.answered);
    this.transport.inFlight.abandon();
    await endSession(this.transport.reach, this.session, graceMs, this.options.log);
  }

  // TransportOwner

  /** Asks a server of the modern era again whether it is one. */
  doubted(): void {
    if (this.state !== 'ready' || this.isDoubted) return;
    this.isDoubted = true;
    const { calling } = this.transport;
    const { replay } = this.reinitialization;
    const wireId = calling.nextId();
    const over = (): void => void (this.isDoubted = false);
    calling.add(wireId, {
      answered: (response) => {
        over();
        if (response.isError) this.refused({ response });
      },
      failed: (error) => {
        over();
        this.refused({ error });
      },
    });
    this.transport.limit(wireId, { ms: this.options.limits().mcpCallTimeoutMs });
    this.transport.post(replay.beginning(wireId), replay.method, wireId);
  }

  override lost(session: PinnedSession, why: string, wireId: number, unheard?: UnheardCall): void {
    if (this.state === 'closed' || session !== this.session || this.mayBeginAgain) {
      super.lost(session, why, wireId, unheard);
      return;
    }
    const waiter = wireId === 0 ? undefined : this.transport.calling.take(wireId);
    this.transport.forget(wireId);
    waiter?.failed(new GatewayError('mcp_session_unknown', { detail: why }));
    if (this.state === 'ready') this.gone();
  }

  // ReinitializedConnection

  override down(): void {
    this.standaloneStream.stop();
    super.down();
  }

  override endSession(session: PinnedSession): void {
    super.endSession(session);
    this.standaloneStream.stop();
  }

  /**
   * Is a session that the server does not know begun again? Whoever holds it alone knows that the client has not ended
   * it; of one that others hold as well, only an open stream of the client says so. One that another process has begun
   * cannot be: what the client said in the beginning is not known here. A server of the modern era keeps no session.
   */
  private get mayBeginAgain(): boolean {
    return this.isModern || (!this.options.resumed && (this.standaloneStream.wanted || !this.shared()));
  }

  /** The server does not know the session, which ends with that. */
  private gone(): void {
    this.session = this.newSession();
    this.transport.failAll(new GatewayError('mcp_session_unknown'));
    this.options.listener.onGone(this);
  }
}
