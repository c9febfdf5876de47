import { lineStart } from './lines.ts';

/** Lines that are shown, and bytes that are kept for them. */
export const lastLinesLimits = { lines: 1_000, bytes: 2_097_152 };

/** The last lines of the stream of this process, for the operator's pages. Lines that no sink got yet are not among them. */
export class LastLines {
  /** Whole lines, as sinks get them: keeping them costs no copy. */
  private readonly batches: Buffer[] = [];
  private bytes = 0;

  /** @param batch whole lines; their bytes change no more */
  add(batch: Buffer): void {
    this.batches.push(batch);
    this.bytes += batch.length;
    while (this.bytes > lastLinesLimits.bytes && this.batches.length > 1)
      this.bytes -= this.batches.shift()?.length ?? 0;
  }

  /** The lines as JSON, the oldest first. */
  get all(): readonly string[] {
    const lines: string[] = [];
    for (const batch of this.batches.toReversed()) {
      if (lines.length >= lastLinesLimits.lines) break;
      lines.unshift(...batch.toString().trimEnd().split('\n').slice(-lastLinesLimits.lines));
    }
    return lines.slice(-lastLinesLimits.lines);
  }
}

const timeOf = (line: string): number => Number.parseInt(line.slice(lineStart.length), 10);

/** Lines of several processes, the oldest first. */
export const inOrder = (lines: readonly string[]): readonly string[] =>
  lines.toSorted((a, b) => timeOf(a) - timeOf(b));
