import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { fileMark, fileMarkLater, readRegularText, Settling } from '../../files/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { TextSource } from './schema.ts';

export interface WatchOptions<T> {
  /** For log and error, such as `basicAuth.htpasswd`. */
  readonly name: string;
  /** Makes the text usable; an Error says what is wrong and must not quote the text, which may be secret. */
  readonly read: (text: string) => T;
  readonly log: Logger;
  /** Milliseconds between two looks at the file. */
  readonly pollMs?: number;
}

/**
 * A text of the configuration or of a file, in usable form. A file is polled, which also sees the symlink swap of a
 * mounted Secret; a change that cannot be used leaves the last good one in force.
 */
export class WatchedText<T> {
  private readonly options: WatchOptions<T>;
  private readonly file: string | undefined;
  private readonly timer: NodeJS.Timeout | undefined;
  private current: { readonly value: T } | undefined;
  private failure = '';
  private settling: Settling | undefined;
  private readonly watchers = new Set<() => void>();

  /** @throws Error where a text of the configuration cannot be used */
  constructor(source: TextSource, options: WatchOptions<T>) {
    this.options = options;
    if (source.kind === 'inline') {
      this.file = undefined;
      this.current = { value: options.read(source.text) };
      return;
    }
    this.file = source.file;
    // The mark is taken before the reading, so that no change falls in between.
    this.settling = new Settling(fileMark(source.file));
    this.reread(source.file);
    this.timer = setInterval(() => void this.look(source.file), options.pollMs ?? 2_000);
    this.timer.unref();
  }

  /** The reason why there is no text in force; undefined if there is one. */
  get problem(): string | undefined {
    if (this.current !== undefined) return undefined;
    return `${this.options.name}: ${this.file ?? ''}: ${this.failure}`;
  }

  /** @throws GatewayError policy_failed as long as the file was never usable: nobody passes until it is */
  get value(): T {
    if (this.current !== undefined) return this.current.value;
    throw new GatewayError('policy_failed', { detail: this.problem ?? '' });
  }

  /** Calls the listener after each change of the value. @returns a function that ends the watch */
  watch(listener: () => void): () => void {
    this.watchers.add(listener);
    return () => void this.watchers.delete(listener);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(file: string): Promise<void> {
    if (this.settling?.due(await fileMarkLater(file)) !== true) return;
    if (this.reread(file)) for (const listener of [...this.watchers]) listener();
  }

  /** @returns whether the text of the file is in force */
  private reread(file: string): boolean {
    const { name, read, log } = this.options;
    try {
      this.current = { value: read(readRegularText(file)) };
      return true;
    } catch (error) {
      this.failure = messageOf(error);
      log.error('Policy file rejected', {
        policy: name,
        file,
        problem: this.failure,
        inForce: this.current === undefined ? 'nothing: requests are refused' : 'the last good one',
      });
      return false;
    }
  }
}
