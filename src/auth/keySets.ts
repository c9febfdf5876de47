import { shownUrl } from '../files/index.ts';
import type { Logger, Metrics, Sample } from '../telemetry/index.ts';
import type { KeySet, KeySets, KeySetSource, KeySetView, PublicKey } from './contract.ts';
import { findKeys } from './discovery.ts';
import { FileKeys, parse } from './fileKeys.ts';
import type { MetadataRequest } from './issuerMetadata.ts';
import { guardedFetch } from './guardedFetch.ts';
import { readKeyList, type KeyList } from './keyList.ts';
import { defaultPace, RemoteKeys, type Pace, type RemoteOptions } from './remoteKeys.ts';

export interface KeySetsOptions {
  readonly log: Logger;
  readonly metrics?: Metrics;
  readonly fetch?: typeof fetch;
  /** For sources that are guarded. */
  readonly guardedFetch?: typeof fetch;
  readonly now?: () => number;
  /** Fetches nothing: key sets of the network are never there. */
  readonly offline?: boolean;
  /** Tests hurry. */
  readonly pace?: Partial<Pace>;
}

/** Keeps a set fresh. */
interface Feed {
  refetch(): Promise<void> | undefined;
  close(): void;
}

/** The additional view of their owner. */
export interface OwnKeySets extends KeySets {
  /** Resolves (never rejects) when each set that is in use has its keys, or the first try to get them has failed. */
  tried(): Promise<void>;
}

/** Opens the keeper of all key sets; `close` stops every fetch, timer and watch. */
export function createKeySets(options: KeySetsOptions): OwnKeySets {
  const open = new Map<string, { set: LiveKeySet; users: number }>();
  const pace = { ...defaultPace, ...options.pace };
  const keys = function* (): Iterable<Sample> {
    const fewest = new Map<string, number>();
    // Sets whose addresses differ only in their queries have the same name, and a name has one sample.
    for (const { set } of open.values()) {
      const value = set.view().keys;
      fewest.set(set.name, Math.min(value, fewest.get(set.name) ?? value));
    }
    for (const [source, value] of fewest) yield { labels: { source }, value };
  };
  // A worker without keys shows, whatever the others have.
  options.metrics?.collect('jwks_keys', 'Usable keys of a key set.', 'gauge', ['source'], keys, 'min');
  const fetches = options.metrics?.counter('jwks_fetches_total', 'Reads of a key set.', ['source', 'result']);

  return {
    use(source) {
      const id = JSON.stringify(source);
      let entry = open.get(id);
      if (entry === undefined) {
        entry = { set: new LiveKeySet(source, { ...options, pace, fetches }), users: 0 };
        open.set(id, entry);
      }
      const { set } = entry;
      const held = entry;
      held.users += 1;
      let released = false;
      return {
        set,
        release() {
          if (released) return;
          released = true;
          held.users -= 1;
          if (held.users > 0 || open.get(id) !== held) return;
          open.delete(id);
          set.close();
        },
      };
    },
    view: () => [...open.values()].map(({ set }) => set.view()),
    tried: async () => void (await Promise.all([...open.values()].map(({ set }) => set.tried))),
    close() {
      for (const { set } of open.values()) set.close();
      open.clear();
    },
  };
}

interface LiveOptions extends KeySetsOptions {
  readonly pace: Pace;
  readonly fetches: ReturnType<Metrics['counter']> | undefined;
}

const none: readonly PublicKey[] = [];
/** For sets that never change. */
const idle: Feed = { refetch: () => undefined, close: () => undefined };

/** For log, metrics and readiness. */
const nameOf = (source: KeySetSource): string => {
  switch (source.kind) {
    case 'url':
      return shownUrl(source.url);
    case 'discovered':
      return `keys of ${shownUrl(source.issuer)}`;
    case 'file':
      return source.file;
    case 'inline':
      return 'inline';
  }
};

const finder =
  (
    source: KeySetSource & { readonly kind: 'url' | 'discovered' },
    request: Omit<MetadataRequest, 'issuer' | 'signal'>,
  ): RemoteOptions['find'] =>
  async (signal) =>
    source.kind === 'url'
      ? { url: source.url, problem: undefined }
      : await findKeys(source, { ...request, signal });

class LiveKeySet implements KeySet {
  readonly name: string;
  generation = 0;
  /** Resolves when there are keys, or a reason why there are none. */
  readonly tried: Promise<void>;
  private readonly settle: () => void;
  private keys: KeyList | undefined;
  private problem: string | undefined;
  private loadedAt: number | undefined;
  private readonly feed: Feed;
  private readonly log: Logger;
  private readonly watchers = new Set<() => void>();
  readonly remote: boolean;

  constructor(source: KeySetSource, options: LiveOptions) {
    this.name = nameOf(source);
    this.remote = source.kind === 'url' || source.kind === 'discovered';
    this.log = options.log.child({ keySet: this.name });
    ({ promise: this.tried, resolve: this.settle } = Promise.withResolvers<void>());
    const count = (result: string): void => options.fetches?.add({ source: this.name, result });
    const { pace, now = Date.now } = options;
    const onKeys = (keys: KeyList): void => {
      count('ok');
      this.loadedAt = now();
      this.replace(keys);
      this.settle();
    };
    const onFailure = (problem: string): void => {
      count('failed');
      this.fail(problem);
      this.settle();
    };
    const { log } = this;
    // Looked up at each fetch, so that a replaced global fetch (a proxy agent, a test) is respected.
    const plain: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
    const sameOrigin = 'guarded' in source && source.guarded === true;
    const send = sameOrigin ? (options.guardedFetch ?? guardedFetch()) : plain;
    switch (source.kind) {
      case 'url':
      case 'discovered': {
        if (options.offline === true) {
          this.feed = idle;
          this.settle();
          break;
        }
        const find = finder(source, { fetch: send, timeoutMs: pace.timeoutMs, sameOrigin });
        this.feed = new RemoteKeys({ find, log, fetch: send, sameOrigin, now, pace, onKeys, onFailure });
        break;
      }
      case 'file':
        this.feed = new FileKeys({ file: source.file, log, pollMs: pace.pollMs, onKeys, onFailure });
        break;
      case 'inline':
        onKeys(readKeyList(parse(source.jwks), log));
        this.feed = idle;
    }
  }

  get ready(): boolean {
    return this.keys !== undefined;
  }

  find(kid: string): readonly PublicKey[] {
    return this.keys?.byKid.get(kid) ?? none;
  }

  get ids(): readonly string[] {
    return [...(this.keys?.byKid.keys() ?? [])];
  }

  refetch(): Promise<void> | undefined {
    return this.feed.refetch();
  }

  watch(listener: () => void): () => void {
    this.watchers.add(listener);
    return () => void this.watchers.delete(listener);
  }

  view(): KeySetView {
    const state = this.keys === undefined ? 'waiting' : this.problem === undefined ? 'ready' : 'stale';
    const { name: source, problem, loadedAt } = this;
    return {
      source,
      keys: this.keys?.size ?? 0,
      state,
      problem,
      ...(loadedAt !== undefined && { loadedAt }),
    };
  }

  close(): void {
    this.feed.close();
    this.settle();
  }

  private replace(keys: KeyList): void {
    this.problem = undefined;
    if (this.keys?.fingerprint === keys.fingerprint) return;
    this.keys = keys;
    this.generation += 1;
    this.log.info('Key set loaded', { keys: keys.size });
    for (const listener of [...this.watchers]) listener();
  }

  /** The keys that are there stay: an outage of the provider must not lock everybody out. */
  private fail(problem: string): void {
    if (this.problem !== problem)
      this.log.warn('Key set could not be read', { problem, kept: this.keys?.size ?? 0 });
    this.problem = problem;
  }
}
