import type { StreamPlace } from './streamHost.ts';
import type { PinnedSession } from '../conversation/pinnedSession.ts';
import type { ServerStream } from './serverStream.ts';
import type { HttpTransport } from './httpTransport.ts';

/** A client that loses its stream comes back after a second or so, in milliseconds. */
const returnMs = 2_000;
const nowhere: StreamPlace = { lastId: undefined, retryMs: undefined };

/**
 * The stream on which a server sends messages of its own accord. A server sends each message once: where several
 * processes hold the session, the stream is with the one where the client listens.
 */
export class StandaloneStream {
  private readonly transport: HttpTransport;
  private readonly shared: () => boolean;
  private listening: ServerStream | undefined;
  private clientListens = false;
  /** Until the client that listened is taken to be gone. */
  private stopTimer: NodeJS.Timeout | undefined;

  constructor(transport: HttpTransport, shared: () => boolean) {
    this.transport = transport;
    this.shared = shared;
  }

  /** A client listens here. */
  get wanted(): boolean {
    return this.clientListens;
  }

  /** Records whether a client listens here. @param session undefined where there is no session now */
  setClientListening(wanted: boolean, session: PinnedSession | undefined): void {
    this.clientListens = wanted;
    clearTimeout(this.stopTimer);
    if (!this.shared()) return;
    if (!wanted) this.stopTimer = setTimeout(() => this.stop(), returnMs).unref();
    else if (this.listening === undefined && session !== undefined) this.open(session);
  }

  /** Resolves when the server has opened or refused the stream, or takes too long; undefined where it need not. */
  get opening(): Promise<void> | undefined {
    return this.listening?.opening;
  }

  /** The session can be listened to from now on. */
  begin(session: PinnedSession): void {
    if (this.clientListens || !this.shared()) this.open(session);
  }

  /** The same session is somewhere else now. */
  move(session: PinnedSession): void {
    if (this.listening !== undefined) this.open(session);
  }

  /** Reports activity in the session. */
  wake(): void {
    this.listening?.wake();
  }

  stop(): void {
    clearTimeout(this.stopTimer);
    this.listening?.abandon();
    this.listening = undefined;
  }

  private open(session: PinnedSession): void {
    this.stop();
    this.listening = this.transport.listen(0, session, nowhere, this.shared());
  }
}
