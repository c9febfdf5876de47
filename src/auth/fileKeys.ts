import { messageOf } from '../errorText.ts';
import { fileMark, fileMarkLater, readRegularText, Settling } from '../files/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { readKeyList, type KeyList } from './keyList.ts';

export interface FileOptions {
  readonly file: string;
  readonly log: Logger;
  readonly pollMs: number;
  readonly onKeys: (keys: KeyList) => void;
  readonly onFailure: (problem: string) => void;
}

/**
 * Reads a key set from a file, now and whenever it changes. Polled: that also sees the symlink swap of a ConfigMap.
 * The mark of the file is taken before each read, so that no change falls in between (`fs.watchFile` takes its first
 * look later and can miss one).
 */
export class FileKeys {
  private readonly options: FileOptions;
  private readonly timer: NodeJS.Timeout;
  private readonly settling: Settling;

  constructor(options: FileOptions) {
    this.options = options;
    this.settling = new Settling(fileMark(options.file));
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
    if (this.settling.due(await fileMarkLater(this.options.file))) this.read();
  }

  private read(): void {
    const { file, log, onKeys, onFailure } = this.options;
    try {
      onKeys(readKeyList(parse(readRegularText(file)), log));
    } catch (error) {
      onFailure(messageOf(error));
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
