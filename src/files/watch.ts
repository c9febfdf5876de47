import { watch, type FSWatcher } from 'node:fs';
import { watchedNames } from './links.ts';
import { fileMark, quietMs, Settling } from './settling.ts';

export interface FileWatchOptions {
  /** Runs when one of the files may have changed, once after a burst of changes. */
  readonly onChange: () => void;
  /** Time in which the events of one change are gathered. */
  readonly settleMs?: number;
  /** The interval at which the files are checked if the system reports no changes (network file systems). */
  readonly pollMs?: number;
  /** Milliseconds of a clock that does not jump. */
  readonly now?: () => number;
}

/** A timer may fire a little early. */
const marginMs = 50;

/**
 * Watches files that may be replaced, renamed over, removed, created, or reached through links that turn. A file that
 * is written in place is reported once it was left alone for `quietMs`. Holds no process open.
 */
export class FileWatch {
  readonly #onChange: () => void;
  readonly #settleMs: number;
  readonly #poll: NodeJS.Timeout;
  readonly #watchers = new Map<string, FSWatcher>();
  #names = new Map<string, Set<string>>();
  /** File → what it was when it was last reported, and what happens to it since. */
  #seen = new Map<string, Settling>();
  readonly #now: (() => number) | undefined;
  #settling: NodeJS.Timeout | undefined;
  #settlingSince = 0;
  /** The next look at a file that was written in place. */
  #quiet: NodeJS.Timeout | undefined;

  constructor({ onChange, settleMs = 100, pollMs = 2_000, now }: FileWatchOptions) {
    this.#onChange = onChange;
    this.#now = now;
    this.#settleMs = settleMs;
    this.#poll = setInterval(() => {
      // While a change settles, it is not for the poll to cut that short.
      if (this.#settling === undefined) this.#look();
    }, pollMs);
    this.#poll.unref();
  }

  /**
   * Watches exactly these files from now on. What a new one is now counts as known; one that was followed before may
   * have changed since it was last looked at, and that is still reported.
   */
  follow(files: readonly string[]): void {
    this.#seen = new Map(
      files.map((file) => [file, this.#seen.get(file) ?? new Settling(fileMark(file), this.#now)]),
    );
    this.#arm();
  }

  /** Reports whether a file is another one now than it was when its change was reported. */
  isDisturbed(file: string): boolean {
    return this.#seen.get(file)?.isTaken(fileMark(file)) === false;
  }

  /** Looks at the files now, as the poll does. */
  look(): void {
    this.#look();
  }

  close(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#settling);
    clearTimeout(this.#quiet);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#seen.clear();
  }

  /** Directories are watched, not files: a watched file that is replaced by another one is never heard of again. */
  #arm(): void {
    this.#names = new Map();
    for (const file of this.#seen.keys())
      for (const [directory, names] of watchedNames(file)) {
        const known = this.#names.get(directory) ?? new Set();
        for (const name of names) known.add(name);
        this.#names.set(directory, known);
      }
    for (const [directory, watcher] of this.#watchers)
      if (!this.#names.has(directory)) {
        watcher.close();
        this.#watchers.delete(directory);
      }
    for (const directory of this.#names.keys()) if (!this.#watchers.has(directory)) this.#watch(directory);
  }

  #watch(directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, (event, name) => {
        if (name !== null && this.#names.get(directory)?.has(name) !== true) return;
        // The name itself is written to; a rename over it is no `change`.
        if (event === 'change' && name !== null) this.#written(directory, name);
        this.#settle();
      });
      // A directory that is removed: the poll finds out when it is back, and `#arm` watches it again.
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(directory);
      });
      this.#watchers.set(directory, watcher);
    } catch {
      // The directory is not there or cannot be watched: the poll is enough.
    }
  }

  #written(directory: string, name: string): void {
    for (const [file, settling] of this.#seen)
      if (watchedNames(file).get(directory)?.has(name) === true) settling.written();
  }

  #settle(): void {
    const now = Date.now();
    if (this.#settling === undefined) this.#settlingSince = now;
    // A file that is written all the time is looked at all the same.
    else if (now - this.#settlingSince > this.#settleMs * 10) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#settling = undefined;
      this.#look();
    }, this.#settleMs);
    this.#settling.unref();
  }

  #look(): void {
    let due = false;
    let waits = false;
    for (const [file, settling] of this.#seen) {
      if (settling.due(fileMark(file))) due = true;
      waits ||= settling.waits;
    }
    clearTimeout(this.#quiet);
    // The next look must not depend on a further event of the file.
    if (waits) this.#quiet = setTimeout(() => this.#look(), quietMs + marginMs).unref();
    if (!due) return;
    // A removed directory leaves a watcher behind that will never speak again.
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#arm();
    this.#onChange();
  }
}
