import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { AnyRoute, EndpointSlice, Gateway, HttpRoute, Named } from '../types/index.ts';
import type { Infrastructure, KubeObjects, TranslateOptions, Translation } from './contract.ts';
import { translate } from './index.ts';
import { askedFields, keyOfNamed } from './lookup.ts';
import { readObjects } from './objects.testing.ts';
import { Translator } from './translator.ts';

const folder = fileURLToPath(new URL('golden/', import.meta.url));

interface World {
  objects: KubeObjects;
  options: TranslateOptions;
}

/** Every sample in namespaces of its own, in one cluster: Gateways, routes and ListenerSets of all kinds. */
function world(): World {
  const all: Record<string, unknown[]> = {};
  const infrastructure = new Map<string, Infrastructure>();
  let last: TranslateOptions | undefined;
  const names = readdirSync(folder).filter((name) => name.endsWith('.in.yaml'));
  for (const name of names) {
    const prefix = name.slice(0, -'.in.yaml'.length).toLowerCase();
    const text = readFileSync(`${folder}${name}`, 'utf8');
    const { objects, options } = readObjects(text);
    // These tell of routes of every Gateway: with them there are no parts.
    if (objects.backendTLSPolicies.length + objects.gatewayPolicies.length + objects.mcpBackends.length > 0)
      continue;
    for (const [field, list] of Object.entries(objects))
      (all[field] ??= []).push(
        ...(list as readonly unknown[]).map((object) =>
          field === 'namespaces'
            ? renamed(object as Named, (own) => `${prefix}-${own}`)
            : moved(object, prefix),
        ),
      );
    for (const [key, value] of options.infrastructure) infrastructure.set(`${prefix}-${key}`, value);
    last = options;
  }
  assert.ok(last !== undefined);
  // Classes and namespaces of one name come in many samples.
  for (const [field, list] of Object.entries(all)) {
    const byName = new Map((list as readonly Gateway[]).map((object) => [keyOfNamed(object), object]));
    all[field] = [...byName.values()];
  }
  return {
    objects: all as unknown as KubeObjects,
    options: { ...last, infrastructure, troubles: new Map() },
  };
}

/** The same object in a namespace, or with a class, of another name. */
function moved(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((one) => moved(one, prefix));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === 'namespace' && typeof inner === 'string' ? `${prefix}-${inner}` : moved(inner, prefix),
    ]),
  );
}

const renamed = <Kind extends Named>(object: Kind, name: (own: string) => string): Kind => ({
  ...object,
  metadata: { ...object.metadata, name: name(object.metadata.name) },
});

/** The result of a translation, in an order of its own. */
const told = ({ models, endpoints, report }: Translation): unknown => ({
  models,
  endpoints: new Map(
    [...models.values()].flatMap((one) => [...one.endpoints]).map((key) => [key, endpoints.get(key)]),
  ),
  report: report
    .map((update) => ({ ...update, key: `${update.kind} ${update.namespace ?? ''}/${update.name}` }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
});

type Step = (world: World, pick: <Item>(items: readonly Item[]) => Item) => void;

const replaced = <Item>(list: readonly Item[], old: Item, next: Item | undefined): readonly Item[] =>
  list.flatMap((one) => (one === old ? (next === undefined ? [] : [next]) : [one]));

let version = 0;
const newer = <Kind extends { readonly metadata: object }>(object: Kind): Kind => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(++version) },
});

const routeFields = ['httpRoutes', 'grpcRoutes', 'tlsRoutes', 'tcpRoutes', 'udpRoutes'] as const;

const withRoute = (
  { objects }: World,
  pick: <Item>(items: readonly Item[]) => Item,
  change: (route: AnyRoute) => AnyRoute | undefined,
): KubeObjects => {
  const field = pick(routeFields.filter((one) => objects[one].length > 0));
  const list = objects[field] as readonly AnyRoute[];
  const route = pick(list);
  return { ...objects, [field]: replaced(list, route, change(route)) };
};

const removed: AnyRoute[] = [];

/** The changes of a cluster, one at a time. */
const steps: Readonly<Record<string, Step>> = {
  'a route has other parents': (world, pick) => {
    const { name, namespace } = pick(world.objects.gateways).metadata;
    world.objects = withRoute(world, pick, (route) =>
      newer({
        ...route,
        spec: { ...route.spec, parentRefs: [{ name, namespace: namespace ?? '' }] },
      } as AnyRoute),
    );
  },
  'a route has two parents': (world, pick) => {
    const parentRefs = [pick(world.objects.gateways), pick(world.objects.gateways)].map(({ metadata }) => ({
      name: metadata.name,
      namespace: metadata.namespace ?? '',
    }));
    world.objects = withRoute(world, pick, (route) =>
      newer({ ...route, spec: { ...route.spec, parentRefs } } as AnyRoute),
    );
  },
  'a route belongs to a ListenerSet': (world, pick) => {
    const { name, namespace } = pick(world.objects.listenerSets).metadata;
    const parentRefs = [{ kind: 'ListenerSet', name, namespace: namespace ?? '' }];
    world.objects = withRoute(world, pick, (route) =>
      newer({ ...route, spec: { ...route.spec, parentRefs } } as AnyRoute),
    );
  },
  'a route is deleted': (world, pick) => {
    world.objects = withRoute(world, pick, (route) => {
      if ('hostnames' in route.spec) removed.push(route);
      return undefined;
    });
  },
  'a route is there again': (world) => {
    const route = removed.pop();
    if (route === undefined) return;
    const { httpRoutes } = world.objects;
    if (httpRoutes.some(({ metadata }) => metadata.name === route.metadata.name)) return;
    world.objects = { ...world.objects, httpRoutes: [...httpRoutes, newer(route as HttpRoute)] };
  },
  'statuses are written': (world) => {
    const written = new Map(
      translate(world.objects, world.options).report.map((one) => [
        `${one.kind} ${one.namespace ?? ''}/${one.name}`,
        one,
      ]),
    );
    const kinds = { httpRoutes: 'HTTPRoute', tcpRoutes: 'TCPRoute', gateways: 'Gateway' } as const;
    for (const [field, kind] of Object.entries(kinds) as [keyof typeof kinds, string][]) {
      const list = (world.objects[field] as readonly Gateway[]).map((object) => {
        const { namespace = '', name } = object.metadata;
        const update = written.get(`${kind} ${namespace}/${name}`);
        return update?.changed === true ? newer({ ...object, status: update.status }) : object;
      });
      world.objects = { ...world.objects, [field]: list };
    }
  },
  'somebody overwrites the status of a Gateway': (world, pick) => {
    const gateway = pick(world.objects.gateways);
    const gateways = replaced(world.objects.gateways, gateway, newer({ ...gateway, status: {} }));
    world.objects = { ...world.objects, gateways };
  },
  'a Gateway has other listeners': (world, pick) => {
    const gateway = pick(world.objects.gateways);
    const listeners = gateway.spec.listeners.map((one, index) =>
      index === 0 ? { ...one, port: 7_000 } : one,
    );
    const { metadata } = newer(gateway);
    const next = {
      ...gateway,
      spec: { ...gateway.spec, listeners },
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    };
    world.objects = { ...world.objects, gateways: replaced(world.objects.gateways, gateway, next) };
  },
  'proxies of a Gateway come and go': (world, pick) => {
    const { name, namespace = '' } = pick(world.objects.gateways).metadata;
    const infrastructure = new Map(world.options.infrastructure);
    infrastructure.set(`${namespace}/${name}`, {
      addresses: [{ value: `198.19.0.${String(++version % 250)}` }],
    });
    world.options = { ...world.options, infrastructure };
  },
  'a proxy is in trouble, or out of it': (world, pick) => {
    const { name, namespace = '' } = pick(world.objects.gateways).metadata;
    const troubles = new Map(world.options.troubles);
    const key = `${namespace}/${name}`;
    if (!troubles.delete(key)) troubles.set(key, [{ refused: ['because'], broken: [] }]);
    world.options = { ...world.options, troubles };
  },
  'addresses change': (world, pick) => {
    const slice = pick(world.objects.endpointSlices);
    const endpoints = [{ addresses: [`198.18.0.${String(++version % 250)}`] }];
    const next: EndpointSlice = newer({ ...slice, endpoints });
    world.objects = { ...world.objects, endpointSlices: replaced(world.objects.endpointSlices, slice, next) };
  },
  'what is asked for by name changes': (world, pick) => {
    const field = pick(askedFields);
    const list = world.objects[field] as readonly Named[];
    const object = pick(list);
    withList(world, field, replaced(list, object, newer(pick(otherForms[field])(object))));
  },
  'what is asked for by name is deleted': (world, pick) => {
    const field = pick(askedFields);
    const list = world.objects[field] as readonly Named[];
    if (list.length < 4) return;
    const object = pick(list);
    gone.push([field, object]);
    withList(world, field, replaced(list, object, undefined));
  },
  'what was asked for in vain is there': (world) => {
    const [field, object] = gone.shift() ?? [];
    if (field === undefined || object === undefined) return;
    withList(world, field, [...(world.objects[field] as readonly Named[]), newer(object)]);
  },
  'something that nobody names comes, changes or goes': (world, pick) => {
    const field = pick(askedFields);
    const list = world.objects[field] as readonly Named[];
    const unnamed = list.find(({ metadata }) => metadata.name.startsWith('unnamed-'));
    const [sample] = list;
    if (unnamed === undefined && sample !== undefined)
      withList(world, field, [newer(renamed(sample, (name) => `unnamed-${name}`)), ...list]);
    else if (unnamed !== undefined)
      withList(world, field, replaced(list, unnamed, pick([undefined, newer(unnamed)])));
  },
};

const withList = (world: World, field: keyof KubeObjects, list: readonly unknown[]): void => {
  world.objects = { ...world.objects, [field]: list };
};

/** The deleted objects, to come again. */
const gone: (readonly [(typeof askedFields)[number], Named])[] = [];

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

test('what is translated in parts is what a whole translation would be, whatever changes', () => {
  const here = world();
  const translator = new Translator();
  // A small generator: the same changes each time.
  let state = 0x5eed;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x7fff_ffff;
  };
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  translator.translate(here.objects, here.options);
  const names = Object.keys(steps);
  for (let turn = 0; turn < 600; turn++) {
    const name = pick(names);
    steps[name]?.(here, pick);
    const [part, whole] = [
      translator.translate(here.objects, here.options),
      translate(here.objects, here.options),
    ];
    assert.deepEqual(told(part), told(whole), `turn ${String(turn)}: ${name}`);
  }
  assert.ok(translator.parts > 200, `only ${String(translator.parts)} of 600 were parts`);
});

test('from time to time everything is translated all the same', () => {
  const here = world();
  const translator = new Translator();
  const at = (now: string): void => {
    translator.translate(here.objects, { ...here.options, now });
  };
  at('2026-01-01T00:00:00Z');
  at('2026-01-01T00:05:00Z');
  assert.equal(translator.parts, 1);
  at('2026-01-01T00:05:01Z');
  assert.equal(translator.parts, 1);
  at('2026-01-01T00:10:01Z');
  assert.equal(translator.parts, 2);
});

test('Gateways that share a route are translated together, and others are not', () => {
  const names = ['a', 'b', 'c', 'd'];
  const gateways = names.map(
    (name) => `
kind: Gateway
metadata: { name: ${name} }
spec: { gatewayClassName: ours, listeners: [{ name: http, port: 80, protocol: HTTP }] }`,
  );
  const route = (name: string, parents: string): string => `
kind: HTTPRoute
metadata: { name: ${name} }
spec: { parentRefs: [${parents}], rules: [{}] }`;
  const { objects, options } = readObjects(
    [
      '\nkind: GatewayClass\nmetadata: { name: ours }\nspec: { controllerName: portcullis.dev/gateway }',
      ...gateways,
      route('alone', '{ name: a }'),
      route('shared', '{ name: a }, { name: b }'),
      ...Array.from({ length: 9 }, (_, index) => route(`other-${String(index)}`, '{ name: c }')),
    ].join('\n---'),
  );
  const translator = new Translator();
  const before = translator.translate(objects, options);
  const httpRoutes = objects.httpRoutes.map((one) =>
    one.metadata.name === 'alone' ? newer({ ...one, spec: { ...one.spec, hostnames: ['x.test'] } }) : one,
  );
  const after = translator.translate({ ...objects, httpRoutes }, options);
  assert.equal(translator.parts, 1);
  assert.deepEqual(told(after), told(translate({ ...objects, httpRoutes }, options)));
  // The very same object: nobody need look at it again.
  const kept = names.filter(
    (name) => after.models.get(`default/${name}`) === before.models.get(`default/${name}`),
  );
  assert.deepEqual(kept, ['c', 'd']);
});

test('what the controller makes for proxies, and all else that nobody names, has nothing translated', () => {
  const { objects, options } = readObjects(`
kind: GatewayClass
metadata: { name: ours }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Gateway
metadata: { name: a }
spec:
  gatewayClassName: ours
  listeners:
    - { name: http, port: 80, protocol: HTTP }
    - { name: https, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: later }] } }
---
kind: HTTPRoute
metadata: { name: r }
spec: { parentRefs: [{ name: a }], rules: [{ backendRefs: [{ name: app, port: 80 }] }] }
---
kind: Service
metadata: { name: app }
spec: { ports: [{ port: 80 }] }`);
  const translator = new Translator();
  const before = translator.translate(objects, options);
  const named = (name: string): Named => ({ metadata: { name, namespace: 'default' } }) as Named;
  let now = objects;
  const turn = (change: Partial<Record<keyof KubeObjects, readonly unknown[]>>): Translation => {
    now = { ...now, ...(change as Partial<KubeObjects>) };
    const after = translator.translate(now, options);
    assert.deepEqual(told(after), told(translate(now, options)));
    return after;
  };
  const after = turn({
    services: [...objects.services, named('portcullis-a')],
    configMaps: [named('portcullis-a')],
    secrets: [named('another')],
    namespaces: [named('another')],
  });
  assert.equal(translator.parts, 1);
  assert.equal(after.models.get('default/a'), before.models.get('default/a'));
  // Asked for in vain until now; and found until now.
  turn({ secrets: [named('later')] });
  assert.equal(translator.parts, 1);
  turn({ services: [named('portcullis-a')] });
  assert.equal(translator.parts, 1);
  turn({ services: [] });
  assert.equal(translator.parts, 2);
});
