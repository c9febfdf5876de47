import { readSealed } from './chain.ts';
import { timeOf } from './epochCheck.ts';
import { fileLines } from './fileLines.ts';
import { lineStart } from './lines.ts';

/** The contents of a file, as far as they decide about its order. */
interface Outline {
  readonly file: string;
  /** The time of the first line. */
  readonly time: number;
  /** The lowest number of each epoch. */
  readonly epochs: ReadonlyMap<string, number>;
}

/**
 * Files in the order in which they were written. The numbers of an epoch decide between files that have lines of it: the
 * time of a line is the beginning of its operation, and a stream may have begun before an older file did. Between other
 * files the time of the first line decides.
 */
export async function filesInOrder(files: readonly string[]): Promise<readonly string[]> {
  if (files.length === 1) return files;
  const left: Outline[] = [];
  for (const file of files) left.push(await outlineOf(file));
  left.sort((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)));
  const ordered: string[] = [];
  while (left.length > 0) {
    const next = left.findIndex((one) => !left.some((other) => goesBefore(other, one)));
    // Numbers that contradict each other are none of the gateway: any order shows them.
    const [taken] = left.splice(Math.max(0, next), 1);
    if (taken !== undefined) ordered.push(taken.file);
  }
  return ordered;
}

/** Has a file an earlier part of an epoch than another file? */
function goesBefore(one: Outline, other: Outline): boolean {
  for (const [epoch, seq] of other.epochs) {
    const lowest = one.epochs.get(epoch);
    if (lowest !== undefined && lowest < seq) return true;
  }
  return false;
}

async function outlineOf(file: string): Promise<Outline> {
  let time = Number.POSITIVE_INFINITY;
  const epochs = new Map<string, number>();
  for await (const text of fileLines(file)) {
    if (!text.startsWith(lineStart)) continue;
    if (time === Number.POSITIVE_INFINITY) time = timeOf(text);
    const line = readSealed(text);
    if (line === undefined) continue;
    const lowest = epochs.get(line.epoch);
    if (lowest === undefined || line.seq < lowest) epochs.set(line.epoch, line.seq);
  }
  return { file, time, epochs };
}
