import { readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { writeAtomically } from '../operatorSecret.ts';

/** The file with the first link to the console, for a gateway that runs without a terminal. */
export class LinkFile {
  readonly file: string;
  private readonly url: string;

  private constructor(file: string, url: string) {
    this.file = file;
    this.url = url;
  }

  /**
   * Writes the link beside the secret of the operator, for the same user only.
   * @throws Error where it cannot be written
   */
  static write(secretFile: string, url: string): LinkFile {
    const file = join(dirname(secretFile), basename(secretFile).replace(/^admin-/, 'console-'));
    writeAtomically(file, url);
    return new LinkFile(file, url);
  }

  /** Removes the file, unless another gateway has replaced it. Never throws. */
  remove(): void {
    try {
      if (readFileSync(this.file, 'latin1') === `${this.url}\n`) rmSync(this.file);
    } catch {
      // The file is gone already.
    }
  }
}
