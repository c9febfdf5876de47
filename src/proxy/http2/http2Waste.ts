import type { Socket } from 'node:net';

/** Frames that ask for work and bring no request, such as PING: so many at once, and so many a second. */
const NUISANCE_BURST = 200;
const NUISANCE_RATE = 50;

/** Bytes of frames that brought nothing, in the time between two looks; and more where heads may be longer than usual. */
const WASTE_MOST = 131_072;

/** Finds out about a client of HTTP/2 that keeps us busy with what brings no request. */
export class Http2Waste {
  /** Bytes of heads and bodies since the last look. */
  used = 0;
  private readonly socket: Socket;
  private readonly most: number;
  private readonly found: (reason: string) => void;
  private count = 0;
  private countedAt = Date.now();
  /** All bytes read since the last look, and those written before it. */
  private taken = 0;
  private writtenBefore: number;

  /**
   * @param maxHeadBytes what a head may have before it is one
   * @param found is called with what the client does
   */
  constructor(socket: Socket, maxHeadBytes: number, found: (reason: string) => void) {
    this.socket = socket;
    this.most = Math.max(WASTE_MOST, 2 * maxHeadBytes);
    this.found = found;
    this.writtenBefore = socket.bytesWritten;
  }

  nuisance(): void {
    const now = Date.now();
    this.count = Math.max(0, this.count - ((now - this.countedAt) / 1_000) * NUISANCE_RATE) + 1;
    this.countedAt = now;
    if (this.count > NUISANCE_BURST) this.found('too many frames that ask for nothing');
  }

  read(bytes: number): void {
    this.taken += bytes;
    const allowed = this.most + this.used * 2;
    // A client that reads much says so in many small frames.
    if (this.taken > allowed && this.taken > allowed + (this.socket.bytesWritten - this.writtenBefore) / 10)
      this.found('frames that bring nothing');
  }

  /** Begins anew. */
  look(): void {
    this.taken = 0;
    this.used = 0;
    this.writtenBefore = this.socket.bytesWritten;
  }
}
