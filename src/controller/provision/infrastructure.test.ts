import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeObject } from '../api/object.ts';
import type { Gateway } from '../types/index.ts';
import { infrastructureOf } from './infrastructure.ts';

const gateway = (...addresses: readonly { readonly type?: string; readonly value?: string }[]): Gateway => ({
  metadata: { name: 'http', namespace: 'a' },
  spec: { gatewayClassName: 'portcullis', listeners: [], addresses },
});

const service = (spec: object, ...ingress: readonly object[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'http', namespace: 'a' },
  spec,
  status: { loadBalancer: ingress.length === 0 ? {} : { ingress } },
});
const balanced = { type: 'LoadBalancer', clusterIPs: ['198.18.128.5'] };

const deployment = (status: object): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'http', namespace: 'a', generation: 2 },
  status,
});
const available = deployment({ observedGeneration: 2, availableReplicas: 1 });

test('addresses are those of the load balancer, names among them', () => {
  const given = service(balanced, { ip: '198.19.0.10' }, { hostname: 'lb.example.test' }, {});
  assert.deepEqual(infrastructureOf(gateway(), { deployment: available, service: given, problems: [] }), {
    addresses: [
      { type: 'IPAddress', value: '198.19.0.10' },
      { type: 'Hostname', value: 'lb.example.test' },
    ],
  });
});

test('without a load balancer they are those of the Service, of both families', () => {
  const inside = service({ type: 'NodePort', clusterIPs: ['198.18.128.5', '2001:db8::5'] });
  const { addresses } = infrastructureOf(gateway(), { deployment: available, service: inside, problems: [] });
  assert.deepEqual(
    addresses.map(({ value }) => value),
    ['198.18.128.5', '2001:db8::5'],
  );
  const headless = service({ type: 'ClusterIP', clusterIPs: ['None'] });
  assert.deepEqual(
    infrastructureOf(gateway(), { deployment: available, service: headless, problems: [] }).addresses,
    [],
  );
});

test('the status names requested addresses that were not assigned', () => {
  const asking = gateway({ type: 'IPAddress' }, { value: '198.19.0.10' }, { value: '203.0.113.1' });
  const given = service(balanced, { ip: '198.19.0.10' });
  const parts = { deployment: available, problems: [] };
  assert.deepEqual(infrastructureOf(asking, { ...parts, service: given }).unusable, ['203.0.113.1']);
  assert.equal(infrastructureOf(asking, { ...parts, service: undefined }).unusable, undefined);
  const refused = { object: 'Service a/http', message: 'not in the range' };
  assert.deepEqual(infrastructureOf(asking, { ...parts, service: undefined, problems: [refused] }).unusable, [
    '198.19.0.10',
    '203.0.113.1',
  ]);
});

test('the Gateway waits for an available proxy, and its status gives the reason', () => {
  const pending = (deployed: KubeObject | undefined): string | undefined =>
    infrastructureOf(gateway(), { deployment: deployed, service: service(balanced), problems: [] }).pending;
  assert.equal(pending(undefined), 'proxies are being set up');
  assert.equal(
    pending(deployment({ observedGeneration: 1, availableReplicas: 0 })),
    'proxies are being set up',
  );
  assert.equal(pending(deployment({ observedGeneration: 2 })), 'no proxy is available');
  const failure = { type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' };
  assert.equal(
    pending(deployment({ observedGeneration: 2, conditions: [failure] })),
    'no proxy is available: exceeded quota',
  );
  // Others come while these serve.
  assert.equal(pending(deployment({ observedGeneration: 1, availableReplicas: 1 })), undefined);
});

test('an object that could not be created is reported first', () => {
  const problem = { object: 'Deployment a/http', message: 'image is wrong' };
  const { pending } = infrastructureOf(gateway(), {
    deployment: available,
    service: service(balanced, { ip: '198.19.0.10' }),
    problems: [problem],
  });
  assert.equal(pending, 'Deployment a/http: image is wrong');
});
