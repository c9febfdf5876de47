import { readFileSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Logger } from '../telemetry/index.ts';
import { readKeyList, type KeyList } from './keyList.ts';

export interface FileOptions {
  readonly file: string;
  readonly log: Logger;
  readonly pollMs: number;
  readonly onKeys: (keys: KeyList) => void;
  readonly onFailure: (problem: string) => void;
}

const maxBytes = 1_048_576;

/**
 * Reads a key set from a file, now and whenever it changes. Polled: that also sees the symlink swap of a ConfigMap.
 * What is compared is the state at the last read, taken before it, so that no change falls in between
 * (`fs.watchFile` takes its first look later and can miss one).
 */
export class FileKeys {
  private readonly options: FileOptions;
  private readonly timer: NodeJS.Timeout;
  private seen = '';

  constructor(options: FileOptions) {
    this.options = options;
    this.read();
    this.timer = setInterval(() => void this.look(), options.pollMs);
    this.timer.unref();
  }

  refetch(): undefined {
    return undefined;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const now = await stat(this.options.file).then(mark, () => 'absent');
    if (now !== this.seen) this.read();
  }

  private read(): void {
    const { file, log, onKeys, onFailure } = this.options;
    this.seen = 'absent';
    try {
      const stats = statSync(file);
      this.seen = mark(stats);
      if (stats.size > maxBytes) throw new Error(`the file is over ${maxBytes} bytes`);
      onKeys(readKeyList(parse(readFileSync(file, 'utf8')), log));
    } catch (error) {
      onFailure(error instanceof Error ? error.message : String(error));
    }
  }
}

const mark = (stats: { ino: number; size: number; mtimeMs: number }): string =>
  `${stats.ino} ${stats.size} ${stats.mtimeMs}`;

/** The parser's own message could show a part of the file. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('not JSON');
  }
}
