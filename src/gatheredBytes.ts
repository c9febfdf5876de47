/** Most bytes that are made ready for an announced length before any of them has come. */
const FIRST = 262_144;

/**
 * A body gathered in memory. One growing buffer and not a list of pieces: a body that comes in one-byte chunks would
 * otherwise cost a hundred times its size.
 */
export class WholeBody {
  length = 0;
  private buffer: Buffer | undefined;
  private readonly expected: number;

  /** @param expected its length in bytes where that is known, -1 otherwise */
  constructor(expected: number) {
    this.expected = expected;
  }

  /** Adds the last piece. @returns the whole */
  finish(bytes: Buffer, from: number, to: number): Buffer {
    // It came in one piece: no copy.
    if (this.buffer === undefined) return bytes.subarray(from, to);
    this.add(bytes, from, to);
    return this.buffer.subarray(0, this.length);
  }

  add(bytes: Buffer, from: number, to: number): void {
    const length = this.length + to - from;
    if (this.buffer === undefined || length > this.buffer.length) {
      // A client can announce any length and send nothing: memory grows with what has come.
      const hinted = Math.min(this.expected, FIRST);
      // More than announced still doubles: to grow by each piece would copy the whole for each.
      const most = length > this.expected ? Infinity : this.expected;
      const doubled = Math.min(2 * this.length, most);
      const grown = Buffer.allocUnsafe(Math.max(length, hinted, doubled, 1_024));
      this.buffer?.copy(grown, 0, 0, this.length);
      this.buffer = grown;
    }
    bytes.copy(this.buffer, this.length, from, to);
    this.length = length;
  }
}
