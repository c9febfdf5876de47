import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '../types/index.ts';
import type { KubeObjects, Translation } from './contract.ts';
import { readObjects } from './objects.testing.ts';
import { keyOfUpdate } from './reportKeys.ts';
import { Translator } from './translator.ts';
import { newer } from './world.testing.ts';

const gateway = (name: string, listener: string): string => `
kind: Gateway
metadata: { name: ${name} }
spec: { gatewayClassName: ours, listeners: [${listener}] }
---
kind: HTTPRoute
metadata: { name: of-${name} }
spec: { parentRefs: [{ name: ${name} }], rules: [{ backendRefs: [{ name: of-${name}, port: 80 }] }] }
---
kind: Service
metadata: { name: of-${name} }
spec: { ports: [{ port: 80 }] }`;

const http = '{ name: http, port: 80, protocol: HTTP }';
const https = '{ name: https, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: cert }] } }';

const policy = (name: string, route: string): string => `
kind: GatewayPolicy
metadata: { name: ${name} }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: ${route} }]
  policies: { apiKey: { keys: [{ secret: of-${name} }] } }
---
kind: Secret
metadata: { name: of-${name} }
data: { api-key: c2VjcmV0LXNlY3JldC1zZWNyZXQ= }`;

const { objects, options } = readObjects(
  [
    'kind: GatewayClass\nmetadata: { name: ours }\nspec: { controllerName: portcullis.dev/gateway }',
    gateway('tls', `${http}, ${https}`),
    gateway('policed', http),
    gateway('plain', http),
    'kind: Secret\nmetadata: { name: cert }\ndata: { tls.crt: "@a.crt", tls.key: "@a.key" }',
    policy('used', 'of-policed'),
    policy('unused', 'nowhere'),
  ].join('\n---\n'),
);

/** The same objects, with Secrets whose data is not in memory. */
const without = (...names: readonly string[]): KubeObjects => ({
  ...objects,
  secrets: objects.secrets.map((secret): Secret =>
    names.includes(secret.metadata.name) ? { ...secret, data: {}, withheld: 'unread' } : secret,
  ),
});

const unreadWith = (...names: readonly string[]): readonly string[] => {
  const translator = new Translator();
  translator.translate(without(...names), options);
  return [...translator.unread];
};

const portsOf = (translation: Translation | undefined, name: string): readonly number[] | undefined =>
  translation?.models.get(`default/${name}`)?.model.binds.map(({ port }) => port);

test('unread data concerns only the Gateways that need it', () => {
  assert.deepEqual(unreadWith(), []);
  assert.deepEqual(unreadWith('cert'), ['default/tls']);
  assert.deepEqual(unreadWith('of-used'), ['default/policed']);
  assert.deepEqual(unreadWith('of-unused'), []);
});

test('a partial translation knows the unread data of the other Gateways, too', () => {
  const translator = new Translator();
  const secrets = without('cert', 'of-used');
  translator.translate(secrets, options);
  const httpRoutes = secrets.httpRoutes.map((route) =>
    route.metadata.name === 'of-plain'
      ? newer({ ...route, spec: { ...route.spec, hostnames: ['x.test'] } })
      : route,
  );
  translator.translate({ ...secrets, httpRoutes }, options);
  assert.equal(translator.parts, 1);
  assert.deepEqual([...translator.unread].toSorted(), ['default/policed', 'default/tls']);
});

test('a Gateway that is held keeps its model with its addresses, and nothing is said of its objects', () => {
  const translator = new Translator();
  const before = translator.translate(objects, options);
  // The route of the Gateway has changed as well, and names another Service.
  const httpRoutes = objects.httpRoutes.map((route) =>
    route.metadata.name === 'of-tls'
      ? newer({
          ...route,
          spec: { ...route.spec, rules: [{ backendRefs: [{ name: 'of-plain', port: 80 }] }] },
        })
      : route,
  );
  const fresh = translator.translate({ ...without('cert'), httpRoutes }, options);
  assert.deepEqual(portsOf(fresh, 'tls'), [80]);
  const held = translator.holding(translator.unread, before);
  assert.equal(held?.models.get('default/tls'), before.models.get('default/tls'));
  assert.equal(held?.models.get('default/plain'), fresh.models.get('default/plain'));
  assert.ok(held?.endpoints.has('default/of-tls:80/TCP'));
  const said = held?.report.map(keyOfUpdate) ?? [];
  assert.deepEqual(
    fresh.report.map(keyOfUpdate).filter((key) => !said.includes(key)),
    ['Gateway default/tls', 'HTTPRoute default/of-tls'],
  );
  translator.translate({ ...objects, httpRoutes }, options);
  assert.deepEqual([...translator.unread], []);
});

test('a Gateway that had no model before gets none while it is held', () => {
  const translator = new Translator();
  translator.translate(without('of-used'), options);
  const held = translator.holding(translator.unread, undefined);
  assert.deepEqual([...(held?.models.keys() ?? [])], ['default/tls', 'default/plain']);
  const said = held?.report.map(keyOfUpdate) ?? [];
  assert.ok(!said.includes('GatewayPolicy default/used') && said.includes('GatewayPolicy default/unused'));
});
