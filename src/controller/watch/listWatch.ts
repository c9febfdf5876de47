import { messageOf } from '../../errorText.ts';
import {
  backoffMs,
  jittered,
  lines,
  LineTooLong,
  pause,
  systemClock,
  type BackoffOptions,
  type Clock,
  type Random,
} from '../../stream/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { ApiError, isExpired, isNotFound } from '../api/apiError.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { pathOf, resourceName, type Resource } from '../api/resource.ts';
import { ListBroken } from '../api/items.ts';
import { readEvent, readItem, readPage, UnreadableAnswer } from './events.ts';
import type { Store } from './store.ts';
import type { Trim } from './trim.ts';
import type { KindMetrics, ListReason, RestartCause, WatchState } from './watchMetrics.ts';

/** Times in milliseconds. */
export interface WatchPace {
  readonly backoff: BackoffOptions;
  /** The requested duration of a watch; up to half less, so that the watches of all kinds do not end together. */
  readonly watchMs: number;
  /**
   * A watch on which nothing was heard for so long is begun again. The server sends a bookmark about every minute; one
   * that does not costs us a request, no more.
   */
  readonly silentMs: number;
  /** The interval at which a kind that is not installed, or that we may not see, is requested again. */
  readonly absentMs: number;
}

export const defaultWatchPace: WatchPace = {
  backoff: { firstMs: 250, maxMs: 8_000 },
  watchMs: 10 * 60_000,
  silentMs: 150_000,
  absentMs: 15_000,
};

export interface Selection {
  /** The server sends no more of each object than its metadata. */
  readonly metadataOnly?: boolean;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListWatchOptions<T extends KubeObject> extends Selection {
  readonly api: KubeApi;
  readonly resource: Resource;
  /** Objects of this namespace only. */
  readonly namespace?: string | undefined;
  readonly trim: Trim<T>;
  readonly store: Store<T>;
  readonly log: Logger;
  readonly metrics: KindMetrics;
  /** Told of each state once. */
  readonly onState: (state: WatchState) => void;
  readonly pace?: WatchPace;
  readonly pageSize?: number;
  /** Longest event of a watch, and largest item of a list. etcd holds objects of 1.5 MB by default. */
  readonly maxEventBytes?: number;
  readonly clock?: Clock;
  readonly random?: Random;
}

const json = 'application/json';
const partial = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`;

/** A watch that makes no sense so many times in a row is given up for a new list. */
const maxUnreadable = 3;

/** The watch was ended from our side because nothing was heard on it. */
class Silent extends Error {
  override readonly name = 'Silent';
}

/**
 * Keeps a store equal to what the API server has of one kind: a list in pages, then a watch from where the list ended,
 * resumed from the last version heard whenever it ends; a new list only when the server has forgotten that version.
 */
export class ListWatch<T extends KubeObject> {
  readonly #options: Required<Omit<ListWatchOptions<T>, keyof Selection | 'namespace'>>;
  readonly #query: Omit<Selection, 'metadataOnly'>;
  readonly #accept: { readonly list: string; readonly watch: string };
  readonly #path: string;
  readonly #namespace: string | undefined;
  readonly #ended = new AbortController();
  readonly #done: Promise<void>;
  #state: WatchState = 'starting';
  /** The version at which the next watch begins; undefined when only a list helps. */
  #version: string | undefined;
  #listReason: ListReason = 'start';
  /** A list in pages expired on the way: the next one is asked for in one piece. */
  #inOnePiece = false;
  /** In a row, without an event in between. A list counts for nothing: the watch after it may fail every time. */
  #failures = 0;
  #unreadable = 0;
  /** Ends the pause under way. */
  #waiting: AbortController | undefined;

  constructor({
    labelSelector,
    fieldSelector,
    metadataOnly = false,
    namespace,
    ...rest
  }: ListWatchOptions<T>) {
    this.#options = {
      pace: defaultWatchPace,
      pageSize: 500,
      maxEventBytes: 16 << 20,
      clock: systemClock,
      random: Math.random,
      ...rest,
    };
    this.#query = {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
    this.#accept = metadataOnly
      ? { list: partial('PartialObjectMetadataList'), watch: partial('PartialObjectMetadata') }
      : { list: json, watch: json };
    this.#namespace = namespace;
    this.#path = pathOf(rest.resource, { namespace });
    this.#done = this.#run();
  }

  get state(): WatchState {
    return this.#state;
  }

  /** Asks at once for a kind that was not installed: it may be now. */
  lookAgain(): void {
    if (this.#state === 'missing') this.#waiting?.abort();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#done;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted)
      try {
        if (this.#version === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        if (!signal.aborted) await this.#wait(this.#recover(error));
      }
  }

  async #wait(ms: number): Promise<void> {
    this.#waiting = new AbortController();
    // Its own signal, so that a pause can be cut short and the watch go on.
    const signal = AbortSignal.any([this.#ended.signal, this.#waiting.signal]);
    await pause(this.#options.clock, ms, signal);
    this.#waiting = undefined;
  }

  async #list(): Promise<void> {
    const { api, resource, trim, store, metrics, pageSize, maxEventBytes, log } = this.#options;
    const objects: T[] = [];
    let next: string | undefined;
    let version: string;
    do {
      const answer = await api.list(
        {
          path: this.#path,
          accept: this.#accept.list,
          query: { ...this.#query, limit: this.#inOnePiece ? undefined : pageSize, continue: next },
          signal: this.#ended.signal,
        },
        maxEventBytes,
        (item) => void objects.push(trim(readItem(item, resource))),
      );
      ({ next, version } = readPage(answer));
    } while (next !== undefined);
    if (this.#ended.signal.aborted) return;
    metrics.listed(this.#listReason);
    metrics.heard();
    this.#inOnePiece = false;
    this.#version = version;
    store.replace(objects, this.#namespace);
    log.debug('Objects listed', {
      resource: resourceName(resource),
      objects: objects.length,
      reason: this.#listReason,
    });
    this.#become('current');
  }

  async #watch(): Promise<void> {
    const { api, metrics, pace, random, maxEventBytes } = this.#options;
    const timeoutSeconds = Math.ceil(jittered(pace.watchMs, random) / 1_000);
    const response = await api.open({
      path: this.#path,
      accept: this.#accept.watch,
      query: {
        ...this.#query,
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: this.#version,
        timeoutSeconds,
      },
      signal: this.#ended.signal,
    });
    this.#become('current');
    const guard = this.#guard(timeoutSeconds * 1_000, (why) => response.destroy(why));
    let events = 0;
    try {
      for await (const line of lines(response as AsyncIterable<Buffer>, maxEventBytes)) {
        this.#event(line);
        guard.heard();
        events++;
      }
    } finally {
      guard.end();
      response.destroy();
    }
    metrics.restarted('ended');
    if (events > 0 || guard.ageMs() >= 1_000) this.#failures = 0;
    // A server that ends every watch at once must not be asked in a tight circle.
    else
      await pause(this.#options.clock, backoffMs(++this.#failures, pace.backoff, random), this.#ended.signal);
  }

  /** Ends a watch that is silent for too long, or lasts longer than it was asked to. */
  #guard(
    lastsMs: number,
    end: (why: Error) => void,
  ): { heard: () => void; end: () => void; ageMs: () => number } {
    const { clock, pace } = this.#options;
    const begun = clock.now();
    let lastHeard = begun;
    let cancel = (): void => {};
    const look = (): void => {
      const now = clock.now();
      const left = Math.min(lastHeard + pace.silentMs, begun + lastsMs + pace.silentMs) - now;
      if (left <= 0) end(new Silent('nothing was heard on the watch for too long'));
      else cancel = clock.after(left, look);
    };
    look();
    return {
      heard: () => void (lastHeard = clock.now()),
      end: () => cancel(),
      ageMs: () => clock.now() - begun,
    };
  }

  #event(line: string): void {
    const { resource, store, trim } = this.#options;
    const event = readEvent(line, resource);
    if (event.type === 'DELETED') store.remove(event.object.metadata.namespace, event.object.metadata.name);
    else if (event.type !== 'BOOKMARK') store.put(trim(event.object));
    // After the store: a version that is remembered stands for everything before it.
    this.#version = event.version;
    this.#heard();
  }

  #heard(): void {
    this.#failures = 0;
    this.#unreadable = 0;
    this.#options.metrics.heard();
  }

  /** Decides what follows a failure, and after how many milliseconds. */
  #recover(error: unknown): number {
    const { pace, random, metrics, resource, log, store } = this.#options;
    const reason = messageOf(error);
    const fields = { resource: resourceName(resource), namespace: this.#namespace, reason };
    if (isNotFound(error)) {
      if (this.#state !== 'missing') log.warn('Kind not installed in the cluster; retrying', fields);
      this.#startOver('installed');
      store.replace([], this.#namespace);
      this.#become('missing');
      return jittered(pace.absentMs, random);
    }
    if (error instanceof ApiError && error.status === 403) {
      // Known objects stay in use: a right that was taken away by mistake must not take down running proxies.
      if (this.#state !== 'denied') log.error('Kind not visible: the API server denied permission', fields);
      this.#become('denied');
      return jittered(pace.absentMs, random);
    }
    const cause = this.#causeOf(error);
    metrics.restarted(cause);
    // Whether the connection was dead or there was nothing to say is seen when the watch is begun again.
    if (cause === 'silent') return 0;
    this.#failures++;
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const pauseMs = Math.round(Math.max(asked, backoffMs(this.#failures, pace.backoff, random)));
    if (cause === 'expired') {
      log.info('Watch expired; listing all objects again', fields);
      this.#inOnePiece = this.#version === undefined;
      this.#startOver('expired');
      return this.#failures === 1 ? 0 : pauseMs;
    }
    if (cause === 'unreadable' && ++this.#unreadable >= maxUnreadable) {
      this.#unreadable = 0;
      this.#startOver('unreadable');
    }
    // A first failure is only resumed; repeated failures are logged, ever more rarely.
    const level = cause === 'unreadable' ? 'error' : this.#failures === 1 ? 'info' : 'warn';
    if (cause === 'unreadable' || Number.isInteger(Math.log2(this.#failures)))
      log[level]('a watch failed, it is resumed', { ...fields, cause, failures: this.#failures, pauseMs });
    if (this.#state === 'current' && this.#failures > 1) this.#become('behind');
    return pauseMs;
  }

  #causeOf(error: unknown): RestartCause {
    if (isExpired(error)) return 'expired';
    if (error instanceof Silent) return 'silent';
    if (error instanceof ApiError) return 'refused';
    const unreadable = [UnreadableAnswer, LineTooLong, ListBroken];
    return unreadable.some((kind) => error instanceof kind) ? 'unreadable' : 'network';
  }

  #startOver(reason: ListReason): void {
    this.#version = undefined;
    this.#listReason = reason;
  }

  #become(state: WatchState): void {
    if (state === this.#state) return;
    const before = this.#state;
    this.#state = state;
    if (before !== 'starting')
      this.#options.log.info('Watch state changed', {
        resource: resourceName(this.#options.resource),
        before,
        state,
      });
    this.#options.onState(state);
  }
}
