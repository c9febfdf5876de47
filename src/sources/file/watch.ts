import { realpathSync, statSync, watch, type FSWatcher } from 'node:fs';
import { watchedNames } from './links.ts';

export interface FileWatchOptions {
  /** Runs when one of the files may have changed, once after a burst of changes. */
  readonly onChange: () => void;
  /** Quiet time after a change before it counts, so that a file that is just being written is not read half. */
  readonly settleMs?: number;
  /** How often the files are looked at where the system reports no changes (network file systems). */
  readonly pollMs?: number;
}

/**
 * Watches files that may be replaced, renamed over, removed, created, or reached through links that turn. Holds no
 * process open.
 */
export class FileWatch {
  readonly #onChange: () => void;
  readonly #settleMs: number;
  readonly #poll: NodeJS.Timeout;
  readonly #watchers = new Map<string, FSWatcher>();
  #names = new Map<string, Set<string>>();
  /** File → what it was when it was last looked at. */
  #seen = new Map<string, string>();
  #settling: NodeJS.Timeout | undefined;
  #settlingSince = 0;

  constructor({ onChange, settleMs = 100, pollMs = 2_000 }: FileWatchOptions) {
    this.#onChange = onChange;
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
    this.#seen = new Map(files.map((file) => [file, this.#seen.get(file) ?? fileSignature(file)]));
    this.#arm();
  }

  close(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#settling);
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
      const watcher = watch(directory, { persistent: false }, (_event, name) => {
        if (name === null || this.#names.get(directory)?.has(name) === true) this.#settle();
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
    const now = new Map([...this.#seen.keys()].map((file) => [file, fileSignature(file)]));
    if ([...now].every(([file, signature]) => signature === this.#seen.get(file))) return;
    this.#seen = now;
    // A removed directory leaves a watcher behind that will never speak again.
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#arm();
    this.#onChange();
  }
}

function fileSignature(file: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true });
    return [realpathSync(file), dev, ino, size, mtimeNs].join(' ');
  } catch {
    return 'missing';
  }
}
