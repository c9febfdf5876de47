import { mcpPodName, type McpPod, type PodInfrastructure, type Translation } from '../translate/index.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import { podTargetsOf, podsOf } from '../translate/mcpBackends.ts';
import type { McpBackend } from '../types/index.ts';
import type { FleetOptions } from './fleet.ts';
import { podInfrastructureOf, type Provisioned } from './infrastructure.ts';
import { mcpPodObjects, type PodRequest } from './mcpPodObjects.ts';
import { isMadeBy } from './names.ts';
import { ObjectReconciler } from './objectReconciler.ts';

/** The pods of an McpBackend, in the order of `podsOf`; undefined where there is nothing of a pod. */
type Pods = readonly (PodInfrastructure | undefined)[];

/** The pods of the targets of McpBackends: makes them, keeps them so, and knows how they fare. */
export class McpPodFleet {
  readonly #installation: FleetOptions['installation'];
  readonly #reconciler: ObjectReconciler<McpBackend, Pods>;

  constructor(options: FleetOptions) {
    const { controllerName } = options;
    const namesOf = (backend: McpBackend): readonly string[] =>
      podTargetsOf(backend).map((target) => mcpPodName(controllerName, backend.metadata.name, target));
    this.#installation = options.installation;
    this.#reconciler = new ObjectReconciler(
      {
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'McpBackend',
        queue: 'mcp-pods',
        failureMessage: 'Object of an McpBackend could not be created',
        field: 'mcpBackend',
        namesOf,
        statusOf: (backend, provisioned) => {
          const names = namesOf(backend);
          return provisioned.map((one, index) => ofPod(names[index] ?? '', one));
        },
        // Controllers of other names may have made a pod for the same McpBackend.
        mayDelete: ({ metadata }) => isMadeBy(controllerName, metadata),
      },
      options,
    );
  }

  /** The pods of the McpBackends, by `podKeyOf` their targets, where there is one or ought to be. */
  infrastructure(backends: readonly McpBackend[]): ReadonlyMap<string, PodInfrastructure> {
    const statuses = this.#reconciler.statuses(backends);
    return new Map(
      backends.flatMap((backend) => {
        const pods = statuses.get(keyOfNamed(backend)) ?? [];
        return podsOf(backend).flatMap((key, index) => {
          const pod = pods[index];
          return pod === undefined ? [] : [[key, pod] as const];
        });
      }),
    );
  }

  /** Everything was translated: what each McpBackend ought to have now. */
  update({ pods }: Pick<Translation, 'pods'>, backends: readonly McpBackend[]): void {
    const installation = this.#installation();
    if (installation === undefined) return;
    for (const object of backends) {
      // Programs end when no Gateway uses them any more, or may use them.
      const wanted = podsOf(object)
        .flatMap((key) => pods.get(key) ?? [])
        .flatMap((pod) => mcpPodObjects(requestOf(pod), installation));
      if (wanted.length > 0)
        this.#reconciler.want(object, JSON.stringify([object.metadata.uid, wanted]), () => wanted);
      else if (this.#hasObjects(object)) this.#reconciler.release(object);
    }
    this.#reconciler.keep(backends);
  }

  /** Is something being made? */
  get isBusy(): boolean {
    return this.#reconciler.isBusy;
  }

  /** Is what serves an McpBackend, by its `namespace/name`, just being made for the first time? */
  isBeginning(key: string): boolean {
    return this.#reconciler.isBeginning(key);
  }

  /** The new leader makes the objects that the leader before it did not make. */
  resume(): void {
    this.#reconciler.resume();
  }

  async close(): Promise<void> {
    await this.#reconciler.close();
  }

  #hasObjects(object: McpBackend): boolean {
    const wish = this.#reconciler.wish(object);
    return wish === undefined ? this.#reconciler.serves(object) : wish === 'objects';
  }
}

/** Undefined where there is nothing of the pod, and no problem of it. */
function ofPod(name: string, { deployment, service, problems }: Provisioned): PodInfrastructure | undefined {
  const own = problems.filter(({ object }) => object.endsWith(`/${name}`) || object.endsWith(`/${name}.mcp`));
  if (deployment === undefined && service === undefined && own.length === 0) return undefined;
  return podInfrastructureOf({ deployment, service, problems: own });
}

const requestOf = ({ model: _, ...request }: McpPod): PodRequest => request;
