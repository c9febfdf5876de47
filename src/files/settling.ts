import { realpathSync, statSync, type BigIntStats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';

/** A file that was changed in place counts once it was left alone for this long. */
export const quietMs = 2_000;

/** Tells versions of a file apart. */
export interface FileMark {
  /** The identity of the file: another one after a rename or the turn of a link. Empty where there is none. */
  readonly identity: string;
  /** Changes with every write to that file, and with its owner and permissions, which may have forbidden to read it. */
  readonly version: string;
}

const absent: FileMark = { identity: '', version: '' };

const markOf = (path: string, { dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): FileMark => ({
  identity: `${path} ${dev} ${ino}`,
  // The clock of a file system is coarse, so the mode is a part, too.
  version: `${size} ${mtimeNs} ${ctimeNs} ${mode}`,
});

export const fileMark = (file: string): FileMark => {
  try {
    return markOf(realpathSync(file), statSync(file, { bigint: true }));
  } catch {
    return absent;
  }
};

export const fileMarkLater = async (file: string): Promise<FileMark> => {
  try {
    return markOf(await realpath(file), await stat(file, { bigint: true }));
  } catch {
    return absent;
  }
};

const same = (a: FileMark, b: FileMark): boolean => a.identity === b.identity && a.version === b.version;

/**
 * Decides when a change of one file may be read. A program that writes in place leaves the file half written for a
 * while, and half a configuration may be one without its policies. A file that takes the place of another one by a
 * rename or a link was complete before.
 */
export class Settling {
  private readonly now: () => number;
  private taken: FileMark;
  private pending: { readonly mark: FileMark; readonly since: number } | undefined;
  private inPlace = false;

  /**
   * @param taken the version that is in use
   * @param now milliseconds of a clock that does not jump
   */
  constructor(taken: FileMark, now: () => number = () => performance.now()) {
    this.taken = taken;
    this.now = now;
  }

  /** A program writes to the file under this very name. */
  written(): void {
    this.inPlace = true;
  }

  /**
   * Looks at the file.
   * @returns whether its content may be read now; the version then counts as taken
   */
  due(mark: FileMark): boolean {
    if (same(mark, this.taken)) {
      this.pending = undefined;
      this.inPlace = false;
      return false;
    }
    // A file that was missing is mostly being written right now.
    const replaced = mark.identity !== this.taken.identity && this.taken.identity !== '' && !this.inPlace;
    if (mark.identity === '' || replaced) return this.take(mark);
    if (this.pending === undefined || !same(mark, this.pending.mark)) {
      this.pending = { mark, since: this.now() };
      return false;
    }
    return this.now() - this.pending.since >= quietMs && this.take(mark);
  }

  isTaken(mark: FileMark): boolean {
    return same(mark, this.taken);
  }

  /** A change waits until the file is left alone. */
  get waits(): boolean {
    return this.pending !== undefined;
  }

  private take(mark: FileMark): true {
    this.taken = mark;
    this.pending = undefined;
    this.inPlace = false;
    return true;
  }
}
