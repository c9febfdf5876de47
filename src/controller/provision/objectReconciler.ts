import { isDeepStrictEqual } from 'node:util';
import type { Logger, Metrics } from '../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import type { Named } from '../types/index.ts';
import { WorkQueue } from '../work/workQueue.ts';
import { Provisioner, type ProvisionerOptions, type ProvisionProblem } from '../write/provisioner.ts';
import type { Provisioned } from './infrastructure.ts';
import { isOfAnother } from './names.ts';
import type { ProvisionedObjects, Serving } from './provisionedObjects.ts';

/** The objects of one kind of owners, and their names. */
export interface ReconciledKind<Owner extends Named, Status> {
  readonly apiVersion: string;
  readonly kind: string;
  /** The name of its queue. */
  readonly queue: string;
  /** The log message for an object that cannot be made, and the field that names the owner. */
  readonly failureMessage: string;
  readonly field: string;
  /** The names of an owner's Deployments, each with a Service of the same name. */
  readonly namesOf: (owner: Owner) => readonly string[];
  /**
   * The part of an owner's status about them.
   * @param provisioned in the order of the names; each with all problems of the owner
   */
  readonly statusOf: (owner: Owner, provisioned: readonly Provisioned[]) => Status;
  readonly mayDelete?: ProvisionerOptions['mayDelete'];
}

export interface ReconcilerOptions {
  readonly api: KubeApi;
  /** Closed by whoever made them. */
  readonly objects: ProvisionedObjects;
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** Reports that the objects of an owner have changed: its status may differ now. */
  readonly onChange: () => void;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The time before an object that the server has refused is tried again. */
const problemPauseMs = 30_000;

interface DesiredState<Owner> {
  readonly owner: Owner;
  /** Undefined where it ought to have nothing of ours any more. */
  readonly objects: (() => readonly KubeObject[]) | undefined;
  /** The mark of the inputs of the objects. */
  readonly mark: string;
}

/** Makes what owners ought to have, keeps it so, and knows how it fares. */
export class ObjectReconciler<Owner extends Named, Status> {
  readonly #kind: ReconciledKind<Owner, Status>;
  readonly #options: ReconcilerOptions;
  readonly #provisioner: Provisioner;
  readonly #queue: WorkQueue;
  readonly #wishes = new Map<string, DesiredState<Owner>>();
  readonly #problems = new Map<string, readonly ProvisionProblem[]>();
  /** As it was told last. */
  #known: ReadonlyMap<string, Status> = new Map();

  constructor(kept: ReconciledKind<Owner, Status>, options: ReconcilerOptions) {
    const { api, objects, mayWrite, log, metrics } = options;
    this.#kind = kept;
    this.#options = options;
    this.#provisioner = new Provisioner({
      api,
      kinds: objects.kinds,
      mayWrite,
      isOfAnother,
      ...(kept.mayDelete === undefined ? {} : { mayDelete: kept.mayDelete }),
      log,
      metrics,
    });
    this.#queue = new WorkQueue({
      name: kept.queue,
      handle: async (key, signal) => await this.#provision(key, signal),
      log,
      metrics,
      rate: { perSecond: 50, burst: 200 },
    });
    objects.onChange((changed) => this.#seen(changed));
  }

  /** By `namespace/name` of the owners: what there is of each. */
  statuses(owners: readonly Owner[]): ReadonlyMap<string, Status> {
    const all = new Map<string, Status>();
    for (const owner of owners) {
      const found = this.#newsOf(owner);
      if (found !== undefined) all.set(keyOfNamed(owner), found);
    }
    return (this.#known = all);
  }

  /**
   * An owner ought to have objects.
   * @param mark of what decides about them: where it is the same as before, nothing is done
   * @param objects asked for anew at each try
   */
  want(owner: Owner, mark: string, objects: () => readonly KubeObject[]): void {
    if (this.#wishes.get(keyOfNamed(owner))?.mark !== mark) this.#add({ owner, objects, mark });
  }

  /** Releases the objects of an owner that are not needed any more. */
  release(owner: Owner): void {
    this.#add({ owner, objects: undefined, mark: '' });
  }

  /** Owners that are not there any more take their objects along. */
  keep(owners: readonly Owner[]): void {
    const present = new Set(owners.map(keyOfNamed));
    for (const key of new Set([...this.#wishes.keys(), ...this.#problems.keys()]))
      if (!present.has(key)) {
        this.#wishes.delete(key);
        this.#problems.delete(key);
        this.#queue.forget(key);
      }
  }

  /** The wish for an owner: objects, or none; undefined if there is no wish yet. */
  wish(owner: Owner): 'objects' | 'none' | undefined {
    const wish = this.#wishes.get(keyOfNamed(owner));
    if (wish === undefined) return undefined;
    return wish.objects === undefined ? 'none' : 'objects';
  }

  /** The serving objects of an owner, in the order of their names. */
  servingOf(owner: Owner): readonly Serving[] {
    return this.#kind.namesOf(owner).map((name) => this.#options.objects.servingOf(owner.metadata, name));
  }

  /** Has the owner any serving objects, whatever their names? */
  serves(owner: Owner): boolean {
    return this.#options.objects.serves(owner.metadata);
  }

  /** Is something being made? */
  get isBusy(): boolean {
    return this.#queue.isBusy;
  }

  /** Was there anything of an owner, by its `namespace/name`, when it was last asked for? */
  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** Is what serves an owner, by its `namespace/name`, just being made for the first time? A Service is the last. */
  isBeginning(key: string): boolean {
    const wish = this.#wishes.get(key);
    if (wish === undefined || !this.#queue.works(key)) return false;
    return this.servingOf(wish.owner).some(({ service }) => service === undefined);
  }

  /** The new leader does the work that the leader before it did not do. */
  resume(): void {
    for (const key of this.#wishes.keys()) this.#queue.add(key);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  #add(wish: DesiredState<Owner>): void {
    const key = keyOfNamed(wish.owner);
    this.#wishes.set(key, wish);
    this.#queue.add(key);
  }

  async #provision(key: string, signal: AbortSignal): Promise<void> {
    const { log, mayWrite } = this.#options;
    const { apiVersion, kind, failureMessage: complaint, field } = this.#kind;
    const wish = this.#wishes.get(key);
    if (wish === undefined || !mayWrite()) return;
    const { owner, objects } = wish;
    const problems = await this.#provisioner.reconcile(
      { apiVersion, kind, metadata: owner.metadata },
      objects?.() ?? [],
      signal,
    );
    for (const { object, message } of problems)
      log.warn(complaint, { [field]: key, object, reason: message });
    if (this.#wishes.get(key) !== wish) return;
    if (objects === undefined) this.#wishes.delete(key);
    if (problems.length > 0) {
      this.#problems.set(key, problems);
      // A quota, a permission, a name that others have: nobody tells when that changes.
      this.#queue.addAfter(key, problemPauseMs);
    } else this.#problems.delete(key);
    this.#compare(owner);
  }

  /** Objects of ours have changed: by us, by the cluster, or by somebody who ought not to. */
  #seen(objects: readonly KubeObject[]): void {
    for (const { metadata } of objects)
      for (const { kind, name } of metadata.ownerReferences ?? []) {
        const key = `${metadata.namespace ?? ''}/${name}`;
        const wish = kind === this.#kind.kind ? this.#wishes.get(key) : undefined;
        if (wish === undefined) continue;
        if (this.#options.mayWrite()) this.#queue.add(key);
        this.#compare(wish.owner);
      }
  }

  /** Tells of a change where the status would say something else: pods come and go a lot. */
  #compare(owner: Owner): void {
    const known = this.#known.get(keyOfNamed(owner));
    if (!isDeepStrictEqual(this.#newsOf(owner), known)) this.#options.onChange();
  }

  #newsOf(owner: Owner): Status | undefined {
    const all = this.servingOf(owner);
    const problems = this.#problems.get(keyOfNamed(owner)) ?? [];
    const isThere = all.some(({ deployment, service }) => deployment !== undefined || service !== undefined);
    if (!isThere && problems.length === 0) return undefined;
    return this.#kind.statusOf(
      owner,
      all.map((serving) => ({ ...serving, problems })),
    );
  }
}
