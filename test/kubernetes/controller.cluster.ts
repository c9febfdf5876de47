import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { clusterForSuite, gatewayClass, needsCluster } from './cluster.testing.ts';
import { startControllerProcess } from './controllerProcess.testing.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly observedGeneration?: number;
}

interface Status {
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly { readonly name: string; readonly attachedRoutes: number }[];
  readonly parents?: readonly {
    readonly controllerName: string;
    readonly conditions: readonly Condition[];
  }[];
}

describe('portcullis controller', needsCluster, () => {
  const stage = clusterForSuite();

  const statusOf = async (kind: string, name: string): Promise<Status> => {
    const text = await stage.cluster.kubectl(['get', kind, name, '--ignore-not-found', '-o', 'json']);
    return text === '' ? {} : ((JSON.parse(text) as { readonly status?: Status }).status ?? {});
  };

  /** Waits until a status is as wanted, and returns it. */
  const eventually = async (
    kind: string,
    name: string,
    holds: (status: Status) => boolean,
  ): Promise<Status> => {
    const end = performance.now() + 60_000;
    for (;;) {
      const status = await statusOf(kind, name);
      if (holds(status)) return status;
      if (performance.now() > end) throw new Error(`${kind} ${name}: ${JSON.stringify(status)}`);
      await pause(50);
    }
  };

  const holds = (conditions: readonly Condition[] | undefined, type: string, status = 'True'): boolean =>
    conditions?.some((one) => one.type === type && one.status === status) === true;

  const start = async (t: TestContext, args: readonly string[] = []) =>
    await startControllerProcess(t, stage.cluster.kubeconfig, args);

  test('starts before the Gateway API is installed, and takes it up when it is', async (t) => {
    const controller = await start(t);
    await controller.ready();
    assert.equal(await controller.probe(), 200);
    await stage.cluster.installGatewayApi();
    await stage.cluster.apply(gatewayClass('late'));
    await eventually('gatewayclass', 'late', ({ conditions }) => holds(conditions, 'Accepted'));
    assert.equal(await controller.end('SIGTERM'), 0);
  });

  test('says what became of a Gateway and its route, and of a change', async (t) => {
    const controller = await start(t);
    await stage.cluster.apply([gatewayClass('ours'), gateway('one', 'ours'), service('app')].join('\n---\n'));
    await stage.cluster.apply(route('r', 'one', 'app'));
    const accepted = await eventually('gateway', 'one', ({ conditions }) => holds(conditions, 'Accepted'));
    assert.equal(accepted.conditions?.[0]?.observedGeneration, 1);
    const { parents } = await eventually('httproute', 'r', (status) =>
      holds(status.parents?.[0]?.conditions, 'ResolvedRefs'),
    );
    assert.equal(parents?.length, 1);
    assert.equal(parents?.[0]?.controllerName, 'portcullis.dev/gateway');
    await eventually('gateway', 'one', ({ listeners }) => listeners?.[0]?.attachedRoutes === 1);

    await stage.cluster.kubectl(['delete', 'service', 'app']);
    await eventually('httproute', 'r', (status) =>
      holds(status.parents?.[0]?.conditions, 'ResolvedRefs', 'False'),
    );
    await stage.cluster.apply(service('app'));
    await eventually('httproute', 'r', (status) => holds(status.parents?.[0]?.conditions, 'ResolvedRefs'));
    await stage.cluster.kubectl(['delete', 'httproute', 'r']);
    await eventually('gateway', 'one', ({ listeners }) => listeners?.[0]?.attachedRoutes === 0);
    assert.equal(await controller.end('SIGTERM'), 0);
  });

  test('leaves what is not its own alone', async (t) => {
    await stage.cluster.apply(
      [gatewayClass('theirs', 'example.test/other'), gateway('two', 'theirs')].join('\n---\n'),
    );
    await stage.cluster.apply([gatewayClass('ours'), gateway('three', 'ours')].join('\n---\n'));
    const controller = await start(t);
    await eventually('gateway', 'three', ({ conditions }) => holds(conditions, 'Accepted'));
    // The CRDs themselves begin every status with this: nobody has looked at it.
    for (const [kind, name] of [
      ['gatewayclass', 'theirs'],
      ['gateway', 'two'],
    ] as const)
      assert.equal(
        (await statusOf(kind, name)).conditions?.every(({ reason }) => reason === 'Pending'),
        true,
      );
    await controller.end('SIGTERM');
  });

  test('puts back a status that somebody overwrote, then rests', async (t) => {
    const controller = await start(t);
    const sum = async (series: RegExp): Promise<number> =>
      [...(await controller.metrics()).matchAll(series)].reduce((all, [, count]) => all + Number(count), 0);
    const writes = async (): Promise<number> => await sum(/kube_status_writes_total\{[^}]*\} (\d+)/g);
    /** A status can be read before whoever wrote it has counted that. */
    const moreThan = async (known: number): Promise<number> => {
      for (;;) {
        const count = await writes();
        if (count > known) return count;
        await pause(20);
      }
    };
    await stage.cluster.apply([gatewayClass('ours'), gateway('four', 'ours')].join('\n---\n'));
    await eventually('gateway', 'four', ({ conditions }) => holds(conditions, 'Accepted'));
    const first = await moreThan(0);
    const wrong = { status: { conditions: [], listeners: [] } };
    await stage.cluster.kubectl([
      'patch',
      'gateway',
      'four',
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify(wrong),
    ]);
    await eventually('gateway', 'four', ({ conditions }) => holds(conditions, 'Accepted'));
    const translations = async (): Promise<number> =>
      await sum(/kube_translations_total\{what="(?:objects|part)"\} (\d+)/g);
    // An object of others changes; another translation has then looked at its meaning for everything.
    const before = { writes: await moreThan(first), translations: await translations() };
    await stage.cluster.apply(service('unrelated'));
    while ((await translations()) === before.translations) await pause(20);
    assert.equal(await writes(), before.writes);
    await controller.end('SIGTERM');
  });

  test('a single replica writes; when it ends, another continues', async (t) => {
    const first = await start(t);
    await first.ready();
    while (!(await first.isLeader())) await pause(50);
    const second = await start(t);
    await second.ready();
    assert.equal(await second.isLeader(), false);
    assert.equal(await first.end('SIGTERM'), 0);
    await stage.cluster.apply([gatewayClass('ours'), gateway('five', 'ours')].join('\n---\n'));
    await eventually('gateway', 'five', ({ conditions }) => holds(conditions, 'Accepted'));
    assert.equal(await second.isLeader(), true);
    assert.equal(await second.end('SIGTERM'), 0);
  });

  test('when the one that writes is killed, the other takes over as soon as the lease has run out', async (t) => {
    const first = await start(t);
    while (!(await first.isLeader())) await pause(50);
    const second = await start(t);
    await second.ready();
    await first.end('SIGKILL');
    await stage.cluster.apply([gatewayClass('ours'), gateway('killed', 'ours')].join('\n---\n'));
    await eventually('gateway', 'killed', ({ conditions }) => holds(conditions, 'Accepted'));
    assert.equal(await second.end('SIGTERM'), 0);
  });

  test('is ready while the API server is away, and says what changed when it is back', async (t) => {
    const controller = await start(t);
    await stage.cluster.apply([gatewayClass('ours'), gateway('six', 'ours')].join('\n---\n'));
    await eventually('gateway', 'six', ({ conditions }) => holds(conditions, 'Accepted'));
    // It needs its certificate as well.
    await controller.ready();
    await stage.cluster.killApiServer();
    assert.equal(await controller.probe(), 200);
    await stage.cluster.startApiServer();
    await stage.cluster.apply(gateway('seven', 'ours'));
    await eventually('gateway', 'seven', ({ conditions }) => holds(conditions, 'Accepted'));
    await controller.end('SIGTERM');
  });

  test('starts while the API server is away, and is not ready before it knows everything', async (t) => {
    await stage.cluster.killApiServer();
    const controller = await start(t);
    assert.equal(await controller.probe(), 503);
    await stage.cluster.startApiServer();
    await controller.ready();
    assert.equal(await controller.probe(), 200);
    assert.equal(await controller.end('SIGINT'), 0);
  });
});

const gateway = (name: string, gatewayClassName: string): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'default' },
    spec: { gatewayClassName, listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  });

const service = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector: { app: name }, ports: [{ port: 8000 }] },
  });

const route = (name: string, parent: string, backend: string): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: 'default' },
    spec: { parentRefs: [{ name: parent }], rules: [{ backendRefs: [{ name: backend, port: 8000 }] }] },
  });
