import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortedRules } from '../../model/index.ts';
import { translate } from './index.ts';
import { gateWith, readObjects } from './objects.testing.ts';

test('a gRPC match of a service goes before one of a method of any service, however long the method is', () => {
  const { objects, options } = readObjects(`${gateWith('{ name: web, port: 80, protocol: HTTP }')}
kind: Service
metadata: { name: app }
spec: { ports: [{ port: 80 }] }
---
kind: GRPCRoute
metadata: { name: shop }
spec:
  parentRefs: [{ name: gate }]
  rules:
    - { name: everything, backendRefs: [{ name: app, port: 80 }] }
    - { name: headers, matches: [{ headers: [{ name: x, value: y }] }] }
    - { name: expression, matches: [{ method: { type: RegularExpression, method: 'Delete.*' } }] }
    - { name: method, matches: [{ method: { method: DeleteEverything } }] }
    - { name: short-service, matches: [{ method: { service: s } }] }
    - { name: service, matches: [{ method: { service: shop.Admin } }] }
    - { name: whole, matches: [{ method: { service: shop.Admin, method: List } }] }
`);
  const { models } = translate(objects, options);
  const [listener] = models.get('default/gate')?.model.binds[0]?.listeners ?? [];
  assert.ok(listener !== undefined && 'routes' in listener);
  assert.deepEqual(
    sortedRules(listener).map(({ route }) => route.name.split('/').at(-1)),
    ['whole', 'service', 'short-service', 'method', 'expression', 'headers', 'everything'],
  );
});
