import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListenerStatus } from '../types/index.ts';
import { translate } from './index.ts';
import { readObjects } from './objects.testing.ts';

test('a listener that is not accepted conflicts with no listener of its Gateway or of a ListenerSet', () => {
  const tls = 'tls: { certificateRefs: [{ name: cert }] }';
  const refused = 'tls: { certificateRefs: [{ name: cert }], options: { example.com/x: y } }';
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
  listeners:
    - { name: refused, port: 443, protocol: HTTPS, ${refused} }
    - { name: refused-too, port: 444, protocol: HTTPS, ${refused} }
    - { name: same-host, port: 443, protocol: HTTPS, ${tls} }
---
kind: ListenerSet
metadata: { name: more }
spec:
  parentRef: { name: gate }
  listeners: [{ name: same-host-of-set, port: 444, protocol: HTTPS, ${tls} }]
`);
  const { models, report } = translate(objects, options);
  const shown = report.flatMap(({ status }) =>
    ((status as { listeners?: readonly ListenerStatus[] }).listeners ?? []).map(({ name, conditions }) => {
      const reasonOf = (type: string) => conditions.find((one) => one.type === type)?.reason;
      return [name, reasonOf('Accepted'), reasonOf('Conflicted'), reasonOf('OverlappingTLSConfig')];
    }),
  );
  assert.deepEqual(shown, [
    ['refused', 'UnsupportedValue', 'NoConflicts', undefined],
    ['refused-too', 'UnsupportedValue', 'NoConflicts', undefined],
    ['same-host', 'Accepted', 'NoConflicts', undefined],
    ['same-host-of-set', 'Accepted', 'NoConflicts', undefined],
  ]);
  assert.deepEqual(
    models.get('default/gate')?.model.binds.map(({ port }) => port),
    [443, 444],
  );
});
