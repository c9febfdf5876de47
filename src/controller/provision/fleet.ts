import type { Infrastructure, KubeObjects, Translation } from '../translate/index.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import type { Gateway, GatewayClass } from '../types/index.ts';
import { infrastructureOf, type Provisioned } from './infrastructure.ts';
import type { KnownParameters } from './knownParameters.ts';
import { isMadeBy, proxyName } from './names.ts';
import { objectsOf } from './objects.ts';
import type { ChosenParameters } from './parameters.ts';
import { hasSessions, portsOf, type Installation, type ProxyRequest } from './request.ts';
import { ObjectReconciler, type ReconcilerOptions } from './objectReconciler.ts';

export interface FleetOptions extends ReconcilerOptions {
  readonly controllerName: string;
  /** Undefined while it is not known yet: nothing is made then. */
  readonly installation: () => Installation | undefined;
}

const none: Provisioned = { deployment: undefined, service: undefined, problems: [] };

/** The proxies of all Gateways: makes what serves each, keeps it so, and knows how it fares. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #reconciler: ObjectReconciler<Gateway, Infrastructure>;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#reconciler = new ObjectReconciler(
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'Gateway',
        queue: 'proxies',
        failureMessage: 'Object of a Gateway could not be created',
        field: 'gateway',
        namesOf: ({ metadata }) => [proxyName(metadata.name)],
        statusOf: (gateway, [proxies = none]) => infrastructureOf(gateway, proxies),
      },
      options,
    );
  }

  /** By `namespace/name` of the Gateways: what serves each. */
  infrastructure(gateways: readonly Gateway[]): ReadonlyMap<string, Infrastructure> {
    return this.#reconciler.statuses(gateways);
  }

  /** Everything was translated: what each Gateway ought to have now. */
  update({ models }: Translation, objects: KubeObjects, parameters: KnownParameters): void {
    const installation = this.#options.installation();
    if (installation === undefined) return;
    const classes = new Map(objects.gatewayClasses.map((one) => [one.metadata.name, one]));
    for (const gateway of objects.gateways) {
      const gatewayClass = classes.get(gateway.spec.gatewayClassName);
      const model = models.get(keyOfNamed(gateway));
      // A Gateway that went to another controller does not need our objects any more; a Gateway that cannot be
      // served at present keeps them: its mistake must not end its connections.
      if (model !== undefined) {
        const served = { ports: portsOf(model.model), sessions: hasSessions(model.model) };
        const chosen = parameters.of(gateway, gatewayClass);
        if (served.ports.length > 0 && chosen !== undefined)
          this.#want(gateway, served, chosen, installation);
      } else if (gatewayClass !== undefined && !this.#isOurs(gatewayClass) && this.#hasOurs(gateway))
        this.#reconciler.release(gateway);
    }
    this.#reconciler.keep(objects.gateways);
  }

  /** Is something being made? */
  get isBusy(): boolean {
    return this.#reconciler.isBusy;
  }

  /** Is what serves a Gateway, by its `namespace/name`, just being made for the first time, or about to be? */
  isBeginning(key: string): boolean {
    // In the first moments of all it is not known yet what to make.
    return this.#options.installation() === undefined
      ? !this.#reconciler.has(key)
      : this.#reconciler.isBeginning(key);
  }

  /** The new leader makes the objects that the leader before it did not make. */
  resume(): void {
    this.#reconciler.resume();
  }

  async close(): Promise<void> {
    await this.#reconciler.close();
  }

  #want(
    gateway: Gateway,
    served: Pick<ProxyRequest, 'ports' | 'sessions'>,
    parameters: ChosenParameters,
    installation: Installation,
  ): void {
    const { metadata, spec } = gateway;
    const relevant = [metadata.uid, spec.gatewayClassName, spec.addresses, spec.infrastructure];
    const mark = JSON.stringify([relevant, served, parameters, installation]);
    this.#reconciler.want(gateway, mark, () =>
      objectsOf({ gateway, ...served, parameters, installation, replicas: this.#replicasOf(gateway) }),
    );
  }

  /** The replicas that the autoscaler has set meanwhile. */
  #replicasOf(gateway: Gateway): number | undefined {
    const [{ deployment } = none] = this.#reconciler.servingOf(gateway);
    return (deployment?.['spec'] as { readonly replicas?: number } | undefined)?.replicas;
  }

  #isOurs({ spec }: GatewayClass): boolean {
    return spec.controllerName === this.#options.controllerName;
  }

  #hasOurs(gateway: Gateway): boolean {
    const [{ deployment, service } = none] = this.#reconciler.servingOf(gateway);
    return [deployment, service].some(
      (object) => object !== undefined && isMadeBy(this.#options.controllerName, object.metadata),
    );
  }
}
