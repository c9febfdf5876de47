/** Parts that are larger than they may be: they are left out and told of, and the rest of the model is as before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authority } from '../../proxy/certificates.testing.ts';
import { modelVersionOf } from '../../stream/modelVersion.ts';
import { maxLineBytes } from '../../stream/wire.ts';
import type { Condition, GatewayPolicy, Secret } from '../types/index.ts';
import { translate, type KubeObjects, type Translation } from './index.ts';
import { gateWith, readObjects } from './objects.testing.ts';

const listener = '{ name: web, port: 80, protocol: HTTP }';
const gate = `${gateWith(listener, 'allowedListeners: { namespaces: { from: All } }')}
kind: Service
metadata: { name: app }
spec: { ports: [{ port: 80 }] }
`;

const route = (name: string, rules: number): string => `
---
kind: HTTPRoute
metadata: { name: ${name} }
spec:
  parentRefs: [{ name: gate }]
  rules: [${Array.from({ length: rules }, (_, i) => `{ name: rule-${i}, matches: [{ path: { value: /${name}/${i} } }], backendRefs: [{ name: app, port: 80 }] }`).join()}]
`;

const set = (name: string, listeners: number, certificates: (listener: number) => string[]): string => `
---
kind: ListenerSet
metadata: { name: ${name}, namespace: tenant }
spec:
  parentRef: { name: gate, namespace: default }
  listeners: [${Array.from(
    { length: listeners },
    (_, i) =>
      `{ name: l${i}, port: 443, hostname: '${i}.${name}.example.com', protocol: HTTPS, tls: { certificateRefs: [${certificates(
        i,
      )
        .map((one) => `{ name: ${one} }`)
        .join()}] } }`,
  ).join()}]
`;

const run = (text: string, others: Partial<KubeObjects> = {}): Translation => {
  const { objects, options } = readObjects(text);
  return translate({ ...objects, ...others }, options);
};

const ca = authority('bulk');
const pair = ca.issue({ names: ['a.example.com'] });

const base64Of = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
  'tls.crt': Buffer.from(cert).toString('base64'),
  'tls.key': Buffer.from(key).toString('base64'),
});

/** A certificate with others behind it, some 60 KB together. */
const secret = (name: string): Secret => {
  const chain = `${pair.cert}# ${name}\n${ca.cert.repeat(Math.floor(60_000 / ca.cert.length))}`;
  return {
    metadata: { name, namespace: 'tenant' },
    data: base64Of({ cert: chain, key: pair.key }),
  };
};

const listenersOf = ({ models }: Translation) =>
  models.get('default/gate')?.model.binds.flatMap(({ listeners }) => listeners) ?? [];

const routesOf = (translation: Translation) =>
  listenersOf(translation).flatMap((listener) => ('routes' in listener ? listener.routes : []));

const conditionOf = (conditions: readonly Condition[] | undefined, type: string): string => {
  const found = conditions?.find((one) => one.type === type);
  return found === undefined ? 'none' : `${found.status} ${found.reason} ${found.message}`;
};

const listenerCondition = ({ report }: Translation, name: string, listener: string, type: string): string => {
  const { status } = report.find((one) => one.kind === 'ListenerSet' && one.name === name) ?? {};
  const { listeners } = status as { listeners: { name: string; conditions: Condition[] }[] };
  return conditionOf(listeners.find((one) => one.name === listener)?.conditions, type);
};

const routeCondition = ({ report }: Translation, name: string, type: string): string => {
  const { status } = report.find((one) => one.kind === 'HTTPRoute' && one.name === name) ?? {};
  const [parent] = (status as { parents: { conditions: Condition[] }[] }).parents;
  return conditionOf(parent?.conditions, type);
};

const longestPart = (translation: Translation): number => {
  const made = translation.models.get('default/gate');
  assert.ok(made !== undefined);
  const { parts, endpoints } = modelVersionOf(made.model, made.endpoints, translation.endpoints);
  return Math.max(
    ...[...parts.texts.values(), ...Array.from(endpoints.values(), ({ text }) => text)].map(
      ({ length }) => length,
    ),
  );
};

test('a Secret that a listener names twelve times is one certificate', () => {
  const translation = run(gate + set('twelve', 1, () => Array.from({ length: 12 }, () => 'same')), {
    secrets: [secret('same')],
  });
  const [, listener] = listenersOf(translation);
  assert.ok(listener !== undefined && 'tls' in listener);
  assert.equal(listener.tls?.more, undefined);
});

test('a listener with more certificates than a line can carry is refused, and no other one is', () => {
  const names = Array.from({ length: 64 }, (_, i) => `s${i}`);
  const translation = run(
    gate +
      set('huge', 2, (i) => (i === 0 ? names : ['s0'])) +
      set('small', 1, () => ['s0']) +
      route('app', 1),
    { secrets: names.map(secret) },
  );
  assert.match(
    listenerCondition(translation, 'huge', 'l0', 'Accepted'),
    /^False UnsupportedValue certificates and keys of \d+ bytes, where 1048576 are possible$/,
  );
  assert.match(listenerCondition(translation, 'huge', 'l1', 'Programmed'), /^True/);
  assert.match(listenerCondition(translation, 'small', 'l0', 'Programmed'), /^True/);
  assert.deepEqual(
    listenersOf(translation).map(({ name }) => name),
    ['web', 'tenant/huge/l1', 'tenant/small/l0'],
  );
  assert.ok(longestPart(translation) < maxLineBytes / 4);
});

test('the listeners of a ListenerSet have a budget in common, which takes nothing from another one', () => {
  const translation = run(gate + set('many', 64, (i) => [`s${i}`]) + set('other', 1, () => ['s0']), {
    secrets: Array.from({ length: 64 }, (_, i) => secret(`s${i}`)),
  });
  assert.match(listenerCondition(translation, 'many', 'l0', 'Programmed'), /^True/);
  assert.match(
    listenerCondition(translation, 'many', 'l63', 'Accepted'),
    /^False UnsupportedValue .* where the ListenerSet has \d+ left$/,
  );
  assert.match(listenerCondition(translation, 'other', 'l0', 'Programmed'), /^True/);
});

test('authorities that the Gateway asks of all clients draw nothing from the budget of a ListenerSet', () => {
  const asking = gate.replace(
    '  listeners: [',
    `  tls: { frontend: { default: { validation: { caCertificateRefs: [{ group: '', kind: ConfigMap, name: ca }] } } } }
  listeners: [`,
  );
  const text = ca.cert.repeat(Math.floor(60_000 / ca.cert.length));
  const translation = run(asking + set('many', 60, () => ['same']), {
    secrets: [{ metadata: { name: 'same', namespace: 'tenant' }, data: base64Of(pair) }],
    configMaps: [{ metadata: { name: 'ca', namespace: 'default' }, data: { 'ca.crt': text } }],
  });
  assert.equal(listenersOf(translation).length, 61);
});

/** An inline htpasswd, for the whole route. */
const policy = (name: string, target: string, bytes: number): GatewayPolicy =>
  ({
    kind: 'GatewayPolicy',
    metadata: { name, namespace: 'default', generation: 1 },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: target }],
      policies: { directResponse: { status: 200, body: 'x'.repeat(bytes) } },
    },
  }) as unknown as GatewayPolicy;

test('a route of nothing but rules that are too large is not accepted, and the routes of others are as they were', () => {
  const translation = run(gate + route('huge', 1) + route('app', 1), {
    gatewayPolicies: [policy('huge', 'huge', 900_000), policy('small', 'app', 900)],
  });
  assert.deepEqual(
    routesOf(translation).map(({ name, policies }) => [name, policies.length]),
    [['HTTPRoute/default/app/rule-0', 1]],
  );
  assert.match(
    routeCondition(translation, 'huge', 'Accepted'),
    /^False UnsupportedValue rule-0: policies and certificates of \d+ bytes, where 524288 are possible$/,
  );
  assert.match(routeCondition(translation, 'app', 'Accepted'), /^True/);
});

test('the rules of a route have a budget in common', () => {
  const translation = run(gate + route('many', 16), {
    gatewayPolicies: [policy('large', 'many', 400_000)],
  });
  const served = routesOf(translation).filter(({ policies }) => policies.length === 1);
  assert.equal(served.length, 5);
  const closed = routesOf(translation).filter(({ backends: [first] }) => first?.kind === 'invalid');
  assert.equal(closed.length, 11);
  assert.match(routeCondition(translation, 'many', 'Accepted'), /^True/);
  assert.match(
    routeCondition(translation, 'many', 'PartiallyInvalid'),
    /^True UnsupportedValue Dropped Rule\(s\) rule-5: .* where the route has \d+ left/,
  );
});

test('the number of addresses of a Service is limited to what one line holds', () => {
  const { objects, options } = readObjects(gate + route('app', 1));
  const slices = Array.from({ length: 300 }, (_, slice) => ({
    metadata: { name: `s${slice}`, namespace: 'default', labels: { 'kubernetes.io/service-name': 'app' } },
    addressType: 'IPv6',
    ports: [{ port: 80 }],
    endpoints: Array.from({ length: 1_000 }, (_one, i) => ({
      addresses: [`2001:db8:aaaa:bbbb:cccc:dddd:${slice.toString(16)}:${i.toString(16)}`],
      zone: slice === 0 ? 'z'.repeat(1_000) : 'zone',
    })),
  }));
  const { endpoints } = translate({ ...objects, endpointSlices: slices }, options);
  const [list] = endpoints.values();
  assert.equal(list?.length, 10_000);
  assert.ok(list.every(({ zone }) => zone === undefined || zone === 'zone'));
});
