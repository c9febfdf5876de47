import { messageOf } from '../../errorText.ts';
import { pause, systemClock, type Clock } from '../../stream/index.ts';
import type { Fields, Logger } from '../../telemetry/index.ts';

export interface PollerPace {
  /** Milliseconds between two looks, and while there is nothing yet. */
  readonly intervalMs?: number | undefined;
  readonly retryMs?: number | undefined;
}

export interface PollerOptions extends PollerPace {
  /** @throws Error, of which the log tells once until a look succeeds again */
  readonly poll: (signal: AbortSignal) => Promise<void>;
  /** Whether the next look has time. */
  readonly mayWait: (failed: boolean) => boolean;
  /** The log message for a failure, and its fields. */
  readonly failureMessage: string;
  readonly fields: Fields;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
}

/** Looks at an object of the controller itself again and again; the rights to watch it are more than it needs. */
export class Poller {
  private readonly ended = new AbortController();
  private readonly done: Promise<void>;

  constructor(options: PollerOptions) {
    this.done = this.run(options);
  }

  async close(): Promise<void> {
    this.ended.abort();
    await this.done;
  }

  /** Never rejects. */
  private async run(options: PollerOptions): Promise<void> {
    const { poll, mayWait, failureMessage, fields, log } = options;
    const { clock = systemClock, intervalMs = 60_000, retryMs = 1_000 } = options;
    const { signal } = this.ended;
    let failed = false;
    while (!signal.aborted) {
      try {
        await poll(signal);
        failed = false;
      } catch (error) {
        if (!signal.aborted && !failed) log.warn(failureMessage, { ...fields, reason: messageOf(error) });
        failed = true;
      }
      await pause(clock, mayWait(failed) ? intervalMs : retryMs, signal);
    }
  }
}
