import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { clusterForSuite, gatewayClass, needsCluster } from './cluster.testing.ts';
import { installation, startLeader } from './leader.testing.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface AnyObject {
  readonly metadata: {
    readonly uid: string;
    readonly generation: number;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly value: string }[];
    readonly conditions?: readonly Condition[];
  };
}

const crd = new URL('../../deploy/chart/crds/portcullis.dev_portcullisparameters.yaml', import.meta.url);

describe('the proxies of Gateways', needsCluster, () => {
  const stage = clusterForSuite();

  before(async () => {
    await stage.cluster.installGatewayApi('experimental');
    await stage.cluster.apply(readFileSync(crd, 'utf8'));
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
    await stage.cluster.apply(gatewayClass('portcullis'));
  });

  const get = async (kind: string, name: string): Promise<AnyObject | undefined> => {
    const text = await stage.cluster.kubectl(['get', kind, name, '--ignore-not-found', '-o', 'json']);
    return text === '' ? undefined : (JSON.parse(text) as AnyObject);
  };

  const eventually = async (
    kind: string,
    name: string,
    holds: (object: AnyObject | undefined) => boolean,
  ): Promise<AnyObject | undefined> => {
    const end = performance.now() + 60_000;
    for (;;) {
      const object = await get(kind, name);
      if (holds(object)) return object;
      if (performance.now() > end) throw new Error(`${kind} ${name}: ${JSON.stringify(object?.status)}`);
      await pause(50);
    }
  };

  const there = (object: AnyObject | undefined): boolean => object !== undefined;
  const gone = (object: AnyObject | undefined): boolean => object === undefined;

  const programmed =
    (status: string, reason: string, message = '') =>
    (object: AnyObject | undefined): boolean =>
      object?.status?.conditions?.some(
        (one) =>
          one.type === 'Programmed' &&
          one.status === status &&
          one.reason === reason &&
          one.message.includes(message),
      ) === true;

  /** Stands for the cluster's own controllers, which do not run here. */
  const say = async (kind: string, name: string, status: object): Promise<void> => {
    await stage.cluster.kubectl([
      'patch',
      kind,
      name,
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({ status }),
    ]);
  };
  const sayAvailable = async (name: string, availableReplicas: number): Promise<void> => {
    const generation = (await get('deployment', name))?.metadata.generation;
    await say('deployment', name, {
      observedGeneration: generation,
      replicas: 1,
      readyReplicas: availableReplicas,
      availableReplicas,
    });
  };
  const sayAddresses = async (name: string, ...ips: readonly string[]): Promise<void> =>
    await say('service', name, { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } });

  const start = async (t: TestContext): Promise<void> =>
    void (await startLeader(t, await stage.connect(), { installation: () => installation }));

  test('a Gateway is programmed when a proxy is available and it has an address', async (t) => {
    await start(t);
    await stage.cluster.apply(gateway('one'));
    await eventually('service', 'one', there);
    const deployment = await get('deployment', 'one');
    assert.equal(deployment?.metadata.labels['gateway.networking.k8s.io/gateway-name'], 'one');
    await eventually('gateway', 'one', programmed('False', 'Pending', 'proxies are being set up'));
    await sayAvailable('one', 1);
    await eventually('gateway', 'one', programmed('False', 'AddressNotAssigned'));
    await sayAddresses('one', '198.19.0.20');
    const done = await eventually('gateway', 'one', programmed('True', 'Programmed'));
    assert.deepEqual(done?.status?.addresses, [{ type: 'IPAddress', value: '198.19.0.20' }]);
    await sayAvailable('one', 0);
    await eventually('gateway', 'one', programmed('False', 'Pending', 'no proxy is available'));
  });

  test('objects that others changed or deleted are restored', async (t) => {
    await start(t);
    await stage.cluster.apply(gateway('two'));
    const first = await eventually('service', 'two', there);
    await stage.cluster.kubectl(['delete', 'service', 'two']);
    await eventually(
      'service',
      'two',
      (one) => one !== undefined && one.metadata.uid !== first?.metadata.uid,
    );
    await stage.cluster.kubectl(['scale', 'deployment/two', '--replicas=7']);
    await eventually('deployment', 'two', (one) => Number(one?.spec['replicas']) === 1);
  });

  test('the autoscaler owns the number of replicas', async (t) => {
    await start(t);
    await stage.cluster.apply(parameters('scaled', { autoscaling: { minReplicas: 2, maxReplicas: 9 } }));
    await stage.cluster.apply(gateway('three', { parameters: 'scaled' }));
    await eventually('hpa', 'three', there);
    assert.equal(Number((await get('deployment', 'three'))?.spec['replicas']), 2);
    await stage.cluster.kubectl(['scale', 'deployment/three', '--replicas=5']);
    // Another object is wanted now, and is applied without the number.
    await stage.cluster.apply(
      parameters('scaled', { autoscaling: { minReplicas: 2, maxReplicas: 9 }, logLevel: 'debug' }),
    );
    const changed = await eventually('deployment', 'three', (one) =>
      JSON.stringify(one?.spec).includes('--log-level=debug'),
    );
    assert.equal(Number(changed?.spec['replicas']), 5);
    await stage.cluster.apply(parameters('scaled', { replicas: 3 }));
    await eventually('hpa', 'three', gone);
    await eventually('deployment', 'three', (one) => Number(one?.spec['replicas']) === 3);
  });

  test('parameters that are not there, or wrong, keep a Gateway from being accepted, and what it has stays', async (t) => {
    await start(t);
    await stage.cluster.apply(gateway('four'));
    await eventually('deployment', 'four', there);
    await stage.cluster.apply(gateway('four', { parameters: 'nowhere' }));
    await eventually('gateway', 'four', (one) =>
      Boolean(one?.status?.conditions?.some(({ reason }) => reason === 'InvalidParameters')),
    );
    await stage.cluster.apply(parameters('nowhere', { replicas: 2 }));
    await eventually('deployment', 'four', (one) => Number(one?.spec['replicas']) === 2);
    await stage.cluster.kubectl(['delete', 'portcullisparameters', 'nowhere']);
    await eventually('gateway', 'four', (one) =>
      Boolean(one?.status?.conditions?.some(({ reason }) => reason === 'InvalidParameters')),
    );
    assert.equal(Number((await get('deployment', 'four'))?.spec['replicas']), 2);
  });

  test('an object of another owner stays as it is, and the Gateway says so', async (t) => {
    await start(t);
    await stage.cluster.apply(service('five'));
    const before = await get('service', 'five');
    await stage.cluster.apply(gateway('five'));
    await eventually('gateway', 'five', programmed('False', 'Pending', 'Service default/five'));
    assert.equal((await get('service', 'five'))?.metadata.uid, before?.metadata.uid);
    await stage.cluster.kubectl(['delete', 'service', 'five']);
    // The watch does not cover objects of others: the next change of the Gateway, or a try after a while, finds
    // out.
    await stage.cluster.apply(gateway('five', { port: 81 }));
    await eventually('gateway', 'five', programmed('False', 'Pending', 'proxies are being set up'));
  });

  test('an address that is asked for is asked of the network, and what it does not give is named', async (t) => {
    await start(t);
    await stage.cluster.apply(gateway('six', { address: '198.19.0.30' }));
    const made = await eventually('service', 'six', there);
    assert.equal(String(made?.spec['loadBalancerIP']), '198.19.0.30');
    await sayAvailable('six', 1);
    await eventually('gateway', 'six', programmed('False', 'AddressNotUsable', '198.19.0.30'));
    await sayAddresses('six', '198.19.0.30');
    await eventually('gateway', 'six', programmed('True', 'Programmed'));
  });

  test('inside the cluster the address is that of the Service', async (t) => {
    await start(t);
    await stage.cluster.apply(parameters('inside', { service: { type: 'ClusterIP' } }));
    await stage.cluster.apply(gateway('seven', { parameters: 'inside' }));
    await eventually('service', 'seven', there);
    await sayAvailable('seven', 1);
    const done = await eventually('gateway', 'seven', programmed('True', 'Programmed'));
    assert.match(done?.status?.addresses?.[0]?.value ?? '', /^198\.18\./);
  });

  test('a refusal of the API server is in the status until the parameters are fixed', async (t) => {
    await start(t);
    await stage.cluster.apply(
      parameters('mad', {
        overlays: { deployment: { spec: { template: { spec: { containers: [{ name: 'no image' }] } } } } },
      }),
    );
    await stage.cluster.apply(gateway('eight', { parameters: 'mad' }));
    await eventually('gateway', 'eight', programmed('False', 'Pending', 'Deployment default/eight'));
    await stage.cluster.apply(parameters('mad', { logLevel: 'info' }));
    await eventually('deployment', 'eight', there);
    await eventually('gateway', 'eight', programmed('False', 'Pending', 'proxies are being set up'));
  });

  test('a Gateway that goes to another class loses its proxies, one that is not ours never gets any', async (t) => {
    await stage.cluster.apply(gatewayClass('theirs', 'example.test/other'));
    await start(t);
    await stage.cluster.apply([gateway('nine'), gateway('ten', { gatewayClass: 'theirs' })].join('\n---\n'));
    await eventually('service', 'nine', there);
    await stage.cluster.apply(gateway('nine', { gatewayClass: 'theirs' }));
    await eventually('deployment', 'nine', gone);
    await eventually('service', 'nine', gone);
    assert.equal(await get('deployment', 'ten'), undefined);
  });
});

interface GatewayIs {
  readonly gatewayClass?: string;
  readonly parameters?: string;
  readonly address?: string;
  readonly port?: number;
}

const gateway = (name: string, is: GatewayIs = {}): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'default' },
    spec: {
      gatewayClassName: is.gatewayClass ?? 'portcullis',
      listeners: [{ name: 'http', port: is.port ?? 80, protocol: 'HTTP' }],
      ...(is.address === undefined ? {} : { addresses: [{ value: is.address }] }),
      ...(is.parameters === undefined
        ? {}
        : {
            infrastructure: {
              parametersRef: { group: 'portcullis.dev', kind: 'PortcullisParameters', name: is.parameters },
            },
          }),
    },
  });

const parameters = (name: string, spec: object): string =>
  JSON.stringify({
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'PortcullisParameters',
    metadata: { name, namespace: 'default' },
    spec,
  });

const service = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  });
