import type {
  AnyRoute,
  BackendTLSPolicy,
  EndpointSlice,
  Gateway,
  GatewayPolicy,
  HttpRoute,
  McpBackend,
  Named,
  ReferenceGrant,
} from '../types/index.ts';
import type { KubeObjects } from './contract.ts';
import { translate } from './index.ts';
import { askedFields, keyOfNamed } from './lookup.ts';
import { POLICY_GROUP, targetKinds } from './policyKinds.ts';
import { newer, nextVersion, renamed, type World } from './world.testing.ts';

export type Pick = <Item>(items: readonly Item[]) => Item;
type Step = (world: World, pick: Pick) => void;

const replaced = <Item>(list: readonly Item[], old: Item, next: Item | undefined): readonly Item[] =>
  list.flatMap((one) => (one === old ? (next === undefined ? [] : [next]) : [one]));

const withList = (world: World, field: keyof KubeObjects, list: readonly unknown[]): void => {
  world.objects = { ...world.objects, [field]: list };
};

const routeFields = ['httpRoutes', 'grpcRoutes', 'tlsRoutes', 'tcpRoutes', 'udpRoutes'] as const;

function changeRoute(world: World, pick: Pick, change: (route: AnyRoute) => AnyRoute | undefined): void {
  const field = pick(routeFields.filter((one) => world.objects[one].length > 0));
  const list = world.objects[field] as readonly AnyRoute[];
  const route = pick(list);
  withList(world, field, replaced(list, route, change(route)));
}

/** The first rule of an HTTPRoute is another one. */
function changeRule(world: World, pick: Pick, change: (route: HttpRoute) => object): void {
  const { httpRoutes } = world.objects;
  const route = pick(httpRoutes);
  const [first, ...others] = route.spec.rules ?? [];
  const rules = [{ ...first, ...change(route) }, ...others];
  withList(
    world,
    'httpRoutes',
    replaced(httpRoutes, route, newer({ ...route, spec: { ...route.spec, rules } })),
  );
}

const nameOf = ({ metadata: { name, namespace = '' } }: Named): { name: string; namespace: string } => ({
  name,
  namespace,
});

const within = <Kind extends Named>(list: readonly Kind[], { metadata }: Named): readonly Kind[] =>
  list.filter((one) => one.metadata.namespace === metadata.namespace);

/** Kinds that come and go in this test, beside routes. */
const fleeting = [
  'gatewayPolicies',
  'mcpBackends',
  'backendTLSPolicies',
  'referenceGrants',
  ...askedFields,
] as const;
type Fleeting = (typeof fleeting)[number];

/** Possible targets of policies, by kind. */
const targets: Readonly<Record<string, keyof KubeObjects>> = {
  Gateway: 'gateways',
  ListenerSet: 'listenerSets',
  HTTPRoute: 'httpRoutes',
  GRPCRoute: 'grpcRoutes',
  McpBackend: 'mcpBackends',
  Service: 'services',
};

/** A reference to what a policy can be for, with the namespace in which it is. */
function someTarget({ objects }: World, pick: Pick): { readonly ref: object; readonly object: Named } {
  const { group, kind } = pick(targetKinds);
  const object = pick(objects[targets[kind] as keyof KubeObjects] as readonly Named[]);
  const sectionName = pick([undefined, undefined, 'http', 'web', 'first']);
  const { name } = object.metadata;
  return { ref: { group, kind, name, ...(sectionName === undefined ? {} : { sectionName }) }, object };
}

const times = ['2025-12-31T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];

/** Steps with the deleted objects and routes, to come again. */
export function randomSteps(): Readonly<Record<string, Step>> {
  const removed: HttpRoute[] = [];
  const gone: (readonly [Fleeting, Named])[] = [];
  return {
    ...routeSteps(removed),
    ...gatewaySteps,
    ...policySteps,
    ...mcpSteps,
    'addresses change': (world, pick) => {
      const slice = pick(world.objects.endpointSlices);
      const endpoints = [{ addresses: [`198.18.0.${String(nextVersion() % 250)}`] }];
      const next: EndpointSlice = newer({ ...slice, endpoints });
      withList(world, 'endpointSlices', replaced(world.objects.endpointSlices, slice, next));
    },
    'what is asked for by name changes': (world, pick) => {
      const field = pick(askedFields);
      const list = world.objects[field] as readonly Named[];
      const object = pick(list);
      withList(world, field, replaced(list, object, newer(pick(otherForms[field])(object))));
    },
    'an object is deleted': (world, pick) => {
      const field = pick(fleeting);
      const list = world.objects[field] as readonly Named[];
      if (list.length < 4) return;
      const object = pick(list);
      gone.push([field, object]);
      withList(world, field, replaced(list, object, undefined));
    },
    'a deleted object is there again': (world, pick) => {
      const [field, object] = gone.shift() ?? [];
      if (field === undefined || object === undefined) return;
      const metadata = { ...object.metadata, creationTimestamp: pick(times) };
      withList(world, field, [...(world.objects[field] as readonly Named[]), newer({ ...object, metadata })]);
    },
    'something that no object names comes, changes or goes': (world, pick) => {
      const field = pick(fleeting);
      const list = world.objects[field] as readonly Named[];
      const unnamed = list.find(({ metadata }) => metadata.name.startsWith('unnamed-'));
      const [sample] = list;
      if (unnamed === undefined && sample !== undefined)
        withList(world, field, [newer(renamed(sample, (name) => `unnamed-${name}`)), ...list]);
      else if (unnamed !== undefined)
        withList(world, field, replaced(list, unnamed, pick([undefined, newer(unnamed)])));
    },
  };
}

const routeSteps = (removed: HttpRoute[]): Readonly<Record<string, Step>> => ({
  'a route has other parents': (world, pick) => {
    const parentRefs = [nameOf(pick(world.objects.gateways))];
    changeRoute(world, pick, (route) => newer({ ...route, spec: { ...route.spec, parentRefs } } as AnyRoute));
  },
  'a route has two parents': (world, pick) => {
    const parentRefs = [pick(world.objects.gateways), pick(world.objects.gateways)].map(nameOf);
    changeRoute(world, pick, (route) => newer({ ...route, spec: { ...route.spec, parentRefs } } as AnyRoute));
  },
  'a route belongs to a ListenerSet': (world, pick) => {
    const parentRefs = [{ kind: 'ListenerSet', ...nameOf(pick(world.objects.listenerSets)) }];
    changeRoute(world, pick, (route) => newer({ ...route, spec: { ...route.spec, parentRefs } } as AnyRoute));
  },
  'a route is deleted': (world, pick) => {
    const { httpRoutes } = world.objects;
    if (httpRoutes.length < 30) return;
    const route = pick(httpRoutes);
    removed.push(route);
    withList(world, 'httpRoutes', replaced(httpRoutes, route, undefined));
  },
  'a route is there again': (world) => {
    const route = removed.pop();
    if (route !== undefined) withList(world, 'httpRoutes', [...world.objects.httpRoutes, newer(route)]);
  },
  'a route goes to another Service': (world, pick) => {
    const { name, namespace } = nameOf(pick(world.objects.services));
    changeRule(world, pick, () => ({ backendRefs: [{ name, namespace, port: 80 }] }));
  },
  'a route goes to another McpBackend': (world, pick) => {
    const reference = { group: POLICY_GROUP, kind: 'McpBackend', ...nameOf(pick(world.objects.mcpBackends)) };
    changeRule(world, pick, () => ({ backendRefs: [reference], filters: [] }));
  },
  'a route names a GatewayPolicy': (world, pick) => {
    changeRule(world, pick, (route) => {
      const policies = within(world.objects.gatewayPolicies, route);
      const name = policies.length === 0 ? 'none' : pick(policies).metadata.name;
      const extensionRef = { group: POLICY_GROUP, kind: 'GatewayPolicy', name };
      return { filters: [{ type: 'ExtensionRef', extensionRef }] };
    });
  },
  'statuses are written': (world, pick) => {
    const written = new Map(
      translate(world.objects, world.options).report.map((one) => [
        `${one.kind} ${one.namespace ?? ''}/${one.name}`,
        one,
      ]),
    );
    const kinds = {
      httpRoutes: 'HTTPRoute',
      tcpRoutes: 'TCPRoute',
      gateways: 'Gateway',
      gatewayPolicies: 'GatewayPolicy',
      mcpBackends: 'McpBackend',
      backendTLSPolicies: 'BackendTLSPolicy',
    } as const;
    for (const [field, kind] of Object.entries(kinds) as [keyof typeof kinds, string][]) {
      const list = (world.objects[field] as readonly Gateway[]).map((object) => {
        const { namespace = '', name } = object.metadata;
        const update = written.get(`${kind} ${namespace}/${name}`);
        // Sometimes not all of them yet.
        return update?.changed === true && pick([true, true, false])
          ? newer({ ...object, status: update.status })
          : object;
      });
      withList(world, field, list);
    }
  },
});

const gatewaySteps: Readonly<Record<string, Step>> = {
  'somebody overwrites the status of a Gateway': (world, pick) => {
    const { gateways } = world.objects;
    const gateway = pick(gateways);
    withList(world, 'gateways', replaced(gateways, gateway, newer({ ...gateway, status: {} })));
  },
  'a Gateway has other listeners': (world, pick) => {
    const { gateways } = world.objects;
    const gateway = pick(gateways);
    const listeners = gateway.spec.listeners.map((one, index) =>
      index === 0 ? { ...one, port: 7_000 } : one,
    );
    const { metadata } = newer(gateway);
    const next = {
      ...gateway,
      spec: { ...gateway.spec, listeners },
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    };
    withList(world, 'gateways', replaced(gateways, gateway, next));
  },
  'proxies of a Gateway come and go': (world, pick) => {
    const { name, namespace } = nameOf(pick(world.objects.gateways));
    const infrastructure = new Map(world.options.infrastructure);
    infrastructure.set(`${namespace}/${name}`, {
      addresses: [{ value: `198.19.0.${String(nextVersion() % 250)}` }],
    });
    world.options = { ...world.options, infrastructure };
  },
  'a proxy is in trouble, or out of it': (world, pick) => {
    const { name, namespace } = nameOf(pick(world.objects.gateways));
    const troubles = new Map(world.options.troubles);
    const key = `${namespace}/${name}`;
    if (!troubles.delete(key)) troubles.set(key, [{ refused: ['because'], broken: [] }]);
    world.options = { ...world.options, troubles };
  },
};

const policySteps: Readonly<Record<string, Step>> = {
  'a GatewayPolicy is for something else': (world, pick) => {
    const { gatewayPolicies } = world.objects;
    const policy = pick(gatewayPolicies);
    const known = within(gatewayPolicies, policy).flatMap(({ spec }) => spec?.targetRefs ?? []);
    const targetRefs = known.length === 0 ? [] : [pick(known)];
    const next: GatewayPolicy = newer({ ...policy, spec: { ...policy.spec, targetRefs } });
    withList(world, 'gatewayPolicies', replaced(gatewayPolicies, policy, next));
  },
  'a GatewayPolicy is for two things of its namespace': (world, pick) => {
    const { gatewayPolicies } = world.objects;
    const policy = pick(gatewayPolicies);
    const refs = Array.from({ length: 40 }, () => someTarget(world, pick));
    const targetRefs = refs
      .filter(({ object }) => object.metadata.namespace === policy.metadata.namespace)
      .map(({ ref }) => ref)
      .slice(0, 2);
    const next = newer({ ...policy, spec: { ...policy.spec, targetRefs } }) as GatewayPolicy;
    withList(world, 'gatewayPolicies', replaced(gatewayPolicies, policy, next));
  },
  'a GatewayPolicy says what another one says': (world, pick) => {
    const { gatewayPolicies } = world.objects;
    const [policy, { spec: { policies = {} } = {} }] = [pick(gatewayPolicies), pick(gatewayPolicies)];
    const next: GatewayPolicy = newer({ ...policy, spec: { ...policy.spec, policies } });
    withList(world, 'gatewayPolicies', replaced(gatewayPolicies, policy, next));
  },
  'a GatewayPolicy is made for an object': (world, pick) => {
    const { gatewayPolicies } = world.objects;
    const { ref, object } = someTarget(world, pick);
    const { namespace = '' } = object.metadata;
    const { spec: { policies = {} } = {} } = pick(gatewayPolicies);
    const made = newer({
      metadata: { name: `made-${String(nextVersion())}`, namespace, creationTimestamp: pick(times) },
      spec: { targetRefs: [ref], policies },
    }) as GatewayPolicy;
    const others = gatewayPolicies.filter(({ metadata }) => metadata.name.startsWith('made-'));
    const kept = others.length > 20 ? replaced(gatewayPolicies, pick(others), undefined) : gatewayPolicies;
    withList(world, 'gatewayPolicies', [...kept, made]);
  },
  'a BackendTLSPolicy is for another Service': (world, pick) => {
    const { backendTLSPolicies, services } = world.objects;
    const policy = pick(backendTLSPolicies);
    const possible = within(services, policy);
    if (possible.length === 0) return;
    const { name } = pick(possible).metadata;
    const targetRefs = [{ group: '', kind: 'Service', name }];
    const next: BackendTLSPolicy = newer({ ...policy, spec: { ...policy.spec, targetRefs } });
    withList(world, 'backendTLSPolicies', replaced(backendTLSPolicies, policy, next));
  },
  'a BackendTLSPolicy says what another one says': (world, pick) => {
    const { backendTLSPolicies } = world.objects;
    const [policy, other] = [pick(backendTLSPolicies), pick(backendTLSPolicies)];
    const { validation } = other.spec;
    const next: BackendTLSPolicy = newer({ ...policy, spec: { ...policy.spec, validation } });
    withList(world, 'backendTLSPolicies', replaced(backendTLSPolicies, policy, next));
  },
  'a ReferenceGrant is about something else': (world, pick) => {
    const { referenceGrants } = world.objects;
    const [grant, other] = [pick(referenceGrants), pick(referenceGrants)];
    const next: ReferenceGrant = newer({ ...grant, spec: { ...grant.spec, to: other.spec.to } });
    withList(world, 'referenceGrants', replaced(referenceGrants, grant, next));
  },
};

const mcpSteps: Readonly<Record<string, Step>> = {
  'an McpBackend says what another one says': (world, pick) => {
    const { mcpBackends } = world.objects;
    const [backend, other] = [pick(mcpBackends), pick(mcpBackends)];
    const next: McpBackend = newer({ ...backend, spec: other.spec });
    withList(world, 'mcpBackends', replaced(mcpBackends, backend, next));
  },
  'a Service has other labels': (world, pick) => {
    const { services, mcpBackends } = world.objects;
    const chosen = mcpBackends.filter(({ spec }) => /elector/.test(JSON.stringify(spec)));
    const service = pick(within(services, pick(chosen.length === 0 ? mcpBackends : chosen)));
    if (service === undefined) return;
    const labels = pick([{}, { team: 'desk' }, { team: 'desk', mcp: 'yes' }, { team: 'attic' }]);
    const { metadata } = newer(service);
    withList(
      world,
      'services',
      replaced(services, service, { ...service, metadata: { ...metadata, labels } }),
    );
  },
  'the pod of an McpBackend comes and goes': (world, pick) => {
    const key = somePod(world, pick);
    const pod = { reachable: pick([true, false]), ...pick([{}, { pending: 'not yet' }]) };
    changePods(world, ({ infrastructure, ...pods }) => ({
      ...pods,
      infrastructure: new Map([...infrastructure, [key, pod]]),
    }));
  },
  'the key to the pod of an McpBackend is another one': (world, pick) => {
    const backend = somePod(world, pick);
    const changed = `key ${String(nextVersion())}`;
    changePods(world, (pods) => ({
      ...pods,
      key: (one) => (one === backend ? changed : pods.key(one)),
    }));
  },
  'keys are unknown, or known again': (world) => {
    changePods(world, (pods) => ({ ...pods, isKnown: !pods.isKnown }));
  },
};

/** The `namespace/name` of an McpBackend; of one that had a pod in the beginning as a rule. */
const somePod = ({ objects, options: { pods } }: World, pick: Pick): string =>
  pick([...(pods?.infrastructure.keys() ?? []), keyOfNamed(pick(objects.mcpBackends))]);

function changePods(
  world: World,
  change: (pods: NonNullable<World['options']['pods']>) => NonNullable<World['options']['pods']>,
): void {
  const { pods } = world.options;
  if (pods !== undefined) world.options = { ...world.options, pods: change(pods) };
}

type Form = (object: Named) => Named;

/** The forms of objects that stay: unchanged, useful, and useless. */
const otherForms: Readonly<Record<(typeof askedFields)[number], readonly Form[]>> = {
  services: [
    (object) => ({ ...object, spec: { type: 'ExternalName' } }) as Named,
    (object) => ({ ...object, spec: { ports: [{ port: 80 }, { port: 8080 }] } }) as Named,
    (object) => object,
  ],
  secrets: [(object) => ({ ...object, data: {} }) as Named, (object) => object],
  configMaps: [(object) => ({ ...object, data: {} }) as Named, (object) => object],
  namespaces: [
    (object) => ({ ...object, metadata: { ...object.metadata, labels: {} } }),
    (object) => ({ ...object, metadata: { ...object.metadata, labels: { team: 'blue', shared: 'yes' } } }),
  ],
};
