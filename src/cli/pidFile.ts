import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** A file that says which process is the gateway. */
export class PidFile {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Whoever reads it sees either the whole old content or the whole new one.
   * @throws Error of the file system
   */
  write(): void {
    const next = `${this.#path}.${process.pid}`;
    writeFileSync(next, `${process.pid}\n`);
    renameSync(next, this.#path);
  }

  /** Removes it, where it is not another process's by now. Never throws. */
  remove(): void {
    try {
      if (readFileSync(this.#path, 'utf8') === `${process.pid}\n`) rmSync(this.#path);
    } catch {
      // Somebody else has removed it.
    }
  }
}
