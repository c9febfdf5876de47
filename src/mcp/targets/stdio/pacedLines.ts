import type { LineSplitter } from '../../../http/index.ts';
import type { FairReader } from '../../../upstream/index.ts';

/** Lines of one child in a turn of the event loop. A read of 64 KiB has room for 32,000 lines of one character. */
const mostLines = 512;
/** A read that fills the memory: more bytes wait. */
const fullRead = 65_536;

/** Divides the output of a child into lines, not too many of them in one turn, so that others have theirs. */
export class PacedLines {
  private readonly lines: LineSplitter;
  private readonly reads: FairReader;
  /** Bytes for later turns. */
  private rest: Buffer | undefined;

  constructor(lines: LineSplitter, reads: FairReader) {
    this.lines = lines;
    this.reads = reads;
  }

  /** @param memory whose first `length` bytes are the next ones; its owner overwrites it afterwards */
  take(memory: Buffer, length: number): void {
    const { lines, reads, rest } = this;
    if (rest !== undefined) {
      // Node resumes the streams of a child that ended, whoever has paused them.
      this.rest = Buffer.concat([rest, memory.subarray(0, length)]);
      reads.workOff(this.goOn);
      return;
    }
    const end = endOfTurn(memory, length);
    lines.pushFrom(memory, end);
    if (end < length) {
      this.rest = Buffer.from(memory.subarray(end, length));
      reads.workOff(this.goOn);
    } else if (length >= fullRead || lines.isInLarge) reads.noteRead();
  }

  /** The stream ended. */
  end(): void {
    if (this.rest !== undefined) this.lines.push(this.rest);
    this.rest = undefined;
    this.lines.end();
  }

  private readonly goOn = (): boolean => {
    const { rest } = this;
    if (rest === undefined) return false;
    const end = endOfTurn(rest, rest.length);
    this.rest = end < rest.length ? rest.subarray(end) : undefined;
    this.lines.pushFrom(rest, end);
    return this.rest !== undefined;
  };
}

/** The end of the lines for one turn. */
function endOfTurn(bytes: Buffer, length: number): number {
  let end = 0;
  for (let left = mostLines; left > 0; left--) {
    // Each line has a byte at least.
    if (length - end < left) return length;
    const at = bytes.indexOf(0x0a, end);
    if (at < 0 || at >= length) return length;
    end = at + 1;
  }
  return end;
}
