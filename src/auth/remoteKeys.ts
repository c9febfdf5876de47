import type { Logger } from '../telemetry/index.ts';
import { getJson } from './getJson.ts';
import { readKeyList, type KeyList } from './keyList.ts';

/** Times in milliseconds. */
export interface Pace {
  /** Shortest and longest time a fetched set is used before it is asked for again, whatever Cache-Control says. */
  readonly minFreshMs: number;
  readonly maxFreshMs: number;
  /** Where Cache-Control says nothing. */
  readonly defaultFreshMs: number;
  /** First and longest pause after a failed fetch; it doubles. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** At least this long between two fetches that unknown key ids cause. */
  readonly cooldownMs: number;
  readonly timeoutMs: number;
  /** How often a file is looked at. */
  readonly pollMs: number;
}

export const defaultPace: Pace = {
  minFreshMs: 60_000,
  maxFreshMs: 24 * 3_600_000,
  defaultFreshMs: 15 * 60_000,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
  cooldownMs: 30_000,
  timeoutMs: 5_000,
  pollMs: 2_000,
};

const maxBytes = 1_048_576;

export interface RemoteOptions {
  readonly url: string;
  readonly log: Logger;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly pace: Pace;
  readonly onKeys: (keys: KeyList) => void;
  readonly onFailure: (problem: string) => void;
}

/** Fetches a key set at once, then again and again; a failed fetch changes nothing and is tried again soon. */
export class RemoteKeys {
  private readonly options: RemoteOptions;
  private readonly ended = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private failures = 0;
  private lastForced = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteOptions) {
    this.options = options;
    void this.fetch();
  }

  /** See KeySet.refetch. */
  refetch(): Promise<void> | undefined {
    const { now, pace } = this.options;
    if (this.ended.signal.aborted) return undefined;
    // A fetch that is under way may have begun before the key was published, so it does not count as the forced one.
    if (this.running !== undefined) return this.running;
    if (now() - this.lastForced < pace.cooldownMs) return undefined;
    this.lastForced = now();
    return this.fetch();
  }

  close(): void {
    this.ended.abort();
    clearTimeout(this.timer);
  }

  private fetch(): Promise<void> {
    clearTimeout(this.timer);
    this.running ??= this.once().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async once(): Promise<void> {
    const { url, log, fetch, pace, onKeys, onFailure } = this.options;
    try {
      const signal = this.ended.signal;
      const answer = await getJson(url, { fetch, timeoutMs: pace.timeoutMs, maxBytes, signal });
      const keys = readKeyList(answer.value, log);
      if (signal.aborted) return;
      this.failures = 0;
      onKeys(keys);
      const fresh = answer.maxAgeMs ?? pace.defaultFreshMs;
      this.again(Math.min(pace.maxFreshMs, Math.max(pace.minFreshMs, fresh)));
    } catch (error) {
      if (this.ended.signal.aborted) return;
      onFailure(error instanceof Error ? error.message : String(error));
      const pause = Math.min(pace.maxRetryMs, pace.firstRetryMs * 2 ** Math.min(this.failures, 20));
      this.failures += 1;
      // Spread, so that many gateways do not meet a provider that just came back all at once.
      this.again(pause * (0.75 + Math.random() / 2));
    }
  }

  private again(ms: number): void {
    if (this.ended.signal.aborted) return;
    this.timer = setTimeout(() => void this.fetch(), ms);
    this.timer.unref();
  }
}
