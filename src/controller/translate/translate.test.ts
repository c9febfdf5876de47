import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { HttpRoute } from '../types/index.ts';
import { EndpointFinder, translate, type KubeObjects, type Translation } from './index.ts';
import { readObjects } from './objects.testing.ts';

const golden = (name: string) =>
  readObjects(readFileSync(new URL(`golden/${name}.in.yaml`, import.meta.url), 'utf8'));

const namesIn = ({ report }: Translation): string[] =>
  report.map(({ kind, name }) => `${kind} ${name}`).sort();

/** An object on which everything fails that looks at its spec. */
const trap = <Kind extends object>(object: Kind): Kind =>
  Object.defineProperty({ ...object }, 'spec', {
    get: () => {
      throw new Error('trapped');
    },
  });

test('an object that breaks the translation is named, and the others are as if it were not there', () => {
  const { objects, options } = golden('backends');
  const whole = translate(objects, options);
  const [first, ...others] = objects.httpRoutes as [HttpRoute, ...HttpRoute[]];
  const broken = translate({ ...objects, httpRoutes: [trap(first), ...others] }, options);
  assert.deepEqual(
    broken.defects.map(({ object, error }) => [object, (error as Error).message]),
    [['HTTPRoute default/weights', 'trapped']],
  );
  const without = translate({ ...objects, httpRoutes: others }, options);
  assert.deepEqual(broken.models, without.models);
  assert.deepEqual(namesIn(broken), namesIn(without));
  assert.notDeepEqual(broken.models, whole.models);
});

for (const slot of [
  'gatewayClasses',
  'gateways',
  'listenerSets',
  'grpcRoutes',
  'tlsRoutes',
  'referenceGrants',
  'backendTLSPolicies',
  'gatewayPolicies',
  'services',
  'endpointSlices',
  'secrets',
  'configMaps',
] as const)
  test(`malformed ${slot} affect only their own object`, () => {
    const { objects, options } = golden('sampleApp');
    const mad = [
      { metadata: { name: 'mad', namespace: 'default' } },
      { metadata: { name: 'mad-too', namespace: 'default' }, spec: null },
      {
        metadata: { name: 'mad-as-well', namespace: 'default' },
        spec: { listeners: 7, rules: {}, from: '' },
      },
    ];
    const all = { ...objects, [slot]: [...mad, ...objects[slot]] } as unknown as KubeObjects;
    const translation = translate(all, options);
    assert.deepEqual(translation.models, translate(objects, options).models);
    assert.deepEqual(
      namesIn(translation).filter((name) => !name.includes('mad')),
      namesIn(translate(objects, options)),
    );
  });

test('the translation does not depend on the order of the objects', () => {
  for (const name of ['listenerSets', 'httpRules', 'grpc', 'backendTls', 'streams', 'policies']) {
    const { objects, options } = golden(name);
    const reversed = Object.fromEntries(
      Object.entries(objects).map(([slot, list]) => [slot, (list as unknown[]).toReversed()]),
    ) as unknown as KubeObjects;
    const [one, other] = [translate(objects, options), translate(reversed, options)];
    assert.deepEqual(other.models, one.models, name);
    const sorted = ({ report }: Translation) =>
      report.toSorted((a, b) => (`${a.kind}${a.name}` < `${b.kind}${b.name}` ? -1 : 1));
    assert.deepEqual(sorted(other), sorted(one), name);
  }
});

test('addresses can be found anew without anything else', () => {
  const { objects, options } = golden('backends');
  const { models, endpoints } = translate(objects, options);
  const keys = models.get('default/gate')?.endpoints ?? new Set<string>();
  assert.deepEqual([...endpoints.keys()].sort(), [...keys].sort());
  const services = new Map(
    objects.services.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]),
  );
  const finder = new EndpointFinder(services, objects.endpointSlices, objects.nodes);
  assert.deepEqual(finder.table(keys), endpoints);
  const none = new EndpointFinder(services, [], []);
  assert.deepEqual([...none.table(['default/app:80/TCP', 'gone/gone:1/TCP']).values()], [[], []]);
});

test('a GatewayClass of this controller lists its features, and other classes stay unchanged', () => {
  const { objects, options } = golden('attachment');
  const classes = translate(objects, options).report.filter(({ kind }) => kind === 'GatewayClass');
  assert.deepEqual(
    classes.map(({ name }) => name),
    ['portcullis'],
  );
  const { supportedFeatures } = classes[0]?.status as { supportedFeatures: { name: string }[] };
  const names = supportedFeatures.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)].sort());
  assert.ok(names.includes('HTTPRoute') && names.includes('GatewayHTTPListenerIsolation'));
});

test('a status never contains a key or certificate', () => {
  for (const name of ['certificates', 'backendTls', 'listenerSets']) {
    const { objects, options } = golden(name);
    const text = JSON.stringify(translate(objects, options).report);
    assert.doesNotMatch(text, /BEGIN|PRIVATE/);
    for (const { data = {} } of objects.secrets)
      for (const value of Object.values(data)) assert.equal(text.includes(value.slice(0, 40)), false, name);
  }
});

test('while the pod credentials are unknown, Gateways with pods keep their model', () => {
  const { objects, options } = golden('mcpPods');
  const { pods } = options;
  assert.ok(pods !== undefined);
  const known = translate(objects, options);
  const early = translate(objects, { ...options, pods: { ...pods, isKnown: false, key: () => undefined } });
  assert.deepEqual(
    [...known.models.keys()],
    ['default/web', 'default/second', 'default/third', 'team/theirs'],
  );
  // This Gateway is not allowed to use any.
  assert.deepEqual([...early.models.keys()], ['default/third']);
  assert.deepEqual(
    [...early.pods].filter(([, { model }]) => model !== undefined),
    [],
  );
  assert.deepEqual([...early.pods.keys()], [...known.pods.keys()]);
});
