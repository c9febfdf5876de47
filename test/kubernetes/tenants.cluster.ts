/** A tenant that may only write objects in its own namespace cannot harm the controller. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { pathOf } from '../../src/controller/api/resource.ts';
import { clusterForSuite, configMaps, gatewayClass, needsCluster } from './cluster.testing.ts';
import { startControllerProcess, type ControllerProcess } from './controllerProcess.testing.ts';
import { until } from '../../src/until.testing.ts';

/** Bytes of ConfigMaps; more than the heap that the controller has here. */
const megabytes = 150;
const littleMemory = { NODE_OPTIONS: '--max-old-space-size=100' };

describe('a tenant', needsCluster, () => {
  const stage = clusterForSuite();
  const ca = authority();

  before(async () => {
    await stage.cluster.installGatewayApi();
    await stage.cluster.kubectl(['create', 'namespace', 'tenant']);
    await stage.cluster.apply(gatewayClass('ours'));
  });

  const hold = async (name: string, padding: number): Promise<void> => {
    const { cert, key } = ca.issue({ name, names: ['a.example.test'] });
    await stage.cluster.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: 'default' },
        type: 'kubernetes.io/tls',
        stringData: { 'tls.crt': `${'#'.repeat(padding)}\n${cert}`, 'tls.key': key },
      }),
    );
  };

  const resolved = async (listener: string): Promise<string> =>
    await stage.cluster.kubectl([
      ...['get', 'gateway', 'gw', '-o'],
      `jsonpath={range .status.listeners[?(@.name=="${listener}")].conditions[?(@.type=="ResolvedRefs")]}{.status} {.message}{end}`,
    ]);

  const gateway = async (secrets: readonly string[]): Promise<void> =>
    await stage.cluster.apply(
      JSON.stringify({
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'Gateway',
        metadata: { name: 'gw', namespace: 'default' },
        spec: {
          gatewayClassName: 'ours',
          listeners: secrets.map((name) => ({
            name,
            hostname: `${name}.example.test`,
            port: 443,
            protocol: 'HTTPS',
            tls: { certificateRefs: [{ name }] },
          })),
        },
      }),
    );

  const isWell = async (controller: ControllerProcess): Promise<void> =>
    assert.equal(await controller.probe(), 200, controller.log().slice(-2_000));

  test('fills no memory of the controller with ConfigMaps that nothing refers to', async (t) => {
    const { api } = await stage.connect();
    const data = { 'jwks.json': 'x'.repeat(1_000_000) };
    const create = async (name: string): Promise<unknown> =>
      await api.request({
        method: 'POST',
        path: pathOf(configMaps, { namespace: 'tenant' }),
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'tenant' }, data },
      });
    for (let i = 0; i < megabytes; i += 5)
      await Promise.all([0, 1, 2, 3, 4].map(async (one) => await create(`m${i + one}`)));
    await hold('first', 0);
    await gateway(['first']);

    const controller = await startControllerProcess(t, stage.cluster.kubeconfig, [], littleMemory);
    await controller.ready();
    await isWell(controller);
    await until('the certificate is read', async () => /^True/.test(await resolved('first')));

    // The controller reads an object once it is named, and tells its owner alone where it is too large.
    await hold('second', 0);
    await hold('padded', 70_000);
    await gateway(['first', 'second', 'padded']);
    await until('the second one is read', async () => /^True/.test(await resolved('second')));
    await until('the padded one is refused', async () =>
      /^False .*its tls\.crt is larger than 65536 bytes/.test(await resolved('padded')),
    );
    assert.match(await resolved('first'), /^True/);
    await isWell(controller);
    assert.equal(await controller.end('SIGTERM'), 0);
  });
});
