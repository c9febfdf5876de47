import { readFileSync, statSync, unwatchFile, watchFile, type StatsListener } from 'node:fs';
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

/** Reads a key set from a file, now and whenever it changes. Polled: that also sees the symlink swap of a ConfigMap. */
export class FileKeys {
  private readonly options: FileOptions;
  private readonly listener: StatsListener;

  constructor(options: FileOptions) {
    this.options = options;
    this.read();
    this.listener = () => {
      this.read();
    };
    watchFile(options.file, { persistent: false, interval: options.pollMs }, this.listener);
  }

  refetch(): undefined {
    return undefined;
  }

  close(): void {
    unwatchFile(this.options.file, this.listener);
  }

  private read(): void {
    const { file, log, onKeys, onFailure } = this.options;
    try {
      if (statSync(file).size > maxBytes) throw new Error(`the file is over ${maxBytes} bytes`);
      onKeys(readKeyList(parse(readFileSync(file, 'utf8')), log));
    } catch (error) {
      onFailure(error instanceof Error ? error.message : String(error));
    }
  }
}

/** The parser's own message could show a part of the file. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('not JSON');
  }
}
