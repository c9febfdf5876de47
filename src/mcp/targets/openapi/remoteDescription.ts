import { messageOf } from '../../../errorText.ts';
import { shownUrl, fetchText, maxFileBytes, type FetchOptions } from '../../../files/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { toolsOf, type ApiTools } from './apiTools.ts';
import { describeUrls } from './referencedUrls.ts';
import type { ApiSource } from '../../../model/index.ts';
import { describeElsewhere } from '../description/describeElsewhere.ts';

/** Times in milliseconds. */
export interface DescriptionPace {
  /** Shortest and longest time a description is used before it is fetched again, whatever Cache-Control says. */
  readonly minFreshMs: number;
  readonly maxFreshMs: number;
  /** First and longest pause after a failed fetch; it doubles. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  readonly timeoutMs: number;
}

export const usualPace: DescriptionPace = {
  minFreshMs: 60_000,
  maxFreshMs: 24 * 3_600_000,
  firstRetryMs: 1_000,
  maxRetryMs: 60_000,
  timeoutMs: 10_000,
};

export type UrlSource = Extract<ApiSource, { kind: 'url' }>;

export interface RemoteDescriptionOptions {
  readonly log: Logger;
  readonly onFetch: (result: 'ok' | 'failed') => void;
  readonly pace?: DescriptionPace;
}

/**
 * A description at a URL. It is fetched while somebody uses it, and kept for the next one who does. A description that
 * cannot be used changes nothing: the one before stays.
 */
export class RemoteDescription {
  tools: ApiTools | undefined;
  /** The reason why the newest description is not in use. */
  problem: string | undefined;
  readonly source: UrlSource;
  private readonly onFetch: (result: 'ok' | 'failed') => void;
  private readonly log: Logger;
  private readonly pace: DescriptionPace;
  private readonly listeners = new Set<() => void>();
  private readonly ended = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private failures = 0;
  private text: string | undefined;
  /** By `performance.now()`; in the past where nothing was fetched. */
  private freshUntil = 0;

  constructor(source: UrlSource, { log, onFetch, pace = usualPace }: RemoteDescriptionOptions) {
    this.source = source;
    // A query may hold a key.
    this.log = log.child({ description: shownUrl(source.url) });
    this.onFetch = onFetch;
    this.pace = pace;
  }

  get used(): boolean {
    return this.listeners.size > 0;
  }

  /** @param changed hears of other tools. @returns what takes it back */
  use(changed: () => void): () => void {
    // Several users may give the same function.
    const listener = (): void => changed();
    this.listeners.add(listener);
    if (this.timer === undefined && this.running === undefined)
      this.plan(this.freshUntil - performance.now());
    return () => {
      this.listeners.delete(listener);
      if (this.used) return;
      clearTimeout(this.timer);
      this.timer = undefined;
    };
  }

  /** Resolves (never rejects) when there are tools, or a reason why there are none. */
  get ready(): Promise<void> {
    if (this.tools !== undefined) return Promise.resolve();
    return this.running ?? Promise.resolve();
  }

  close(): void {
    this.ended.abort();
    clearTimeout(this.timer);
    this.listeners.clear();
  }

  private plan(ms: number): void {
    if (this.ended.signal.aborted || !this.used) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (ms <= 0) this.running = this.fetch();
    else this.timer = setTimeout(() => this.plan(0), ms).unref();
  }

  private async fetch(): Promise<void> {
    const { pace } = this;
    let again: number;
    try {
      const fresh = await this.once();
      this.onFetch('ok');
      this.failures = 0;
      again = Math.min(pace.maxFreshMs, Math.max(pace.minFreshMs, fresh));
    } catch (error) {
      this.fail(messageOf(error));
      const pause = Math.min(pace.maxRetryMs, pace.firstRetryMs * 2 ** Math.min(this.failures, 20));
      this.failures += 1;
      // Spread, so that many gateways do not meet a server that just came back all at once.
      again = pause * (0.75 + Math.random() / 2);
    }
    this.running = undefined;
    this.freshUntil = performance.now() + again;
    this.plan(again);
  }

  /** @returns how long it is fresh, in milliseconds */
  private async once(): Promise<number> {
    const { url, choice, references } = this.source;
    const { signal } = this.ended;
    const options: FetchOptions = {
      fetch: (input, init) => fetch(input, init),
      timeoutMs: this.pace.timeoutMs,
      maxBytes: maxFileBytes(),
      accept: 'application/json, application/yaml, text/yaml;q=0.9, */*;q=0.5',
      signal,
    };
    const fetched = await fetchText(url, options);
    if (references !== undefined) {
      const linked = { choice, origins: references, fetch: options };
      const { whole, api, warnings, maxAgeMs } = await describeUrls({ ...fetched, url }, linked);
      signal.throwIfAborted();
      if (whole !== this.text) this.replace(toolsOf(api), warnings);
      this.text = whole;
      this.problem = undefined;
      return maxAgeMs ?? this.pace.maxFreshMs;
    }
    const { text, maxAgeMs } = fetched;
    if (text !== this.text) {
      const { api, warnings } = await describeElsewhere(text, choice, signal);
      signal.throwIfAborted();
      this.text = text;
      this.replace(toolsOf(api), warnings);
    }
    this.problem = undefined;
    return maxAgeMs ?? this.pace.maxFreshMs;
  }

  private replace(tools: ApiTools, warnings: readonly string[]): void {
    this.tools = tools;
    this.log.info('API description loaded', { operations: tools.operations.size });
    for (const warning of warnings) this.log.warn('Part of the API description ignored', { reason: warning });
    for (const listener of [...this.listeners]) listener();
  }

  private fail(problem: string): void {
    if (this.ended.signal.aborted) return;
    this.onFetch('failed');
    if (this.problem !== problem)
      this.log.warn('API description could not be used', { problem, kept: this.tools?.operations.size ?? 0 });
    this.problem = problem;
  }
}
