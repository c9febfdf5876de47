import type { GatewayClass, Named } from '../types/index.ts';
import { BackendResolver } from './backendRef.ts';
import { BackendTlsPolicies } from './backendTls.ts';
import { sameData, type Problem } from './conditions.ts';
import type { GatewayModel, KubeObjects, StatusUpdate, TranslateOptions, Translation } from './contract.ts';
import { EndpointFinder } from './endpoints.ts';
import { guardInto, type Defect, type Guard } from './guard.ts';
import { modelOf } from './gatewayModel.ts';
import { readGateway, setsByGateway } from './gateways.ts';
import { McpResolver } from './mcpBackendRef.ts';
import { McpBackends } from './mcpBackends.ts';
import { mcpBackendStatus } from './mcpStatus.ts';
import { McpPods } from './mcpPods.ts';
import { GatewayRights } from './mcpRights.ts';
import { byAge, keyOfNamed, Lookups, newAsked, type Asked, type Lookup } from './lookup.ts';
import { GatewayParameters, parametersProblem } from './parameters.ts';
import { GatewayPolicies } from './policies.ts';
import { gatewayPolicyStatus } from './policyStatus.ts';
import { placeRoute, type KindedRoute } from './routes.ts';
import { isAccepted, parentsOf, type GatewayState } from './state.ts';
import {
  gatewayClassStatus,
  gatewayStatus,
  listenerSetStatus,
  policyStatus,
  servingOf,
  update,
} from './status.ts';
import { ProxyTroubles } from './troubles.ts';
import { collectUses, restoreUses, type Shared, type Uses } from './uses.ts';

export type {
  EndpointTable,
  GatewayModel,
  Infrastructure,
  KubeObjects,
  McpPod,
  NeededSecret,
  Parameters,
  PodInfrastructure,
  PodResources,
  StatusKind,
  StatusUpdate,
  TranslateOptions,
  Translation,
} from './contract.ts';
export { addressesIn, EndpointFinder } from './endpoints.ts';
export { limitOf, namespaceBudget } from './entries.ts';
export { mcpPodPort } from './mcpPod.ts';
export { mcpAccountName, mcpModelKey, mcpOfModel, mcpPodName, podKeyOf } from './mcpPodNames.ts';
export { noteReplaced } from './pem.ts';
export { isForPrograms } from './mcpEnvironment.ts';

/**
 * Turns the objects of a cluster into one model for each Gateway of ours, and into the status of every object of ours.
 * A pure function, but that what is known of a Secret or ConfigMap is remembered as long as that object lives.
 *
 * What cannot be done becomes a condition, and answers 500 where it stood; nothing is thrown. An object that breaks the
 * translation itself is left out and named in `defects`.
 */
export const translate = (objects: KubeObjects, options: TranslateOptions): Translation =>
  new Run(objects, options).translate().translation;

/** The same, with what it takes to translate a part of it later. */
export const translateTraced = (objects: KubeObjects, options: TranslateOptions, part?: Part): Traced =>
  new Run(objects, options, part).translate();

/** Some of the Gateways, with every route that names one of them. The other objects are all there. */
export interface Part {
  /** By `namespace/name`. */
  readonly gateways: ReadonlySet<string>;
  readonly routes: Routes;
  /** The uses of shared objects by the other Gateways. */
  readonly uses: Uses;
  /** The keys of addresses that the models of the other Gateways name. */
  readonly endpoints: readonly string[];
}

export type Routes = Pick<KubeObjects, 'httpRoutes' | 'grpcRoutes' | 'tlsRoutes' | 'tcpRoutes' | 'udpRoutes'>;

export interface Traced {
  /**
   * A partial translation has the models of its Gateways, and the statuses of these Gateways, of their routes, and of
   * shared objects. The addresses are those of all models.
   */
  readonly translation: Translation;
  readonly asked: AskedBy;
  readonly uses: Uses;
}

/** The questions of each Gateway and each policy, by `namespace/name`. Who asked for nothing that changed stays as it is. */
export interface AskedBy {
  readonly gateways: ReadonlyMap<string, Asked>;
  readonly gatewayPolicies: ReadonlyMap<string, Asked>;
  readonly backendTLSPolicies: ReadonlyMap<string, Asked>;
}

/** The names of all objects whose data matters. */
export type AskedData = Readonly<Record<'secrets' | 'configMaps', ReadonlySet<string>>>;

/** The tools for reading routes. */
interface Beside extends Shared {
  readonly troubles: ProxyTroubles;
}

class Run {
  private readonly objects: KubeObjects;
  private readonly options: TranslateOptions;
  private readonly part: Part | undefined;
  private readonly lookups: Lookups;
  private readonly parameters: GatewayParameters;
  private readonly asked = {
    gateways: new Map<string, Asked>(),
    gatewayPolicies: new Map<string, Asked>(),
    backendTLSPolicies: new Map<string, Asked>(),
  };
  private readonly report: StatusUpdate[] = [];
  private readonly defects: Defect[] = [];
  private readonly guard: Guard = guardInto(this.defects);

  constructor(objects: KubeObjects, options: TranslateOptions, part?: Part) {
    this.objects = objects;
    this.options = options;
    this.part = part;
    this.lookups = new Lookups(objects, this.guard);
    this.parameters = new GatewayParameters(objects.gatewayClasses, options.parameters);
  }

  translate(): Traced {
    const { now, process, infrastructure, controllerName, troubles = new Map() } = this.options;
    const proxies = new ProxyTroubles(troubles);
    const gateways = this.gateways(this.classes());
    const shared = this.shared();
    const { backendTls, policies, mcp } = shared;
    for (const gateway of gateways)
      this.guard('Gateway', gateway.object, () => policies.noteGateway(gateway));
    this.routes(gateways, { ...shared, troubles: proxies });
    if (this.part !== undefined) restoreUses(this.part, this.objects.gateways, shared);
    policies.noteMissing(this.objects);
    const models = new Map<string, GatewayModel>();
    for (const gateway of gateways) {
      const serving = servingOf(gateway, infrastructure.get(gateway.key), proxies.refusal(gateway.key));
      this.guard('Gateway', gateway.object, () => {
        if (isAccepted(gateway) && !gateway.waits)
          models.set(gateway.key, { model: modelOf(gateway, process), endpoints: gateway.endpoints });
        proxies.noteClosed(gateway);
        this.report.push(gatewayStatus(gateway, serving, now));
      });
      for (const set of gateway.sets)
        this.guard('ListenerSet', set.object, () =>
          this.report.push(listenerSetStatus(set, gateway, serving, now)),
        );
    }
    for (const policy of backendTls.all) {
      this.guard('BackendTLSPolicy', policy.object, () => {
        const status = policyStatus(policy, controllerName, now);
        if (status !== undefined) this.report.push(status);
      });
    }
    for (const policy of policies.all) {
      this.guard('GatewayPolicy', policy.object, () => {
        const status = gatewayPolicyStatus(policy, controllerName, now);
        if (status !== undefined) this.report.push(status);
      });
    }
    const pods = new McpPods(this.options, proxies);
    for (const backend of mcp.all) {
      this.guard('McpBackend', backend.object, () => {
        const status = mcpBackendStatus(backend, pods.add(backend), controllerName, now);
        if (status !== undefined) this.report.push(status);
      });
    }
    const finder = new EndpointFinder(this.lookups.services, this.objects.endpointSlices, this.objects.nodes);
    const own = gateways.flatMap(({ endpoints }) => [...endpoints]);
    const keys = new Set([...(this.part?.endpoints ?? []), ...own]);
    return {
      translation: {
        models,
        pods: pods.wanted,
        endpoints: finder.table(keys),
        report: this.report,
        defects: this.defects,
      },
      asked: this.asked,
      uses: collectUses(shared),
    };
  }

  private shared(): Shared {
    const { backendTLSPolicies, mcpBackends, gatewayPolicies } = this.objects;
    return {
      backendTls: new BackendTlsPolicies(
        backendTLSPolicies,
        (policy) => this.lookupOf('backendTLSPolicies', policy),
        this.guard,
      ),
      mcp: new McpBackends(mcpBackends, this.guard),
      policies: new GatewayPolicies(
        gatewayPolicies,
        (policy) => this.lookupOf('gatewayPolicies', policy),
        this.guard,
      ),
    };
  }

  /** @returns what notes the questions of the object */
  private lookupOf(field: keyof AskedBy, object: Named): Lookup {
    const asked = newAsked();
    this.asked[field].set(keyOfNamed(object), asked);
    return this.lookups.noting(asked);
  }

  /** Our classes by name, with what is wrong with them. */
  private classes(): ReadonlyMap<string, Problem | undefined> {
    const { controllerName, parameters, bundleVersions, now } = this.options;
    const ours = new Map<string, Problem | undefined>();
    for (const gatewayClass of this.objects.gatewayClasses) {
      const { name } = gatewayClass.metadata;
      this.guard('GatewayClass', gatewayClass, () => {
        if (gatewayClass.spec.controllerName !== controllerName) return;
        const wrong = classProblem(gatewayClass, parameters);
        this.report.push(gatewayClassStatus(gatewayClass, wrong, bundleVersions, now));
        ours.set(name, wrong);
      });
    }
    return ours;
  }

  private gateways(classes: ReadonlyMap<string, Problem | undefined>): readonly GatewayState[] {
    const sets = setsByGateway(this.objects.listenerSets, this.guard);
    const states: GatewayState[] = [];
    for (const gateway of this.objects.gateways) {
      this.guard('Gateway', gateway, () => {
        const { gatewayClassName } = gateway.spec;
        const key = keyOfNamed(gateway);
        if (!classes.has(gatewayClassName) || this.part?.gateways.has(key) === false) return;
        const own = sets.get(key) ?? [];
        const wrong = classes.get(gatewayClassName);
        const lookup = this.lookupOf('gateways', gateway);
        states.push(readGateway(gateway, own, wrong, this.parameters, lookup, this.guard));
      });
    }
    return states;
  }

  private routes(gateways: readonly GatewayState[], { backendTls, policies, mcp, troubles }: Beside): void {
    const { controllerName, now, pods } = this.options;
    const rights = new GatewayRights(this.parameters);
    const services = new BackendResolver(backendTls);
    const tools = {
      parents: parentsOf(gateways),
      backends: { services, mcp: new McpResolver({ backends: mcp, rights, pods, controllerName }, services) },
      policies,
      troubles,
      controllerName,
      now,
    };
    for (const kinded of this.sortedRoutes()) {
      const { kind, route } = kinded;
      this.guard(kind, route, () => {
        const parents = placeRoute(kinded, tools);
        const known = route.status?.parents ?? [];
        const ours = parents.length > 0 || known.length > 0;
        const foreign = ours && parents.every((entry) => entry.controllerName !== controllerName);
        if (!ours || (foreign && sameData(parents, known))) return;
        this.report.push(update(kind, route, { ...route.status, parents }));
      });
    }
  }

  /** All routes, the older first: they go into the listeners in this order. */
  private sortedRoutes(): readonly KindedRoute[] {
    const { httpRoutes, grpcRoutes, tlsRoutes, tcpRoutes, udpRoutes } = this.part?.routes ?? this.objects;
    return [
      ...httpRoutes.map((route): KindedRoute => ({ kind: 'HTTPRoute', route })),
      ...grpcRoutes.map((route): KindedRoute => ({ kind: 'GRPCRoute', route })),
      ...tlsRoutes.map((route): KindedRoute => ({ kind: 'TLSRoute', route })),
      ...tcpRoutes.map((route): KindedRoute => ({ kind: 'TCPRoute', route })),
      ...udpRoutes.map((route): KindedRoute => ({ kind: 'UDPRoute', route })),
    ].sort((a, b) => byAge(a.route, b.route));
  }
}

function classProblem(
  { spec }: GatewayClass,
  parameters: TranslateOptions['parameters'],
): Problem | undefined {
  const { parametersRef } = spec;
  return parametersRef === undefined ? undefined : parametersProblem(parametersRef, parameters);
}
