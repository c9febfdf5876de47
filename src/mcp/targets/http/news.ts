import type { StreamPlace } from './carrier.ts';
import type { Home } from './home.ts';
import type { Listening } from './serverStream.ts';
import type { Traffic } from './traffic.ts';

/** A client that loses its stream comes back after a second or so, in milliseconds. */
const returnMs = 2_000;
const nowhere: StreamPlace = { lastId: undefined, retryMs: undefined };

/**
 * The stream of what a server says by itself. A server has one for a session and says everything once: where several
 * processes hold the session, the stream is with the one where the client listens.
 */
export class News {
  private readonly traffic: Traffic;
  private readonly shared: () => boolean;
  private listening: Listening | undefined;
  private heard = false;
  /** Until the client that listened is taken to be gone. */
  private parting: NodeJS.Timeout | undefined;

  constructor(traffic: Traffic, shared: () => boolean) {
    this.traffic = traffic;
    this.shared = shared;
  }

  /** A client listens here. */
  get wanted(): boolean {
    return this.heard;
  }

  /** A client listens here from now on, or does so no more. @param home undefined where there is no session now */
  hear(wanted: boolean, home: Home | undefined): void {
    this.heard = wanted;
    clearTimeout(this.parting);
    if (!this.shared()) return;
    if (!wanted) this.parting = setTimeout(() => this.stop(), returnMs).unref();
    else if (this.listening === undefined && home !== undefined) this.open(home);
  }

  /** The session can be listened to from now on. */
  begin(home: Home): void {
    if (this.heard || !this.shared()) this.open(home);
  }

  /** The same session is somewhere else now. */
  move(home: Home): void {
    if (this.listening !== undefined) this.open(home);
  }

  /** Reports activity in the session. */
  wake(): void {
    this.listening?.wake();
  }

  stop(): void {
    clearTimeout(this.parting);
    this.listening?.abandon();
    this.listening = undefined;
  }

  private open(home: Home): void {
    this.stop();
    this.listening = this.traffic.listen(0, home, nowhere, this.shared());
  }
}
