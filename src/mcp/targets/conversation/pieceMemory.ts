/**
 * The memory of a piece of a large response. V8 collects buffers outside its heap late, and with a collection of the
 * whole heap. So the gateway gives this memory back itself, once all parts of the piece are written.
 */
export class PieceMemory {
  private readonly memory: ArrayBufferLike | undefined;
  /** The reader of the piece, and each part that is not written yet. */
  private users = 1;

  constructor(piece: Buffer) {
    const { buffer, length } = piece;
    // Other buffers may lie in the same memory: Node puts small ones side by side, and a piece may be a part of a read.
    this.memory = length > 0 && buffer.byteLength === length ? buffer : undefined;
  }

  /** A part of the piece is to be written. @returns the function to call when it is written */
  lend(): () => void {
    this.users++;
    return this.release;
  }

  /** A user of the memory needs it no more; each calls this once. */
  readonly release = (): void => {
    // A buffer without memory is empty, so a mistake here cannot show bytes of another response.
    if (--this.users === 0 && this.memory instanceof ArrayBuffer) this.memory.transfer(0);
  };
}
