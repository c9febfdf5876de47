import { mcpPodName, type McpPod, type PodInfrastructure, type Translation } from '../translate/index.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import type { McpBackend } from '../types/index.ts';
import type { FleetOptions } from './fleet.ts';
import { podInfrastructureOf } from './infrastructure.ts';
import { mcpPodObjects, type PodRequest } from './mcpPodObjects.ts';
import { isMadeBy } from './names.ts';
import { ObjectReconciler } from './objectReconciler.ts';

/** The pods of McpBackends that have one of their own: makes them, keeps them so, and knows how they fare. */
export class McpPodFleet {
  readonly #installation: FleetOptions['installation'];
  readonly #reconciler: ObjectReconciler<McpBackend, PodInfrastructure>;

  constructor(options: FleetOptions) {
    const { controllerName } = options;
    this.#installation = options.installation;
    this.#reconciler = new ObjectReconciler(
      {
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'McpBackend',
        queue: 'mcp-pods',
        failureMessage: 'Object of an McpBackend could not be created',
        field: 'mcpBackend',
        nameOf: ({ metadata }) => mcpPodName(controllerName, metadata.name),
        statusOf: (_, provisioned) => podInfrastructureOf(provisioned),
        // Controllers of other names may have made a pod for the same McpBackend.
        mayDelete: ({ metadata }) => isMadeBy(controllerName, metadata),
      },
      options,
    );
  }

  /** By `namespace/name` of the McpBackends: the pod of each, where there is one or ought to be. */
  infrastructure(backends: readonly McpBackend[]): ReadonlyMap<string, PodInfrastructure> {
    return this.#reconciler.statuses(backends);
  }

  /** Everything was translated: what each McpBackend ought to have now. */
  update({ pods }: Pick<Translation, 'pods'>, backends: readonly McpBackend[]): void {
    const installation = this.#installation();
    if (installation === undefined) return;
    for (const object of backends) {
      // Programs end when no Gateway uses them any more, or may use them.
      const pod = pods.get(keyOfNamed(object));
      if (pod !== undefined) {
        const wanted = mcpPodObjects(requestOf(pod), installation);
        this.#reconciler.want(object, JSON.stringify([object.metadata.uid, wanted]), () => wanted);
      } else if ((this.#reconciler.wish(object) ?? this.#present(object)) === 'objects')
        this.#reconciler.release(object);
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

  #present(object: McpBackend): 'objects' | 'none' {
    const { deployment, service } = this.#reconciler.servingOf(object);
    return deployment === undefined && service === undefined ? 'none' : 'objects';
  }
}

const requestOf = ({ model: _, ...request }: McpPod): PodRequest => request;
