import { shownUrl } from '../files/index.ts';
import { messageOf } from '../errorText.ts';
import type { Logger } from '../telemetry/index.ts';
import { getJson } from './getJson.ts';
import type { Found } from './discovery.ts';
import { readKeyList, type KeyList } from './keyList.ts';

/** Times in milliseconds. */
export interface Pace {
  /** Shortest and longest time a fetched set is used before it is asked for again, whatever Cache-Control says. */
  readonly minFreshMs: number;
  readonly maxFreshMs: number;
  /** The time without a Cache-Control header. */
  readonly defaultFreshMs: number;
  /** First and longest pause after a failed fetch; it doubles. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** At least this long between two fetches that unknown key ids cause. */
  readonly cooldownMs: number;
  readonly timeoutMs: number;
  /** The interval at which a file is checked. */
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
  /** Says where the keys are, before each fetch: a provider may move them. Never rejects. */
  readonly find: (signal: AbortSignal) => Promise<Found>;
  readonly log: Logger;
  readonly fetch: typeof fetch;
  /** See `GetOptions`. */
  readonly sameOrigin: boolean;
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
  private known: Found | undefined;
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
    const { log, fetch, sameOrigin, pace, onKeys, onFailure } = this.options;
    const signal = this.ended.signal;
    const { url, problem } = await this.place(signal);
    try {
      const answer = await getJson(url, {
        fetch,
        sameOrigin,
        timeoutMs: pace.timeoutMs,
        maxBytes,
        signal,
      });
      const keys = readKeyList(answer.value, log);
      if (signal.aborted) return;
      this.failures = 0;
      onKeys(keys);
      const fresh = answer.maxAgeMs ?? pace.defaultFreshMs;
      this.again(Math.min(pace.maxFreshMs, Math.max(pace.minFreshMs, fresh)));
    } catch (error) {
      if (this.ended.signal.aborted) return;
      const reason = messageOf(error);
      onFailure(
        problem === undefined ? reason : `${shownUrl(url)}: ${reason}; metadata of the issuer: ${problem}`,
      );
      const pause = Math.min(pace.maxRetryMs, pace.firstRetryMs * 2 ** Math.min(this.failures, 20));
      this.failures += 1;
      // Spread, so that many gateways do not meet a provider that just came back all at once.
      this.again(pause * (0.75 + Math.random() / 2));
    }
  }

  /** The address that the metadata named last holds while the metadata cannot be had. */
  private async place(signal: AbortSignal): Promise<Found> {
    const found = await this.options.find(signal);
    if (found.problem === undefined) this.known = found;
    return found.problem === undefined ? found : (this.known ?? found);
  }

  private again(ms: number): void {
    if (this.ended.signal.aborted) return;
    this.timer = setTimeout(() => void this.fetch(), ms);
    this.timer.unref();
  }
}
