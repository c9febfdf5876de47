import { hash } from 'node:crypto';
import type { Clock } from '../../stream/index.ts';

/** So many times something is put back at once. */
const freely = 2;
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** After so long without a fight it is forgotten. */
const peaceMs = 2 * longestPauseMs;

interface WriteRecord {
  readonly mark: string;
  /** The number of times that the same status was written again. */
  readonly again: number;
  readonly at: number;
}

/**
 * Notices that somebody else keeps replacing what is written: the same is written again and again, each time a while
 * later. Without this, two controllers that differ about an object would write as fast as they can.
 */
export class ConflictBackoff {
  readonly #clock: Clock;
  readonly #said = new Map<string, WriteRecord>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds to wait before this is written. */
  pauseFor(key: string, status: object): number {
    const said = this.#said.get(key);
    if (said === undefined || said.again < freely || said.mark !== markOf(status)) return 0;
    const pauseMs = Math.min(firstPauseMs * 2 ** (said.again - freely), longestPauseMs);
    return Math.max(0, said.at + pauseMs - this.#clock.now());
  }

  /** It was written. */
  note(key: string, status: object): void {
    const said = this.#said.get(key);
    const at = this.#clock.now();
    const mark = markOf(status);
    const goesOn = said?.mark === mark && at - said.at < peaceMs;
    this.#said.set(key, { mark, again: goesOn ? said.again + 1 : 0, at });
  }

  /** Forgets all others. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#said.keys()) if (!keys.has(key)) this.#said.delete(key);
  }
}

/**
 * The mark of the content, without the time of its change. In a text, quotes are escaped, so nothing else looks
 * like that.
 */
const markOf = (status: object): string =>
  hash('sha256', JSON.stringify(status).replace(/"lastTransitionTime":"[^"]*"/g, ''), 'base64');
