import { lineStart } from './lines.ts';

/** Lines that are shown, and bytes that are kept for them. */
export const lastLinesLimits = { lines: 1_000, bytes: 2_097_152 };

/** The last lines of the stream of this process, for the operator's pages. Lines that no sink got yet are not among them. */
export class LastLines {
  /** A ring: batches that stayed themselves would be garbage that only a full collection finds. */
  private ring: Buffer | undefined;
  private at = 0;
  private isFull = false;

  /** @param batch whole lines */
  add(batch: Buffer): void {
    this.ring ??= Buffer.allocUnsafeSlow(lastLinesLimits.bytes);
    let from = Math.max(0, batch.length - this.ring.length);
    if (from > 0) this.isFull = true;
    while (from < batch.length) {
      const copied = batch.copy(this.ring, this.at, from);
      from += copied;
      this.at += copied;
      if (this.at < this.ring.length) continue;
      this.at = 0;
      this.isFull = true;
    }
  }

  /** The lines as JSON, the oldest first. */
  get all(): readonly string[] {
    const { ring, at, isFull } = this;
    if (ring === undefined) return [];
    const older = isFull ? ring.subarray(at) : ring.subarray(0, 0);
    const lines = Buffer.concat([older, ring.subarray(0, at)])
      .toString()
      .trimEnd()
      .split('\n');
    // The oldest line has lost its beginning.
    if (isFull) lines.shift();
    return lines.slice(-lastLinesLimits.lines);
  }
}

const timeOf = (line: string): number => Number.parseInt(line.slice(lineStart.length), 10);

/** Lines of several processes, the oldest first. */
export const inOrder = (lines: readonly string[]): readonly string[] =>
  lines.toSorted((a, b) => timeOf(a) - timeOf(b));
