import { stackOf } from '../../errorText.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { resourceName, type Resource } from '../api/resource.ts';
import { ListWatch, type Selection, type WatchPace } from './listWatch.ts';
import { Store, type Objects } from './store.ts';
import type { Trim } from './trim.ts';
import type { WatchMetrics, WatchState } from './watchMetrics.ts';

export interface InformerOptions<T extends KubeObject> extends Selection {
  readonly api: KubeApi;
  readonly resource: Resource;
  /** All unless given. Kinds without namespaces do not care. */
  readonly namespaces?: readonly string[] | undefined;
  readonly trim: Trim<T>;
  /** For metrics, where a kind is followed more than once; that of the resource unless given. */
  readonly name?: string;
  readonly log: Logger;
  readonly metrics: WatchMetrics;
  readonly pace?: WatchPace;
  readonly pageSize?: number;
}

/** Worst first: what is said of several watches together. */
const order: readonly WatchState[] = ['denied', 'starting', 'missing', 'behind', 'current'];

/** The objects of one kind, followed from the moment it is made until it is closed. */
export class Informer<T extends KubeObject> {
  readonly resource: Resource;
  /** Resolves to true when the objects are known for the first time, to false when it is closed before. */
  readonly synced: Promise<boolean>;
  readonly #store: Store<T>;
  readonly #watches: readonly ListWatch<T>[];
  readonly #endMetrics: () => void;
  #isSynced = false;
  #settle: (synced: boolean) => void = () => {};

  constructor({ namespaces, metrics, name: given, ...rest }: InformerOptions<T>) {
    const { resource, log } = rest;
    this.resource = resource;
    this.synced = new Promise((resolve) => (this.#settle = resolve));
    this.#store = new Store<T>((error) =>
      log.error('Change handler failed', {
        resource: resourceName(resource),
        reason: stackOf(error),
      }),
    );
    const name = given ?? resourceName(resource);
    const followed = metrics.follow(name, () => ({
      resource: name,
      objects: this.#store.size,
      state: this.state,
    }));
    this.#endMetrics = followed.end;
    const known = new Set<ListWatch<T>>();
    const where = resource.namespaced && namespaces !== undefined ? namespaces : [undefined];
    this.#watches = where.map((namespace) => {
      const watch: ListWatch<T> = new ListWatch({
        ...rest,
        namespace,
        store: this.#store,
        metrics: followed.metrics,
        onState: (state) => {
          // A kind that is not installed is known to have no objects.
          if (state !== 'current' && state !== 'missing') return;
          known.add(watch);
          if (known.size === where.length) this.#settled(true);
        },
      });
      return watch;
    });
    if (where.length === 0) this.#settled(true);
  }

  get objects(): Objects<T> {
    return this.#store;
  }

  /** See `Store.swap`. */
  swap(object: T): void {
    this.#store.swap(object);
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get state(): WatchState {
    return order.find((state) => this.#watches.some((watch) => watch.state === state)) ?? 'current';
  }

  /** See `ListWatch.lookAgain`. */
  lookAgain(): void {
    for (const watch of this.#watches) watch.lookAgain();
  }

  async close(): Promise<void> {
    this.#settled(false);
    this.#endMetrics();
    await Promise.all(this.#watches.map((watch) => watch.close()));
  }

  #settled(synced: boolean): void {
    if (synced) this.#isSynced = true;
    this.#settle(synced);
  }
}
