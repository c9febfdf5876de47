import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Named, ReferenceGrant } from '../types/index.ts';
import type { KubeObjects } from './contract.ts';
import { translate } from './index.ts';
import { keyOfNamed } from './lookup.ts';
import { readObjects } from './objects.testing.ts';
import { Translator } from './translator.ts';
import { newer, told } from './world.testing.ts';

const gateways = ['a', 'b', 'c', 'd'];

const { objects, options } = readObjects(
  [
    `
kind: GatewayClass
metadata: { name: ours }
spec: { controllerName: portcullis.dev/gateway }`,
    ...gateways.map(
      (name) => `
kind: Gateway
metadata: { name: ${name} }
spec: { gatewayClassName: ours, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---
kind: HTTPRoute
metadata: { name: route-${name} }
spec: { parentRefs: [{ name: ${name} }], rules: [{ backendRefs: [{ name: app-${name}, port: 443 }] }] }
---
kind: Service
metadata: { name: app-${name} }
spec: { ports: [{ name: https, port: 443 }] }`,
    ),
    `
kind: Service
metadata: { name: shared }
spec: { ports: [{ port: 80 }] }`,
    ...['a', 'b'].map(
      (name) => `
kind: HTTPRoute
metadata: { name: shared-${name} }
spec: { parentRefs: [{ name: ${name} }], rules: [{ backendRefs: [{ name: shared, port: 80 }] }] }`,
    ),
    `
kind: HTTPRoute
metadata: { name: chosen }
spec:
  parentRefs: [{ name: a }]
  rules: [{ backendRefs: [{ group: portcullis.dev, kind: McpBackend, name: chosen, namespace: labelled }] }]
---
kind: McpBackend
metadata: { name: chosen, namespace: labelled }
spec: { targets: [{ name: chosen, selector: { services: { matchLabels: { mcp: 'yes' } } } }] }
---
kind: ReferenceGrant
metadata: { name: chosen, namespace: labelled }
spec:
  from: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default }]
  to: [{ group: portcullis.dev, kind: McpBackend }]
---
kind: Service
metadata: { name: one, namespace: labelled, labels: { mcp: 'yes' } }
spec: { ports: [{ port: 80 }] }
---
kind: Service
metadata: { name: two, namespace: labelled }
spec: { ports: [{ port: 80 }] }`,
    `
kind: HTTPRoute
metadata: { name: tools }
spec:
  parentRefs: [{ name: b }]
  rules: [{ backendRefs: [{ group: portcullis.dev, kind: McpBackend, name: tools }] }]
---
kind: McpBackend
metadata: { name: tools }
spec: { targets: [{ name: tools, service: { name: app-c, port: 443 } }] }
---
kind: HTTPRoute
metadata: { name: abroad }
spec:
  parentRefs: [{ name: c }]
  rules:
    - filters:
        - { type: ExtensionRef, extensionRef: { group: portcullis.dev, kind: GatewayPolicy, name: by-name } }
      backendRefs: [{ name: app, namespace: abroad, port: 80 }]
---
kind: Service
metadata: { name: app, namespace: abroad }
spec: { ports: [{ port: 80 }] }
---
kind: ReferenceGrant
metadata: { name: from-here, namespace: abroad }
spec:
  from: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default }]
  to: [{ group: '', kind: Service }]
---
kind: ConfigMap
metadata: { name: ca }
data: { ca.crt: '@ca.crt' }
---
kind: BackendTLSPolicy
metadata: { name: to-a }
spec:
  targetRefs: [{ group: '', kind: Service, name: app-a }]
  validation: { hostname: a.example.com, caCertificateRefs: [{ group: '', kind: ConfigMap, name: ca }] }
---
kind: Secret
metadata: { name: partner }
data: { api-key: a-key-of-sixteen-bytes-or-more }
---
kind: GatewayPolicy
metadata: { name: with-secret }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: route-d }]
  policies: { apiKey: { mode: strict, keys: [{ secret: partner }] } }`,
    ...Object.entries({
      'on-route': '{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: route-a }',
      'on-gateway': '{ group: gateway.networking.k8s.io, kind: Gateway, name: b }',
      'on-service': "{ group: '', kind: Service, name: shared }",
      'on-tools': '{ group: portcullis.dev, kind: McpBackend, name: tools }',
      'on-unused': "{ group: '', kind: Service, name: nowhere }",
      'by-name': '',
    }).map(
      ([name, target]) => `
kind: GatewayPolicy
metadata: { name: ${name} }
spec: { targetRefs: [${target}], policies: { delay: { duration: 1ms } } }`,
    ),
    // So that a few routes are a small part of all.
    ...Array.from(
      { length: 40 },
      (_, index) => `
kind: HTTPRoute
metadata: { name: other-${String(index)} }
spec: { parentRefs: [{ name: d }], rules: [{}] }`,
    ),
  ].join('\n---'),
);

type Change = (object: Named) => Named | undefined;

const deleted: Change = () => undefined;
const noted: Change = ({ metadata, ...object }) =>
  newer({ ...object, metadata: { ...metadata, annotations: { note: 'another' } } });
const withSpec =
  (spec: object): Change =>
  (object) =>
    newer({ ...object, spec: { ...(object as { spec?: object }).spec, ...spec } });
const otherDelay = withSpec({ policies: { delay: { duration: '2ms' } } });

const withLabels =
  (labels: Readonly<Record<string, string>>): Change =>
  (object) =>
    newer({ ...object, metadata: { ...object.metadata, labels } });

/** Field and name of the changed object, its change, and the Gateways that it matters to. */
const cases: readonly (readonly [keyof KubeObjects, string, Change, readonly string[]])[] = [
  ['gatewayPolicies', 'default/on-route', otherDelay, ['a']],
  ['gatewayPolicies', 'default/on-route', deleted, ['a']],
  ['gatewayPolicies', 'default/on-gateway', otherDelay, ['b']],
  ['gatewayPolicies', 'default/on-service', otherDelay, ['a', 'b']],
  ['gatewayPolicies', 'default/on-tools', otherDelay, ['b']],
  ['gatewayPolicies', 'default/by-name', otherDelay, ['c']],
  ['gatewayPolicies', 'default/on-unused', otherDelay, []],
  [
    'gatewayPolicies',
    'default/on-route',
    withSpec({ targetRefs: [{ group: '', kind: 'Service', name: 'app-c' }] }),
    // The McpBackend of b leads to that Service.
    ['a', 'b', 'c'],
  ],
  ['mcpBackends', 'default/tools', withSpec({ targets: [] }), ['b']],
  ['mcpBackends', 'default/tools', deleted, ['b']],
  ['backendTLSPolicies', 'default/to-a', withSpec({ options: { 'example.com/x': 'y' } }), ['a']],
  [
    'backendTLSPolicies',
    'default/to-a',
    withSpec({ targetRefs: [{ group: '', kind: 'Service', name: 'app-c' }] }),
    ['a', 'b', 'c'],
  ],
  ['configMaps', 'default/ca', deleted, ['a']],
  ['services', 'default/app-c', withSpec({ ports: [] }), ['b', 'c']],
  ['services', 'abroad/app', deleted, ['c']],
  // The McpBackend of a chooses Services by their labels.
  ['services', 'labelled/one', deleted, ['a']],
  ['services', 'labelled/one', withLabels({ mcp: 'no' }), ['a']],
  ['services', 'labelled/two', withLabels({ mcp: 'yes' }), ['a']],
  ['referenceGrants', 'abroad/from-here', deleted, ['c']],
  ['httpRoutes', 'default/tools', noted, ['b']],
];

for (const [field, key, change, expected] of cases)
  test(`only the Gateways that depend on it are translated: ${field} ${key} for ${expected.join() || 'none'}`, () => {
    const translator = new Translator();
    const before = translator.translate(objects, options);
    const changed = {
      ...objects,
      [field]: (objects[field] as readonly Named[]).flatMap((object) =>
        keyOfNamed(object) === key ? (change(object) ?? []) : [object],
      ),
    };
    const after = translator.translate(changed, options);
    assert.equal(translator.parts, 1);
    assert.deepEqual(told(after), told(translate(changed, options)));
    // The very same object: no other part of the controller has to look at it again.
    const translated = gateways.filter(
      (name) => after.models.get(`default/${name}`) !== before.models.get(`default/${name}`),
    );
    assert.deepEqual(translated, expected);
  });

test('a Secret that only a policy names has the targets of the policy translated', () => {
  const translator = new Translator();
  const few = {
    ...objects,
    httpRoutes: objects.httpRoutes.filter(({ metadata }) => !/^other/.test(metadata.name)),
  };
  const before = translator.translate(few, options);
  const after = translator.translate({ ...few, secrets: [] }, options);
  assert.equal(translator.parts, 1);
  assert.deepEqual(told(after), told(translate({ ...few, secrets: [] }, options)));
  assert.equal(after.models.get('default/a'), before.models.get('default/a'));
  assert.notDeepEqual(after.models.get('default/d'), before.models.get('default/d'));
});

test('the written status of a policy or of an McpBackend has nothing translated', () => {
  const translator = new Translator();
  const before = translator.translate(objects, options);
  const written = new Map(
    before.report.map((one) => [`${one.kind} ${one.namespace ?? ''}/${one.name}`, one.status]),
  );
  const withStatus = <Kind extends Named>(kind: string, list: readonly Kind[]): readonly Kind[] =>
    list.map((object) => newer({ ...object, status: written.get(`${kind} ${keyOfNamed(object)}`) ?? {} }));
  const changed: KubeObjects = {
    ...objects,
    gatewayPolicies: withStatus('GatewayPolicy', objects.gatewayPolicies),
    mcpBackends: withStatus('McpBackend', objects.mcpBackends),
    backendTLSPolicies: withStatus('BackendTLSPolicy', objects.backendTLSPolicies),
  };
  const after = translator.translate(changed, options);
  assert.equal(translator.parts, 1);
  assert.deepEqual(told(after), told(translate(changed, options)));
  for (const name of gateways)
    assert.equal(after.models.get(`default/${name}`), before.models.get(`default/${name}`));
});

test('the first and the last GatewayPolicy have everything translated', () => {
  const translator = new Translator();
  const without: KubeObjects = { ...objects, gatewayPolicies: [] };
  translator.translate(without, options);
  for (const next of [objects, without]) {
    const after = translator.translate(next, options);
    assert.equal(translator.parts, 0);
    assert.deepEqual(told(after), told(translate(next, options)));
  }
});

test('an object without what its kind requires harms no other one', () => {
  const translator = new Translator();
  const before = translator.translate(objects, options);
  const broken = { metadata: { name: 'broken', namespace: 'default' } } as ReferenceGrant;
  const withBroken = { ...objects, referenceGrants: [...objects.referenceGrants, broken] };
  const after = translator.translate(withBroken, options);
  assert.deepEqual(
    after.defects.map(({ object }) => object),
    ['ReferenceGrant default/broken'],
  );
  assert.deepEqual(after.models, before.models);
});
