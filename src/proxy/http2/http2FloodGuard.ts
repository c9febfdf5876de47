import type { Socket } from 'node:net';

/** Frames that ask for work and bring no request, such as PING: so many at once, and so many a second. */
const CONTROL_BURST = 200;
const CONTROL_RATE = 50;

/** Bytes of frames that brought nothing, in the time between two looks; and more where heads may be longer than usual. */
const MAX_USELESS_BYTES = 131_072;

/** Finds out about a client of HTTP/2 that keeps us busy with what brings no request. */
export class Http2FloodGuard {
  /** Bytes of heads and bodies since the last look. */
  usefulBytes = 0;
  private readonly socket: Socket;
  private readonly most: number;
  private readonly onFlood: (reason: string) => void;
  private count = 0;
  private countedAt = Date.now();
  /** All bytes read since the last look, and those written before it. */
  private readBytes = 0;
  private writtenBefore: number;

  /**
   * @param maxHeadBytes what a head may have before it is one
   * @param found is called with what the client does
   */
  constructor(socket: Socket, maxHeadBytes: number, found: (reason: string) => void) {
    this.socket = socket;
    this.most = Math.max(MAX_USELESS_BYTES, 2 * maxHeadBytes);
    this.onFlood = found;
    this.writtenBefore = socket.bytesWritten;
  }

  countControlFrame(): void {
    const now = Date.now();
    this.count = Math.max(0, this.count - ((now - this.countedAt) / 1_000) * CONTROL_RATE) + 1;
    this.countedAt = now;
    if (this.count > CONTROL_BURST) this.onFlood('too many frames that ask for nothing');
  }

  read(bytes: number): void {
    this.readBytes += bytes;
    const allowed = this.most + this.usefulBytes * 2;
    // A client that reads much says so in many small frames.
    if (
      this.readBytes > allowed &&
      this.readBytes > allowed + (this.socket.bytesWritten - this.writtenBefore) / 10
    )
      this.onFlood('frames that bring nothing');
  }

  /** Begins anew. */
  reset(): void {
    this.readBytes = 0;
    this.usefulBytes = 0;
    this.writtenBefore = this.socket.bytesWritten;
  }
}
