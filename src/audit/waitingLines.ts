import type { Chain, ChainPlace } from './chain.ts';

/** Whole lines for one write of a sink. */
export interface Piece {
  readonly bytes: Buffer;
  readonly lines: number;
  /** The last line in the chain; undefined without one. */
  readonly place: ChainPlace | undefined;
}

interface OpenPiece {
  /** Lines without their ends. */
  readonly buffer: Buffer;
  used: number;
  /** The end of each line in the buffer. */
  readonly ends: number[];
}

/** Bytes of UTF-8 for one unit of a JavaScript string, at most. */
const maxBytesOfUnit = 3;
const lineEnd = '}\n';

/**
 * Lines that wait for a sink. Each becomes bytes at once: a line is a text of many parts, and the garbage collector
 * would copy all those parts while the line waits.
 */
export class WaitingLines {
  private readonly chain: Chain | undefined;
  private readonly capacity: number;
  private readonly pieces: OpenPiece[] = [];
  /** Bytes of all lines. */
  length = 0;
  /** The number of all lines. */
  count = 0;

  /** @param capacity bytes of a piece; a longer line gets a piece of its own */
  constructor(chain: Chain | undefined, capacity: number) {
    this.chain = chain;
    this.capacity = capacity;
  }

  /** A piece is full, and a sink can store it without waiting for more. */
  get hasFullPiece(): boolean {
    return this.pieces.length > 1;
  }

  /** @param line without its closing brace */
  push(line: string): void {
    const most = line.length * maxBytesOfUnit;
    let piece = this.pieces.at(-1);
    if (piece === undefined || piece.buffer.length - piece.used < most) {
      // A pooled buffer would keep the whole pool alive.
      piece = { buffer: Buffer.allocUnsafeSlow(Math.max(this.capacity, most)), used: 0, ends: [] };
      this.pieces.push(piece);
    }
    const bytes = piece.buffer.write(line, piece.used);
    piece.used += bytes;
    piece.ends.push(piece.used);
    this.length += bytes;
    this.count++;
  }

  /** Takes the oldest lines out, and seals them into the chain; undefined where none wait. */
  shift(): Piece | undefined {
    const piece = this.pieces.shift();
    if (piece === undefined) return undefined;
    const { chain } = this;
    const { buffer, used, ends } = piece;
    this.length -= used;
    this.count -= ends.length;
    const bytes = Buffer.allocUnsafeSlow(used + ends.length * (chain?.maxSeal ?? lineEnd.length));
    let start = 0;
    let at = 0;
    for (const end of ends) {
      const after = at + buffer.copy(bytes, at, start, end);
      at = chain === undefined ? after + bytes.write(lineEnd, after) : chain.seal(bytes, at, after);
      start = end;
    }
    return { bytes: bytes.subarray(0, at), lines: ends.length, place: chain?.place };
  }
}
