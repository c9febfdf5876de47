import type { Chain, ChainPlace } from './chain.ts';

/** Whole lines for one write of a sink. They stay as they are until they are given back. */
export interface Piece {
  readonly bytes: Buffer;
  /** The memory that the bytes are the beginning of. */
  readonly memory: Buffer;
  readonly lines: number;
  /** The last line in the chain; undefined without one. */
  readonly place: ChainPlace | undefined;
}

interface OpenPiece {
  /** Whole lines. */
  readonly buffer: Buffer;
  used: number;
  lines: number;
  /** The last line in the chain, where no more lines follow in this piece. */
  place: ChainPlace | undefined;
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
  /** The memory for the next piece. A new one would be pages that the system has to clear. */
  private spare: Buffer | undefined;
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

  /** Takes a line, and seals it into the chain. @param line without its closing brace */
  push(line: string): void {
    const { chain } = this;
    const most = chain?.mostBytes(line) ?? line.length * maxBytesOfUnit + lineEnd.length;
    let piece = this.pieces.at(-1);
    if (piece === undefined || piece.buffer.length - piece.used < most) piece = this.begin(most);
    const { buffer, used } = piece;
    piece.used = chain?.seal(line, buffer, used) ?? used + buffer.write(line + lineEnd, used);
    piece.lines++;
    this.length += piece.used - used;
    this.count++;
  }

  /** Takes the oldest lines out; undefined where none wait. */
  shift(): Piece | undefined {
    const piece = this.pieces.shift();
    if (piece === undefined) return undefined;
    const { buffer, used, lines } = piece;
    this.length -= used;
    this.count -= lines;
    const bytes = buffer.subarray(0, used);
    return { bytes, memory: buffer, lines, place: piece.place ?? this.chain?.place };
  }

  /** The lines of a piece are stored, and nobody reads its bytes any more. */
  giveBack({ memory }: Piece): void {
    if (memory.length === this.capacity) this.spare ??= memory;
  }

  private begin(most: number): OpenPiece {
    const last = this.pieces.at(-1);
    if (last !== undefined) last.place = this.chain?.place;
    const isUsual = most <= this.capacity;
    const buffer =
      (isUsual ? this.spare : undefined) ?? Buffer.allocUnsafeSlow(isUsual ? this.capacity : most);
    if (isUsual) this.spare = undefined;
    const piece = { buffer, used: 0, lines: 0, place: undefined };
    this.pieces.push(piece);
    return piece;
  }
}
