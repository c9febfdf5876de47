import { messageOf } from '../errorText.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Cache } from './cache.ts';
import type { CachedModel } from './modelAssembler.ts';

/** Writes the newest of what is to be kept, not more often than every so often. */
export class CacheWriter {
  private readonly cache: Pick<Cache, 'write'>;
  private readonly log: Logger;
  private readonly settleMs: number;
  private waiting: CachedModel | undefined;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  constructor(cache: Pick<Cache, 'write'>, log: Logger, settleMs: number) {
    this.cache = cache;
    this.log = log;
    this.settleMs = settleMs;
  }

  keep(kept: CachedModel): void {
    this.waiting = kept;
    this.timer ??= setTimeout(() => void this.flush(), this.settleMs).unref();
  }

  /** Writes what waits, and resolves (never rejects) when nothing waits any more. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting !== undefined) this.writing = this.writing.then(async () => await this.write(waiting));
    await this.writing;
  }

  private async write(kept: CachedModel): Promise<void> {
    try {
      await this.cache.write(kept);
    } catch (error) {
      this.log.warn('Model could not be written to the cache', {
        reason: messageOf(error),
      });
    }
  }
}
