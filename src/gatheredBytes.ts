/** Most bytes that are made ready for an announced length before any of them has come. */
const FIRST = 262_144;
const EMPTY = Buffer.alloc(0);

/**
 * Bytes of a peer, gathered in memory. One growing buffer and not a list of pieces: bytes that come in pieces of one
 * would otherwise cost a hundred times their size.
 */
export class GatheredBytes {
  length = 0;
  private buffer: Buffer<ArrayBuffer> | undefined;
  private readonly expected: number;

  /** @param expected their number where that is known, -1 otherwise */
  constructor(expected = -1) {
    this.expected = expected;
  }

  /** Adds the last piece. @returns the whole, of which nothing is left here */
  finish(bytes: Buffer, from: number, to: number): Buffer {
    // They came in one piece: no copy.
    if (this.buffer === undefined) return bytes.subarray(from, to);
    this.add(bytes, from, to);
    const whole = this.whole();
    this.buffer = undefined;
    this.length = 0;
    return whole;
  }

  /** The whole, as far as it has come. */
  whole(): Buffer<ArrayBuffer> {
    return this.buffer?.subarray(0, this.length) ?? EMPTY;
  }

  /** The whole, in memory of its own where it is large. None of it is left here, and former results are empty. */
  takeWhole(): Buffer<ArrayBuffer> {
    const { buffer, length } = this;
    if (buffer === undefined) return EMPTY;
    this.buffer = undefined;
    this.length = 0;
    const { buffer: memory } = buffer;
    // Small buffers lie side by side in memory that they share.
    if (memory.byteLength !== buffer.length) return buffer.subarray(0, length);
    return Buffer.from(memory.transfer(length));
  }

  add(bytes: Uint8Array, from = 0, to = bytes.length): void {
    const length = this.length + to - from;
    if (this.buffer === undefined || length > this.buffer.length) {
      // A peer can announce any length and send nothing: memory grows with what has come.
      const hinted = Math.min(this.expected, FIRST);
      // More than announced still doubles: to grow by each piece would copy the whole for each.
      const most = length > this.expected ? Infinity : this.expected;
      const doubled = Math.min(2 * this.length, most);
      const grown = Buffer.allocUnsafe(Math.max(length, hinted, doubled, 1_024));
      this.buffer?.copy(grown, 0, 0, this.length);
      this.buffer = grown;
    }
    if (from === 0 && to === bytes.length) this.buffer.set(bytes, this.length);
    else this.buffer.set(bytes.subarray(from, to), this.length);
    this.length = length;
  }
}

/**
 * All bytes of a stream. It is read no further where there are too many.
 * @param tooLarge makes the error that is thrown where there are more than `most`
 */
export async function gather(
  pieces: AsyncIterable<Uint8Array>,
  most: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const gathered = new GatheredBytes();
  for await (const piece of pieces) {
    if (gathered.length + piece.length > most) throw tooLarge();
    gathered.add(piece);
  }
  return gathered.whole();
}
