import { randomUUID } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** A file that says which process is the gateway. */
export class PidFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * A reader sees either the whole old content or the whole new one. The draft has a name that no other account can
   * guess, and `wx` refuses an existing file: so a symbolic link planted beside the file is never followed.
   * @throws Error of the file system
   */
  write(): void {
    const draft = `${this.#path}.${randomUUID()}`;
    writeFileSync(draft, `${process.pid}\n`, { flag: 'wx', mode: 0o644 });
    try {
      renameSync(draft, this.#path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  }

  /** Removes it, where it is not another process's by now. Never throws. */
  remove(): void {
    try {
      if (readFileSync(this.#path, 'utf8') === `${process.pid}\n`) rmSync(this.#path);
    } catch {
      // Another process has removed it.
    }
  }
}
