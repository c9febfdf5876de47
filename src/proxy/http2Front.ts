import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Http2Frames } from '../http/index.ts';

/** Whose connection it is. */
export interface FrontOwner {
  /** A PING of ours has no answer yet. */
  readonly pinging: boolean;
  /** The client sent what it must not; the code of RFC 9113 §7 that the connection is to end with. Called once. */
  malformed(code: number): void;
}

/**
 * Stands between a connection and the codec of HTTP/2, to look at frames before the codec does. Bytes that go out pass
 * as they are.
 */
export class Http2Front extends Duplex {
  private readonly socket: Socket;

  constructor(socket: Socket, owner: FrontOwner) {
    super({ allowHalfOpen: true });
    this.socket = socket;
    let more = true;
    const frames = new Http2Frames({
      take: (bytes) => void (more = this.push(bytes) && more),
      get pinging() {
        return owner.pinging;
      },
    });
    let broken = false;
    socket.on('data', (bytes: Buffer) => {
      // Whatever else comes is not looked at any more.
      if (broken) return;
      more = true;
      const error = frames.take(bytes);
      if (error !== undefined) {
        broken = true;
        owner.malformed(error);
      } else if (!more) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
  }

  override _read(): void {
    if (this.socket.isPaused()) this.socket.resume();
  }

  // Nothing is held back here: what is written goes to the connection, and its end is awaited there.

  /** As the codec calls it: bytes, and who waits for them. */
  override write(bytes: Buffer, done?: unknown): boolean {
    return this.socket.write(bytes, done as (error?: Error | null) => void);
  }

  override cork(): void {
    this.socket.cork();
  }

  override uncork(): void {
    this.socket.uncork();
  }

  override _final(done: () => void): void {
    this.socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }
}
