import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyName } from './names.ts';
import { chosenParameters } from './parameters.ts';

test('parameters of a Gateway override those of its class, field by field', () => {
  assert.deepEqual(
    chosenParameters(
      { image: 'a', logLevel: 'warn', service: { type: 'NodePort', annotations: { a: '1' } } },
      { logLevel: 'debug', service: { externalTrafficPolicy: 'Local' } },
    ),
    {
      image: 'a',
      logLevel: 'debug',
      replicas: undefined,
      autoscaling: undefined,
      service: { type: 'NodePort', annotations: { a: '1' }, externalTrafficPolicy: 'Local' },
      overlays: [],
    },
  );
});

test('a number of replicas replaces an autoscaler, and the other way round', () => {
  const scaled = { autoscaling: { maxReplicas: 3 } };
  assert.equal(chosenParameters(scaled, { replicas: 2 }).autoscaling, undefined);
  assert.equal(chosenParameters({ replicas: 2 }, scaled).replicas, undefined);
  assert.deepEqual(chosenParameters(scaled, {}).autoscaling, { maxReplicas: 3 });
});

test('overlays apply in order, so that a null in the second removes a default', () => {
  const overlay = (spec: object) => ({ overlays: { deployment: { spec: { ...spec } } } });
  const [first, second] = [overlay({ a: 1 }), overlay({ b: null })];
  assert.deepEqual(chosenParameters(first, second).overlays, [first.overlays, second.overlays]);
  assert.deepEqual(chosenParameters(first, {}).overlays, [first.overlays]);
});

test('objects are called as their Gateway wherever a Service can be', () => {
  assert.equal(proxyName('http'), 'http');
  const odd = ['a.b', 'a-b.', '1st', 'x'.repeat(64), `${'x'.repeat(48)}.a`, `${'x'.repeat(48)}.b`].map(
    proxyName,
  );
  for (const name of odd) assert.match(name, /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
  assert.equal(new Set(odd).size, odd.length);
  assert.notEqual(proxyName('a.b'), proxyName('a-b'));
});
