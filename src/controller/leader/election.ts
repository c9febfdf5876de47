import { messageOf, stackOf } from '../../errorText.ts';
import { pause, systemClock, type Clock, type Random } from '../../stream/index.ts';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import { LeaseFile, microTime, type Lease, type LeaseSpec } from './lease.ts';

/** Times in milliseconds. */
export interface ElectionPace {
  /** The time that others wait after they last saw the leader renew. Whole seconds. */
  readonly leaseMs: number;
  /** A leader that could not renew for so long steps down. Shorter than the lease, so that it is down before another is up. */
  readonly renewDeadlineMs: number;
  /** Between two tries, of the leader and of the others; up to a fifth more. */
  readonly retryMs: number;
}

export const defaultElectionPace: ElectionPace = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

export interface ElectionOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** Unlike that of every other candidate, also of one that ran before under the same name: pod name and a random part. */
  readonly identity: string;
  readonly onStartedLeading: () => void;
  /** The work of a leader must have ended when this resolves; only then is the lease given back. */
  readonly onStoppedLeading: () => void | Promise<void>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly pace?: ElectionPace;
  readonly clock?: Clock;
  readonly random?: Random;
}

/**
 * Leader election by a Lease, as Kubernetes' own controllers do it.
 *
 * Clocks of different machines are never compared: a candidate measures, on its own clock, how long the lease has not
 * changed. A leader counts its time from before it asked for the renewal, so it always gives up before the others may
 * begin.
 */
export class Election {
  readonly #options: Required<ElectionOptions>;
  readonly #file: LeaseFile;
  readonly #ended = new AbortController();
  readonly #done: Promise<void>;
  /** The lease as last seen, and when its content last changed. */
  #seen: { readonly lease: Lease; readonly at: number } | undefined;
  /** When the last renewal that succeeded was asked for; undefined while another leads. */
  #heldSince: number | undefined;
  #leading = false;

  constructor(options: ElectionOptions) {
    this.#options = { pace: defaultElectionPace, clock: systemClock, random: Math.random, ...options };
    const { api, namespace, name, pace, metrics } = this.#options;
    if (pace.leaseMs <= pace.renewDeadlineMs || pace.renewDeadlineMs <= pace.retryMs)
      throw new TypeError('an election needs lease > renew deadline > retry');
    this.#file = new LeaseFile(api, namespace, name, Math.min(pace.renewDeadlineMs / 2, 5_000));
    metrics.collect('kube_leader', '1 while this process is the leader', 'gauge', ['lease'], () => [
      { labels: { lease: name }, value: this.isLeader ? 1 : 0 },
    ]);
    this.#done = this.#run();
  }

  /**
   * Asked before each act of a leader: it is false from the moment another may have taken over, even when this process
   * slept through it and nobody was told yet.
   */
  get isLeader(): boolean {
    return this.#leading && !this.#overdue();
  }

  /** The known leader; empty when there is none. */
  get leader(): string {
    return this.#seen?.lease.spec.holderIdentity ?? '';
  }

  /** Steps down, gives the lease back, and resolves when that is done or given up. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#done;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock, pace, random, log } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await this.#tryOnce(signal);
      } catch (error) {
        if (!signal.aborted)
          log.warn('Lease could not be read or written', {
            lease: this.#options.name,
            leading: this.#leading,
            reason: messageOf(error),
          });
      }
      await this.#tell();
      const retry = pace.retryMs * (1 + random() / 5);
      // A leader does not sleep past the moment at which it must step down.
      const left =
        this.#leading && this.#heldSince !== undefined
          ? this.#heldSince + pace.renewDeadlineMs - clock.now()
          : retry;
      await pause(clock, Math.max(0, Math.min(retry, left)), signal);
    }
    await this.#stop();
    await this.#release();
  }

  async #tryOnce(signal: AbortSignal): Promise<void> {
    const { clock, identity, pace } = this.#options;
    const askedAt = clock.now();
    // The leader writes over what it wrote itself; only if that fails does it look.
    let before = this.#leading ? this.#seen?.lease : await this.#read(signal);
    const held = before?.spec.holderIdentity ?? '';
    if (held !== identity && held !== '' && !this.#mayTake()) {
      this.#heldSince = undefined;
      return;
    }
    const written = await this.#file.write(this.#spec(before), before, signal);
    if (written !== undefined) {
      this.#see(written);
      this.#heldSince = askedAt;
      return;
    }
    // Another writer came first: the present holder decides. A person may also have edited the lease of a leader.
    before = await this.#read(signal);
    if (before !== undefined && before.spec.holderIdentity !== identity) this.#heldSince = undefined;
    else if (this.#heldSince !== undefined && clock.now() - askedAt < pace.retryMs) {
      const again = await this.#file.write(this.#spec(before), before, signal);
      if (again === undefined) return;
      this.#see(again);
      this.#heldSince = askedAt;
    }
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const lease = await this.#file.read(signal);
    if (lease === undefined) this.#seen = undefined;
    else this.#see(lease);
    return lease;
  }

  #see(lease: Lease): void {
    // The version changes with every renewal, also with one that a stopped clock stamps with the same time.
    if (this.#seen?.lease.resourceVersion === lease.resourceVersion) return;
    this.#seen = { lease, at: this.#options.clock.now() };
  }

  /** The lease of another was not renewed for as long as it promised. */
  #mayTake(): boolean {
    if (this.#seen === undefined) return true;
    const { lease, at } = this.#seen;
    return this.#options.clock.now() - at >= lease.spec.leaseDurationSeconds * 1_000;
  }

  #overdue(): boolean {
    const { clock, pace } = this.#options;
    return this.#heldSince === undefined || clock.now() - this.#heldSince >= pace.renewDeadlineMs;
  }

  #spec(before: Lease | undefined): LeaseSpec {
    const { identity, pace } = this.#options;
    const now = microTime(new Date());
    const ours = before?.spec.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(pace.leaseMs / 1_000),
      acquireTime: ours ? before.spec.acquireTime || now : now,
      renewTime: now,
      leaseTransitions: (before?.spec.leaseTransitions ?? 0) + (ours || before === undefined ? 0 : 1),
    };
  }

  /** Tells of a change. */
  async #tell(): Promise<void> {
    const { log, name, identity, onStartedLeading } = this.#options;
    if (this.#leading && this.#overdue()) await this.#stop();
    if (this.#leading || this.#overdue() || this.#ended.signal.aborted) return;
    this.#leading = true;
    log.info('Leader lease acquired', { lease: name, identity });
    await this.#guarded(onStartedLeading);
  }

  async #stop(): Promise<void> {
    if (!this.#leading) return;
    const { log, name, identity, onStoppedLeading } = this.#options;
    this.#leading = false;
    log.info('Leader lease given up', { lease: name, identity });
    await this.#guarded(onStoppedLeading);
  }

  /** A callback that throws must not end the election: the process would hold the lease and do nothing. */
  async #guarded(call: () => void | Promise<void>): Promise<void> {
    try {
      await call();
    } catch (error) {
      this.#options.log.error('Leader change handler failed', {
        reason: stackOf(error),
      });
    }
  }

  /** Lets another begin at once. Where this fails, the lease runs out by itself. */
  async #release(): Promise<void> {
    const seen = this.#seen?.lease;
    if (this.#heldSince === undefined || seen?.spec.holderIdentity !== this.#options.identity) return;
    this.#heldSince = undefined;
    const now = microTime(new Date());
    try {
      const spec = {
        ...seen.spec,
        holderIdentity: '',
        leaseDurationSeconds: 1,
        renewTime: now,
        acquireTime: now,
      };
      await this.#file.write(spec, seen, AbortSignal.timeout(2_000));
    } catch (error) {
      this.#options.log.warn('Leader lease could not be released; it expires by itself', {
        lease: this.#options.name,
        reason: messageOf(error),
      });
    }
  }
}
