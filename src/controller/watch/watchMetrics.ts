import type { Metrics } from '../../telemetry/index.ts';

/** The metrics of the watch of one kind. */
export interface KindMetrics {
  listed(reason: ListReason): void;
  restarted(cause: RestartCause): void;
  /** An event or a bookmark arrived, or a list was taken. */
  heard(): void;
}

/** The reason for a full list: the start, a version that was too old, or a watch that made no sense. */
export type ListReason = 'start' | 'expired' | 'unreadable' | 'installed';
/**
 * The reason why a watch was restarted: it ended as asked, it was silent, the network failed, the server refused,
 * …
 */
export type RestartCause = 'ended' | 'silent' | 'network' | 'refused' | 'unreadable' | 'expired';

/** The view that is read on demand. */
export interface KindView {
  readonly resource: string;
  readonly objects: number;
  readonly state: WatchState;
}

/**
 * `starting`: nothing is known yet. `current`: follows the server. `behind`: holds what it last knew, and tries to
 * reach the server. `missing`: the kind is not installed, so there are no objects. `denied`: the server does not let
 * us look.
 */
export type WatchState = 'starting' | 'current' | 'behind' | 'missing' | 'denied';

const states: readonly WatchState[] = ['starting', 'current', 'behind', 'missing', 'denied'];

/** The metrics of all watches of a process. */
export class WatchMetrics {
  readonly #views = new Set<() => KindView>();
  readonly #heard = new Map<string, number>();
  readonly #kind: (resource: string) => KindMetrics;

  constructor(metrics: Metrics) {
    const lists = metrics.counter('kube_lists_total', 'Complete lists of a kind', ['resource', 'reason']);
    const restarts = metrics.counter('kube_watch_restarts_total', 'Watches begun again', [
      'resource',
      'cause',
    ]);
    metrics.collect('kube_objects', 'Objects known', 'gauge', ['resource'], () =>
      this.#read().map(({ resource, objects }) => ({ labels: { resource }, value: objects })),
    );
    metrics.collect(
      'kube_watch_state',
      '1 for the state that a watch is in',
      'gauge',
      ['resource', 'state'],
      () =>
        this.#read().flatMap(({ resource, state }) =>
          states.map((name) => ({ labels: { resource, state: name }, value: name === state ? 1 : 0 })),
        ),
    );
    metrics.collect(
      'kube_last_event_timestamp_seconds',
      'When the API server was last heard of a kind',
      'gauge',
      ['resource'],
      () => Array.from(this.#heard, ([resource, at]) => ({ labels: { resource }, value: at / 1_000 })),
    );
    this.#kind = (resource) => ({
      listed: (reason) => lists.add({ resource, reason }),
      restarted: (cause) => restarts.add({ resource, cause }),
      heard: () => void this.#heard.set(resource, Date.now()),
    });
  }

  /** @param view Read until the returned function is called. */
  follow(
    resource: string,
    view: () => KindView,
  ): { readonly metrics: KindMetrics; readonly end: () => void } {
    this.#views.add(view);
    return { metrics: this.#kind(resource), end: () => void this.#views.delete(view) };
  }

  #read(): KindView[] {
    return Array.from(this.#views, (view) => view());
  }
}
