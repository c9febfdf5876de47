const LF = 10;

/** Bytes of a connection that were read and not yet consumed. */
export class ReadBuffer {
  bytes: Buffer | undefined;
  /** Pieces of a head that grew without finishing a line: parsing them again would find nothing new. */
  private pieces: Buffer[] | undefined;
  private piecesLength = 0;

  get length(): number {
    return this.bytes === undefined ? 0 : this.bytes.length;
  }

  get empty(): boolean {
    return this.bytes === undefined && this.pieces === undefined;
  }

  /** Adds bytes to an unfinished head. @returns false while there is no point in parsing again */
  gather(more: Buffer, maxHeadBytes: number): boolean {
    if (this.bytes === undefined) {
      this.bytes = more;
      return true;
    }
    (this.pieces ??= []).push(more);
    this.piecesLength += more.length;
    if (!more.includes(LF) && this.bytes.length + this.piecesLength <= maxHeadBytes) return false;
    this.bytes = Buffer.concat([this.bytes, ...this.pieces]);
    this.pieces = undefined;
    this.piecesLength = 0;
    return true;
  }

  /** Adds bytes that nobody waits for yet. */
  append(more: Buffer): void {
    this.bytes = this.bytes === undefined ? more : Buffer.concat([this.bytes, more]);
  }

  take(): Buffer | undefined {
    const { bytes } = this;
    this.bytes = undefined;
    return bytes;
  }

  clear(): void {
    this.bytes = undefined;
    this.pieces = undefined;
    this.piecesLength = 0;
  }
}
