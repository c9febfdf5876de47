import { isDeepStrictEqual } from 'node:util';
import type { Logger, Metrics } from '../../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject, ObjectMeta } from '../api/object.ts';
import { mcpPodName, type McpPod, type PodInfrastructure, type Translation } from '../translate/index.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import type { McpBackend } from '../types/index.ts';
import { WorkQueue } from '../work/workQueue.ts';
import { Provisioner, type ProvisionProblem } from '../write/provisioner.ts';
import { podInfrastructureOf } from './infrastructure.ts';
import { mcpPodObjects, type PodRequest } from './mcpPodObjects.ts';
import { isMadeBy, isOfAnother } from './names.ts';
import type { ProvisionedObjects } from './provisionedObjects.ts';
import type { Installation } from './request.ts';

export interface McpPodFleetOptions {
  readonly api: KubeApi;
  /** Closed by whoever made them. */
  readonly objects: ProvisionedObjects;
  readonly controllerName: string;
  /** Undefined while it is not known yet: nothing is made then. */
  readonly installation: () => Installation | undefined;
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** A pod has changed: the status of its McpBackend may say something else now. */
  readonly onChange: () => void;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** How long what the server has refused rests before it is tried again. */
const problemPauseMs = 30_000;

interface Wish {
  readonly object: McpBackend;
  readonly wanted: readonly KubeObject[];
  /** Of what decides about the objects. */
  readonly mark: string;
}

/** The pods of McpBackends that have one of their own: makes them, keeps them so, and knows how they fare. */
export class McpPodFleet {
  readonly #options: McpPodFleetOptions;
  readonly #provisioner: Provisioner;
  readonly #queue: WorkQueue;
  readonly #wishes = new Map<string, Wish>();
  readonly #problems = new Map<string, readonly ProvisionProblem[]>();
  /** As it was told last. */
  #known: ReadonlyMap<string, PodInfrastructure> = new Map();

  constructor(options: McpPodFleetOptions) {
    this.#options = options;
    const { api, objects, controllerName, mayWrite, log, metrics } = options;
    this.#provisioner = new Provisioner({
      api,
      kinds: objects.kinds,
      mayWrite,
      isOfAnother,
      // Controllers of other names may have made a pod for the same McpBackend.
      mayDelete: ({ metadata }) => isMadeBy(controllerName, metadata),
      log,
      metrics,
    });
    this.#queue = new WorkQueue({
      name: 'mcp-pods',
      handle: async (key, signal) => await this.#provision(key, signal),
      log,
      metrics,
      rate: { perSecond: 50, burst: 200 },
    });
    objects.onChange((changed) => this.#seen(changed));
  }

  /** By `namespace/name` of the McpBackends: the pod of each, where there is one or ought to be. */
  infrastructure(backends: readonly McpBackend[]): ReadonlyMap<string, PodInfrastructure> {
    const all = new Map<string, PodInfrastructure>();
    for (const backend of backends) {
      const found = this.#infrastructureOf(backend);
      if (found !== undefined) all.set(keyOfNamed(backend), found);
    }
    return (this.#known = all);
  }

  /** Everything was translated: what each McpBackend ought to have now. */
  update({ pods }: Pick<Translation, 'pods'>, backends: readonly McpBackend[]): void {
    const installation = this.#options.installation();
    if (installation === undefined) return;
    const present = new Set<string>();
    for (const object of backends) {
      const key = keyOfNamed(object);
      present.add(key);
      const pod = pods.get(key);
      if (pod !== undefined) this.#wish(key, object, requestOf(pod), installation);
      // Nobody uses it any more, or may: programs do not run on for that.
      else if (this.#wishes.has(key) ? this.#wishes.get(key)?.wanted.length !== 0 : this.#hasOurs(object))
        this.#want({ object, wanted: [], mark: '' });
    }
    for (const key of [...this.#wishes.keys(), ...this.#problems.keys()])
      if (!present.has(key)) this.#forget(key);
  }

  /** What the leader before us did not get to do is ours now. */
  resume(): void {
    for (const key of this.#wishes.keys()) this.#queue.add(key);
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  #wish(key: string, object: McpBackend, request: PodRequest, installation: Installation): void {
    const wanted = mcpPodObjects(request, installation);
    const mark = JSON.stringify([object.metadata.uid, wanted]);
    if (this.#wishes.get(key)?.mark !== mark) this.#want({ object, wanted, mark });
  }

  #want(wish: Wish): void {
    const key = keyOfNamed(wish.object);
    this.#wishes.set(key, wish);
    this.#queue.add(key);
  }

  #forget(key: string): void {
    this.#wishes.delete(key);
    this.#problems.delete(key);
    this.#queue.forget(key);
  }

  async #provision(key: string, signal: AbortSignal): Promise<void> {
    const wish = this.#wishes.get(key);
    if (wish === undefined || !this.#options.mayWrite()) return;
    const { object, wanted } = wish;
    const owner = { apiVersion: 'portcullis.dev/v1alpha1', kind: 'McpBackend', metadata: object.metadata };
    const problems = await this.#provisioner.reconcile(owner, wanted, signal);
    for (const { object: which, message } of problems)
      this.#options.log.warn('an object of an McpBackend cannot be made', {
        mcpBackend: key,
        object: which,
        reason: message,
      });
    if (this.#wishes.get(key) !== wish) return;
    if (wanted.length === 0) this.#wishes.delete(key);
    if (problems.length > 0) {
      this.#problems.set(key, problems);
      // A quota, a permission, a name that others have: nobody tells when that changes.
      this.#queue.addAfter(key, problemPauseMs);
    } else this.#problems.delete(key);
    this.#compare(object);
  }

  #seen(objects: readonly KubeObject[]): void {
    for (const { metadata } of objects)
      for (const { kind, name } of metadata.ownerReferences ?? []) {
        const key = `${metadata.namespace ?? ''}/${name}`;
        const wish = kind === 'McpBackend' ? this.#wishes.get(key) : undefined;
        if (wish === undefined) continue;
        if (this.#options.mayWrite()) this.#queue.add(key);
        this.#compare(wish.object);
      }
  }

  /** Tells of a change where the status would say something else. */
  #compare(object: McpBackend): void {
    const known = this.#known.get(keyOfNamed(object));
    if (!isDeepStrictEqual(this.#infrastructureOf(object), known)) this.#options.onChange();
  }

  #infrastructureOf({ metadata }: McpBackend): PodInfrastructure | undefined {
    const { deployment, service } = this.#objectsOf(metadata);
    const problems = this.#problems.get(keyOfNamed({ metadata })) ?? [];
    if (deployment === undefined && service === undefined && problems.length === 0) return undefined;
    return podInfrastructureOf({ deployment, service, problems });
  }

  #hasOurs({ metadata }: McpBackend): boolean {
    const { deployment, service } = this.#objectsOf(metadata);
    return deployment !== undefined || service !== undefined;
  }

  #objectsOf(metadata: ObjectMeta): ReturnType<ProvisionedObjects['servingOf']> {
    const { objects, controllerName } = this.#options;
    return objects.servingOf(metadata, mcpPodName(controllerName, metadata.name));
  }
}

const requestOf = ({ model: _, ...request }: McpPod): PodRequest => request;
