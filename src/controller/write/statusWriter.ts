import { isDeepStrictEqual } from 'node:util';
import { systemClock, type BackoffOptions, type Clock } from '../../stream/index.ts';
import type { Counter, Logger, Metrics } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { isConflict, isNotFound } from '../api/apiError.ts';
import { keyOf, type KubeObject } from '../api/object.ts';
import { apiVersionOf, pathOf, type Resource } from '../api/resource.ts';
import type { StatusUpdate } from '../translate/contract.ts';
import type { Change } from '../watch/store.ts';
import type { Rate } from '../work/tokenBucket.ts';
import { WorkQueue } from '../work/workQueue.ts';
import { ConflictBackoff } from './conflictBackoff.ts';

export interface StatusWriterOptions {
  readonly api: Pick<KubeApi, 'request'>;
  /** The resource of a kind; kinds that are not here are not written. */
  readonly resourceOf: (kind: string) => Resource | undefined;
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** An object has changed since its status was made: make it again from the new one. */
  readonly onStale: () => void;
  /** Whether something is being written that traffic waits for: statuses take less of the API server then. */
  readonly givesWay?: () => boolean;
  /** Whether there is more to say of an object in a moment: what serves it is just being made. */
  readonly isUnsettled?: (update: StatusUpdate) => boolean;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly rate?: Rate;
  readonly backoff?: BackoffOptions;
  readonly clock?: Clock;
}

/** Statuses under way at once. */
const mostInFlight = 16;
const mostBesideTraffic = 2;
/** The status of a Gateway with many listeners costs the API server as much as ten others: it is not written twice. */
const longestUnsettledMs = 10_000;

/** Routes are many, and what they hang on says more. */
const isOfRoute = (key: string): boolean => /^\w+Route\//.test(key);

/** The response omits the written object: the watch brings it anyway. */
const accept = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json';

/**
 * Writes the status of objects, each only where it differs and only onto the version it was made from. A write that
 * comes too late is not repeated, since it may undo what another controller has written: it is made anew.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #queue: WorkQueue;
  readonly #writes: Counter;
  readonly #contested: ConflictBackoff;
  readonly #wanted = new Map<string, StatusUpdate>();
  /**
   * The status that was written last, until the result is seen: until then the old version of the object asks for
   * it again.
   */
  readonly #written = new Map<string, StatusUpdate>();

  constructor(options: StatusWriterOptions) {
    const { log, metrics, rate = { perSecond: 400, burst: 800 }, backoff, clock = systemClock } = options;
    const { givesWay = () => false } = options;
    this.#options = options;
    this.#contested = new ConflictBackoff(clock);
    this.#writes = metrics.counter('kube_status_writes_total', 'Status of objects written', [
      'kind',
      'result',
    ]);
    this.#queue = new WorkQueue({
      name: 'status',
      handle: async (key, signal) => await this.#write(key, signal),
      log,
      metrics,
      rate,
      clock,
      maxInFlight: () => (givesWay() ? mostBesideTraffic : mostInFlight),
      goesFirst: (key) => !isOfRoute(key),
      ...(backoff === undefined ? {} : { backoff }),
    });
  }

  /** This is all there is to say now; what was said before and is not written yet is forgotten. */
  submit(report: readonly StatusUpdate[]): void {
    const named = new Set<string>();
    for (const update of report) {
      const key = keyOfStatus(update.kind, update.namespace, update.name);
      named.add(key);
      if (!update.changed || !this.#options.mayWrite()) this.#forget(key);
      else if (
        update.resourceVersion === undefined ||
        this.#written.get(key)?.resourceVersion !== update.resourceVersion
      ) {
        this.#written.delete(key);
        this.#wanted.set(key, update);
        const pauseMs = Math.max(
          this.#contested.pauseFor(key, update.status),
          this.#options.isUnsettled?.(update) === true ? longestUnsettledMs : 0,
        );
        if (pauseMs > 0) this.#queue.addAfter(key, pauseMs);
        else this.#queue.add(key);
      }
    }
    for (const key of [...this.#wanted.keys(), ...this.#written.keys()])
      if (!named.has(key)) this.#forget(key);
    this.#contested.keep(named);
  }

  /**
   * Whether a change is nothing but what was written here: then there is nothing to be made of it. Without this, writing
   * five thousand statuses would cause a hundred translations of the whole cluster.
   */
  isEcho(change: Change<KubeObject>): boolean {
    if (change.type !== 'updated') return false;
    const { object, previous } = change;
    const { namespace, name } = object.metadata;
    const key = keyOfStatus(object.kind, namespace, name);
    // The watch may be faster than the answer.
    const update = this.#wanted.get(key) ?? this.#written.get(key);
    if (update === undefined || !isDeepStrictEqual(object['status'], update.status)) return false;
    return isDeepStrictEqual(withoutStatus(object), withoutStatus(previous));
  }

  /** Resolves when everything is written or given up. */
  async idle(): Promise<void> {
    await this.#queue.idle();
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#wanted.clear();
    this.#written.clear();
  }

  #forget(key: string): void {
    this.#wanted.delete(key);
    this.#written.delete(key);
    this.#queue.forget(key);
  }

  async #write(key: string, signal: AbortSignal): Promise<void> {
    const { api, resourceOf, mayWrite, onStale, log } = this.#options;
    const update = this.#wanted.get(key);
    if (update === undefined || !mayWrite()) return;
    const { kind, namespace, name, resourceVersion, status } = update;
    const resource = resourceOf(kind);
    if (resource === undefined) return;
    try {
      // Replaces the whole status. The server takes nothing else from it, and only onto this very version.
      await api.request({
        method: 'PUT',
        path: pathOf(resource, { namespace, name, subresource: 'status' }),
        accept,
        body: {
          apiVersion: apiVersionOf(resource),
          kind,
          metadata: { name, namespace, resourceVersion },
          status,
        },
        signal,
      });
    } catch (error) {
      const stale = isConflict(error);
      const result = stale ? 'stale' : isNotFound(error) ? 'gone' : 'failed';
      this.#writes.add({ kind, result });
      if (result === 'failed') throw error;
      log.debug('Status not written', { object: key, result });
      this.#settled(key, update);
      if (stale) onStale();
      return;
    }
    this.#writes.add({ kind, result: 'written' });
    this.#contested.note(key, update.status);
    if (this.#settled(key, update)) this.#written.set(key, update);
  }

  /** Whether nothing newer is wanted meanwhile. */
  #settled(key: string, update: StatusUpdate): boolean {
    if (this.#wanted.get(key) !== update) return false;
    return this.#wanted.delete(key);
  }
}

const keyOfStatus = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind}/${keyOf(namespace, name)}`;

const withoutStatus = (object: KubeObject): object => ({
  ...object,
  status: undefined,
  metadata: { ...object.metadata, resourceVersion: '' },
});
