import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListenerStatus } from '../types/index.ts';
import { translate } from './index.ts';
import { readObjects } from './objects.testing.ts';

/** Each listener has its name and the reasons of its conditions `Accepted`, `Conflicted` and `OverlappingTLSConfig`. */
function translated(own: string, ofSet: string, tls = '{}') {
  const { objects, options } = readObjects(`
kind: GatewayClass
metadata: { name: portcullis }
spec: { controllerName: portcullis.dev/gateway }
---
kind: Secret
metadata: { name: cert }
data: { tls.crt: '@a.crt', tls.key: '@a.key' }
---
kind: Gateway
metadata: { name: gate }
spec:
  gatewayClassName: portcullis
  allowedListeners: { namespaces: { from: Same } }
  tls: ${tls}
  listeners:
${own}
---
kind: ListenerSet
metadata: { name: more }
spec:
  parentRef: { name: gate }
  listeners:
${ofSet}
`);
  const { models, report } = translate(objects, options);
  const conditions = report.flatMap(({ status }) =>
    ((status as { listeners?: readonly ListenerStatus[] }).listeners ?? []).map(({ name, conditions }) => {
      const reasonOf = (type: string) => conditions.find((one) => one.type === type)?.reason;
      return [name, reasonOf('Accepted'), reasonOf('Conflicted'), reasonOf('OverlappingTLSConfig')];
    }),
  );
  return { conditions, ports: models.get('default/gate')?.model.binds.map(({ port }) => port) };
}

test('a listener that is not possible conflicts with no listener of its Gateway or of a ListenerSet', () => {
  const tls = 'tls: { certificateRefs: [{ name: cert }] }';
  const refused = 'tls: { certificateRefs: [{ name: cert }], options: { example.com/x: y } }';
  const { conditions, ports } = translated(
    `
    - { name: refused, port: 443, protocol: HTTPS, ${refused} }
    - { name: refused-too, port: 444, protocol: HTTPS, ${refused} }
    - { name: same-host, port: 443, protocol: HTTPS, ${tls} }`,
    `    - { name: same-host-of-set, port: 444, protocol: HTTPS, ${tls} }`,
  );
  assert.deepEqual(conditions, [
    ['refused', 'UnsupportedValue', 'NoConflicts', undefined],
    ['refused-too', 'UnsupportedValue', 'NoConflicts', undefined],
    ['same-host', 'Accepted', 'NoConflicts', undefined],
    ['same-host-of-set', 'Accepted', 'NoConflicts', undefined],
  ]);
  assert.deepEqual(ports, [443, 444]);
});

test('a listener whose authorities for clients are missing keeps its host from a ListenerSet', () => {
  const missing = "{ caCertificateRefs: [{ group: '', kind: ConfigMap, name: gone }] }";
  const { conditions, ports } = translated(
    '    - { name: own, port: 443, hostname: a.test, protocol: HTTPS, tls: { certificateRefs: [{ name: cert }] } }',
    `
    - { name: same-host, port: 443, hostname: a.test, protocol: TLS, tls: { mode: Passthrough } }
    - { name: other-host, port: 443, hostname: b.test, protocol: TLS, tls: { mode: Passthrough } }`,
    `{ frontend: { default: { validation: ${missing} } } }`,
  );
  assert.deepEqual(conditions, [
    ['own', 'NoValidCACertificate', 'NoConflicts', undefined],
    ['same-host', 'HostnameConflict', 'HostnameConflict', undefined],
    ['other-host', 'Accepted', 'NoConflicts', undefined],
  ]);
  assert.deepEqual(ports, [443]);
});
