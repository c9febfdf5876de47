import { messageOf } from '../../errorText.ts';
import { pause, systemClock, type Clock } from '../../stream/index.ts';
import type { Fields, Logger } from '../../telemetry/index.ts';

export interface LookoutPace {
  /** Milliseconds between two looks, and while there is nothing yet. */
  readonly lookMs?: number | undefined;
  readonly hurryMs?: number | undefined;
}

export interface LookoutOptions extends LookoutPace {
  /** @throws Error, of which the log tells once until a look succeeds again */
  readonly look: (signal: AbortSignal) => Promise<void>;
  /** Whether the next look has time. */
  readonly hasTime: (failed: boolean) => boolean;
  /** What the log says of a failure, and of what. */
  readonly complaint: string;
  readonly about: Fields;
  readonly log: Logger;
  readonly clock?: Clock | undefined;
}

/** Looks at an object of the controller itself again and again; the rights to watch it are more than it needs. */
export class Lookout {
  private readonly ended = new AbortController();
  private readonly done: Promise<void>;

  constructor(options: LookoutOptions) {
    this.done = this.run(options);
  }

  async close(): Promise<void> {
    this.ended.abort();
    await this.done;
  }

  /** Never rejects. */
  private async run(options: LookoutOptions): Promise<void> {
    const { look, hasTime, complaint, about, log } = options;
    const { clock = systemClock, lookMs = 60_000, hurryMs = 1_000 } = options;
    const { signal } = this.ended;
    let failed = false;
    while (!signal.aborted) {
      try {
        await look(signal);
        failed = false;
      } catch (error) {
        if (!signal.aborted && !failed) log.warn(complaint, { ...about, reason: messageOf(error) });
        failed = true;
      }
      await pause(clock, hasTime(failed) ? lookMs : hurryMs, signal);
    }
  }
}
