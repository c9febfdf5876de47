import { isDeepStrictEqual } from 'node:util';
import type { Logger, Metrics } from '../../../telemetry/index.ts';
import type { KubeApi } from '../api/api.ts';
import type { KubeObject } from '../api/object.ts';
import { keyOfNamed } from '../translate/lookup.ts';
import type { Infrastructure, KubeObjects, Translation } from '../translate/index.ts';
import type { Gateway, GatewayClass } from '../types/index.ts';
import { WorkQueue } from '../work/workQueue.ts';
import { Provisioner, type ProvisionProblem } from '../write/provisioner.ts';
import { infrastructureOf } from './infrastructure.ts';
import type { KnownParameters } from './knownParameters.ts';
import { isMadeBy, isOfAnother, proxyName } from './names.ts';
import { objectsOf } from './objects.ts';
import type { ChosenParameters } from './parameters.ts';
import type { ProvisionedObjects } from './provisionedObjects.ts';
import { hasSessions, portsOf, type Installation, type ProxyRequest } from './request.ts';

export interface FleetOptions {
  readonly api: KubeApi;
  /** Closed by whoever made them. */
  readonly objects: ProvisionedObjects;
  readonly controllerName: string;
  /** Undefined while it is not known yet: nothing is made then. */
  readonly installation: () => Installation | undefined;
  /** Whether this process may write now: only the leader does. */
  readonly mayWrite: () => boolean;
  /** What serves a Gateway has changed: its status may say something else now. */
  readonly onChange: () => void;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** How long what the server has refused rests before it is tried again. */
const problemPauseMs = 30_000;

/** A Gateway and what it ought to have. */
interface Wish {
  readonly gateway: Gateway;
  /** Undefined where it ought to have nothing of ours any more. */
  readonly request: ProxyRequest | undefined;
  /** Of what decides about the objects. */
  readonly mark: string;
}

/** The proxies of all Gateways: makes what serves each, keeps it so, and knows how it fares. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #provisioner: Provisioner;
  readonly #queue: WorkQueue;
  readonly #wishes = new Map<string, Wish>();
  readonly #problems = new Map<string, readonly ProvisionProblem[]>();
  /** As it was told last. */
  #known: ReadonlyMap<string, Infrastructure> = new Map();

  constructor(options: FleetOptions) {
    this.#options = options;
    const { api, objects, mayWrite, log, metrics } = options;
    this.#provisioner = new Provisioner({
      api,
      kinds: objects.kinds,
      mayWrite,
      isOfAnother,
      log,
      metrics,
    });
    this.#queue = new WorkQueue({
      name: 'proxies',
      handle: async (key, signal) => await this.#provision(key, signal),
      log,
      metrics,
      rate: { perSecond: 50, burst: 200 },
    });
    objects.onChange((changed) => this.#seen(changed));
  }

  /** By `namespace/name` of the Gateways: what serves each. */
  infrastructure(gateways: readonly Gateway[]): ReadonlyMap<string, Infrastructure> {
    const all = new Map<string, Infrastructure>();
    for (const gateway of gateways) {
      const found = this.#infrastructureOf(gateway);
      if (found !== undefined) all.set(keyOfNamed(gateway), found);
    }
    return (this.#known = all);
  }

  /** Everything was translated: what each Gateway ought to have now. */
  update({ models }: Translation, objects: KubeObjects, parameters: KnownParameters): void {
    const installation = this.#options.installation();
    if (installation === undefined) return;
    const classes = new Map(objects.gatewayClasses.map((one) => [one.metadata.name, one]));
    const present = new Set<string>();
    for (const gateway of objects.gateways) {
      const key = keyOfNamed(gateway);
      present.add(key);
      const gatewayClass = classes.get(gateway.spec.gatewayClassName);
      const model = models.get(key);
      // One that cannot be served at present keeps what it has: its mistake must not end its connections.
      if (model !== undefined) {
        const served = { ports: portsOf(model.model), sessions: hasSessions(model.model) };
        const chosen = parameters.of(gateway, gatewayClass);
        if (served.ports.length > 0 && chosen !== undefined)
          this.#wish(gateway, served, chosen, installation);
      } else if (gatewayClass !== undefined && !this.#isOurs(gatewayClass) && this.#hasOurs(gateway))
        this.#release(gateway);
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

  #wish(
    gateway: Gateway,
    served: Pick<ProxyRequest, 'ports' | 'sessions'>,
    parameters: ChosenParameters,
    installation: Installation,
  ): void {
    const key = keyOfNamed(gateway);
    const { metadata, spec } = gateway;
    const relevant = [metadata.uid, spec.gatewayClassName, spec.addresses, spec.infrastructure];
    const mark = JSON.stringify([relevant, served, parameters, installation]);
    if (this.#wishes.get(key)?.mark === mark) return;
    this.#wishes.set(key, { gateway, request: { gateway, ...served, parameters, installation }, mark });
    this.#queue.add(key);
  }

  /** The Gateway went to another controller: what we made for it is of no use any more. */
  #release(gateway: Gateway): void {
    this.#wishes.set(keyOfNamed(gateway), { gateway, request: undefined, mark: '' });
    this.#queue.add(keyOfNamed(gateway));
  }

  #forget(key: string): void {
    this.#wishes.delete(key);
    this.#problems.delete(key);
    this.#queue.forget(key);
  }

  async #provision(key: string, signal: AbortSignal): Promise<void> {
    const wish = this.#wishes.get(key);
    if (wish === undefined || !this.#options.mayWrite()) return;
    const { gateway, request } = wish;
    const owner = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'Gateway', metadata: gateway.metadata };
    const wanted =
      request === undefined ? [] : objectsOf({ ...request, replicas: this.#replicasOf(gateway) });
    const problems = await this.#provisioner.reconcile(owner, wanted, signal);
    for (const { object, message } of problems)
      this.#options.log.warn('an object of a Gateway cannot be made', {
        gateway: key,
        object,
        reason: message,
      });
    if (this.#wishes.get(key) !== wish) return;
    if (request === undefined) this.#wishes.delete(key);
    if (problems.length > 0) {
      this.#problems.set(key, problems);
      // A quota, a permission, a name that others have: nobody tells when that changes.
      this.#queue.addAfter(key, problemPauseMs);
    } else this.#problems.delete(key);
    this.#compare(gateway);
  }

  /** Objects of ours have changed: by us, by the cluster, or by somebody who ought not to. */
  #seen(objects: readonly KubeObject[]): void {
    for (const { metadata } of objects)
      for (const { kind, name } of metadata.ownerReferences ?? []) {
        const key = `${metadata.namespace ?? ''}/${name}`;
        const wish = kind === 'Gateway' ? this.#wishes.get(key) : undefined;
        if (wish === undefined) continue;
        if (this.#options.mayWrite()) this.#queue.add(key);
        this.#compare(wish.gateway);
      }
  }

  /** Tells of a change where the status would say something else: pods come and go a lot. */
  #compare(gateway: Gateway): void {
    const known = this.#known.get(keyOfNamed(gateway));
    if (!isDeepStrictEqual(this.#infrastructureOf(gateway), known)) this.#options.onChange();
  }

  #infrastructureOf(gateway: Gateway): Infrastructure | undefined {
    const { deployment, service } = this.#objectsOf(gateway);
    const problems = this.#problems.get(keyOfNamed(gateway)) ?? [];
    if (deployment === undefined && service === undefined && problems.length === 0) return undefined;
    return infrastructureOf(gateway, { deployment, service, problems });
  }

  /** What the autoscaler has made of it meanwhile. */
  #replicasOf(gateway: Gateway): number | undefined {
    const { deployment } = this.#objectsOf(gateway);
    return (deployment?.['spec'] as { readonly replicas?: number } | undefined)?.replicas;
  }

  #isOurs({ spec }: GatewayClass): boolean {
    return spec.controllerName === this.#options.controllerName;
  }

  #hasOurs(gateway: Gateway): boolean {
    const { deployment, service } = this.#objectsOf(gateway);
    return [deployment, service].some(
      (object) => object !== undefined && isMadeBy(this.#options.controllerName, object.metadata),
    );
  }

  #objectsOf({ metadata }: Gateway): ReturnType<ProvisionedObjects['servingOf']> {
    return this.#options.objects.servingOf(metadata, proxyName(metadata.name));
  }
}
