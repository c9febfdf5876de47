import assert from 'node:assert/strict';
import { before, describe, test, type TestContext } from 'node:test';
import { memoryLog } from '../../src/auth/log.testing.ts';
import type { KubeObject } from '../../src/controller/api/object.ts';
import type { Resource } from '../../src/controller/api/resource.ts';
import { services } from '../../src/controller/serve/serviceAddress.ts';
import type { StatusUpdate } from '../../src/controller/translate/contract.ts';
import type { Informer } from '../../src/controller/watch/informer.ts';
import { managedBySelector, Provisioner } from '../../src/controller/write/provisioner.ts';
import { StatusWriter } from '../../src/controller/write/statusWriter.ts';
import { clusterForSuite, configMaps, follow, needsCluster, type Connection } from './cluster.testing.ts';
import { until } from '../../src/until.testing.ts';

const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
/** Stands for a Gateway: a kind of its own with a status. */
const gateways: Resource = {
  group: 'example.test',
  version: 'v1',
  plural: 'gateways',
  kind: 'Gateway',
  namespaced: true,
};

describe('writing to a real API server', needsCluster, () => {
  const stage = clusterForSuite({ controllers: true });

  before(async () => {
    await stage.cluster.apply(gatewayKind);
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd/gateways.example.test']);
  });

  const get = async (kind: string, name: string): Promise<KubeObject | undefined> => {
    const text = await stage.cluster.kubectl([
      'get',
      kind,
      name,
      '--ignore-not-found',
      '-o',
      'json',
      '--show-managed-fields',
    ]);
    return text === '' ? undefined : (JSON.parse(text) as KubeObject);
  };

  const makeOwner = async (name: string): Promise<KubeObject> => {
    await stage.cluster.apply(
      JSON.stringify({
        apiVersion: 'example.test/v1',
        kind: 'Gateway',
        metadata: { name, namespace: 'default', labels: { mine: 'yes' } },
        spec: { port: 80 },
      }),
    );
    const owner = await get('gateways.example.test', name);
    assert.ok(owner !== undefined);
    return owner;
  };

  interface Bench {
    readonly connection: Connection;
    readonly provisioner: Provisioner;
    readonly informers: readonly Informer<KubeObject>[];
    leads: boolean;
    /** Waits until the stores have seen what is provisioned. */
    settled(present: readonly string[]): Promise<void>;
    applied(): Promise<number>;
  }

  const provision = async (t: TestContext): Promise<Bench> => {
    const connection = await stage.connect();
    const informers = [configMaps, services, deployments].map(
      (resource) => follow(connection, resource, { labelSelector: managedBySelector }).informer,
    );
    t.after(async () => void (await Promise.all(informers.map(async (informer) => await informer.close()))));
    await Promise.all(informers.map(({ synced }) => synced));
    const bench: Bench = {
      connection,
      informers,
      leads: true,
      provisioner: new Provisioner({
        api: connection.api,
        kinds: informers.map(({ resource, objects }) => ({ resource, objects })),
        mayWrite: () => bench.leads,
        log: memoryLog().log,
        metrics: connection.metrics,
      }),
      settled: async (present) => {
        await until(`the stores hold ${present.join(', ')}`, () =>
          present.every((key) => {
            const [kind, name = ''] = key.split('/');
            const informer = informers.find(({ resource }) => resource.kind === kind);
            return informer?.objects.get('default', name) !== undefined;
          }),
        );
      },
      applied: async () => {
        const text = await connection.metrics.expose();
        return [...text.matchAll(/kube_provision_writes_total\{kind="\w+",result="applied"\} (\d+)/g)].reduce(
          (sum, [, count]) => sum + Number(count),
          0,
        );
      },
    };
    return bench;
  };

  test('applies what is wanted as its own, and leaves the fields of others alone', async (t) => {
    const { provisioner, settled, applied } = await provision(t);
    const owner = await makeOwner('one');
    const wanted = [config('one', { a: '1', b: '2' }), service('one'), deployment('one', 1)];
    assert.deepEqual(await provisioner.reconcile(owner, wanted), []);
    const made = await get('configmap', 'one');
    assert.deepEqual(made?.metadata.ownerReferences, [
      {
        apiVersion: 'example.test/v1',
        kind: 'Gateway',
        name: 'one',
        uid: owner.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.deepEqual(
      (made?.metadata as { managedFields?: { manager: string; operation: string }[] }).managedFields?.map(
        ({ manager, operation }) => `${manager} ${operation}`,
      ),
      ['portcullis Apply'],
    );
    await settled(['ConfigMap/one', 'Service/one', 'Deployment/one']);

    // Another writer adds a field; we give one up.
    await stage.cluster.kubectl([
      'patch',
      'configmap',
      'one',
      '--type=merge',
      '-p',
      '{"data":{"theirs":"x"}}',
    ]);
    await provisioner.reconcile(owner, [config('one', { a: '1' }), ...wanted.slice(1)]);
    assert.deepEqual((await get('configmap', 'one'))?.['data'], { a: '1', theirs: 'x' });
    assert.equal(await applied(), 4);
  });

  test('writes nothing while nothing is to be changed, and puts back what somebody changed', async (t) => {
    const { provisioner, settled, applied, informers } = await provision(t);
    const owner = await makeOwner('two');
    const wanted = [config('two', { a: '1' }), service('two'), deployment('two', 1)];
    await provisioner.reconcile(owner, wanted);
    await settled(['ConfigMap/two', 'Service/two', 'Deployment/two']);
    await provisioner.reconcile(owner, wanted);
    await provisioner.reconcile(owner, wanted);
    assert.equal(await applied(), 3);
    await stage.cluster.kubectl(['scale', 'deployment', 'two', '--replicas=5']);
    await until('the change is seen', () => replicasOf(informers[2]?.objects.get('default', 'two')) === 5);
    await provisioner.reconcile(owner, wanted);
    assert.equal(replicasOf(await get('deployment', 'two')), 1);
    assert.equal(await applied(), 4);
  });

  test('deletes what is not wanted any more, and nothing that belongs to another', async (t) => {
    const { provisioner, settled } = await provision(t);
    const owner = await makeOwner('three');
    const neighbour = await makeOwner('four');
    await provisioner.reconcile(owner, [config('three', {}), service('three')]);
    await provisioner.reconcile(neighbour, [config('four', {})]);
    await settled(['ConfigMap/three', 'Service/three', 'ConfigMap/four']);
    await provisioner.reconcile(owner, [config('three', {})]);
    assert.equal(await get('service', 'three'), undefined);
    assert.ok((await get('configmap', 'three')) !== undefined);
    await provisioner.reconcile(owner, []);
    assert.equal(await get('configmap', 'three'), undefined);
    assert.ok((await get('configmap', 'four')) !== undefined);
  });

  test('leaves an object of the same name alone that is not its own', async (t) => {
    const { provisioner } = await provision(t);
    const owner = await makeOwner('five');
    await stage.cluster.apply(JSON.stringify(config('five', { theirs: 'x' })));
    assert.deepEqual(await provisioner.reconcile(owner, [config('five', { ours: 'y' })]), [
      { object: 'ConfigMap default/five', message: 'an object of this name belongs to another' },
    ]);
    assert.deepEqual((await get('configmap', 'five'))?.['data'], { theirs: 'x' });
  });

  test('says why an object is refused, and applies the others', async (t) => {
    const { provisioner } = await provision(t);
    const owner = await makeOwner('six');
    const wrong = { ...service('six'), spec: { ports: [{ port: 99_999 }] } };
    const problems = await provisioner.reconcile(owner, [wrong, config('six', {})]);
    assert.equal(problems.length, 1);
    assert.match(problems[0]?.message ?? '', /99999/);
    assert.ok((await get('configmap', 'six')) !== undefined);
  });

  test('writes nothing when it does not lead', async (t) => {
    const bench = await provision(t);
    bench.leads = false;
    const owner = await makeOwner('seven');
    await bench.provisioner.reconcile(owner, [config('seven', {})]);
    assert.equal(await get('configmap', 'seven'), undefined);
  });

  const write = (
    t: TestContext,
    { api, metrics }: Connection,
    stale: string[] = [],
  ): { writer: StatusWriter; role: { leads: boolean } } => {
    const role = { leads: true };
    const writer = new StatusWriter({
      api,
      resourceOf: (kind) => (kind === 'Gateway' ? gateways : undefined),
      mayWrite: () => role.leads,
      onStale: () => void stale.push('stale'),
      log: memoryLog().log,
      metrics,
    });
    t.after(async () => await writer.close());
    return { writer, role };
  };

  const update = (object: KubeObject, status: object, changed = true): StatusUpdate => {
    const { namespace, name, resourceVersion } = object.metadata;
    return {
      kind: 'Gateway',
      name,
      status,
      changed,
      ...(namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
  };

  test('a status replaces the old one and touches nothing else', async (t) => {
    const { writer } = write(t, await stage.connect());
    const made = await makeOwner('s1');
    writer.submit([update(made, { a: 1, list: [{ type: 'x' }] })]);
    await writer.idle();
    const first = await get('gateways.example.test', 's1');
    assert.deepEqual(first?.['status'], { a: 1, list: [{ type: 'x' }] });
    assert.deepEqual(first?.['spec'], { port: 80 });
    assert.deepEqual(first?.metadata.labels, { mine: 'yes' });
    assert.equal(first?.metadata.generation, made.metadata.generation);
    writer.submit([update(first, { b: 2 })]);
    await writer.idle();
    assert.deepEqual((await get('gateways.example.test', 's1'))?.['status'], { b: 2 });
  });

  test('a status made from an old version is not written, and is asked for again', async (t) => {
    const stale: string[] = [];
    const { writer } = write(t, await stage.connect(), stale);
    const old = await makeOwner('s2');
    await stage.cluster.kubectl(['label', 'gateways.example.test', 's2', 'other=x']);
    writer.submit([update(old, { a: 1 })]);
    await writer.idle();
    assert.deepEqual(stale, ['stale']);
    assert.equal((await get('gateways.example.test', 's2'))?.['status'], undefined);
  });

  test('a status is not written twice while its result is pending', async (t) => {
    const connection = await stage.connect();
    const { writer } = write(t, connection);
    const made = await makeOwner('s3');
    for (let n = 0; n < 3; n++) {
      writer.submit([update(made, { a: 1 })]);
      await writer.idle();
    }
    writer.submit([update(made, { a: 1 }, false)]);
    await writer.idle();
    assert.match(await connection.metrics.expose(), /kube_api_requests_total\{method="PUT",code="200"\} 1\n/);
  });

  test('the echo of a write is known as such, and nothing else is', async (t) => {
    const connection = await stage.connect();
    const { writer } = write(t, connection);
    const made = await makeOwner('s7');
    const { informer } = follow(connection, gateways);
    t.after(async () => await informer.close());
    await informer.synced;
    const echoes: boolean[] = [];
    informer.objects.onChange((changes) => {
      for (const change of changes)
        if (change.object.metadata.name === 's7') echoes.push(writer.isEcho(change));
    });
    writer.submit([update(made, { a: 1 })]);
    await until('the write is seen', () => echoes.length === 1);
    await stage.cluster.kubectl(['label', 'gateways.example.test', 's7', 'other=x']);
    await until('the label is seen', () => echoes.length === 2);
    await stage.cluster.kubectl([
      ...['patch', 'gateways.example.test', 's7', '--subresource=status', '--type=merge'],
      ...['-p', '{"status":{"a":2}}'],
    ]);
    await until('the other status is seen', () => echoes.length === 3);
    assert.deepEqual(echoes, [true, false, false]);
  });

  test('an object that is gone is no failure', async (t) => {
    const connection = await stage.connect();
    const { writer } = write(t, connection);
    const made = await makeOwner('s4');
    await stage.cluster.kubectl(['delete', 'gateways.example.test', 's4']);
    writer.submit([update(made, { a: 1 })]);
    await writer.idle();
    assert.match(
      await connection.metrics.expose(),
      /kube_status_writes_total\{kind="Gateway",result="gone"\} 1/,
    );
  });

  test('only the leader writes statuses', async (t) => {
    const connection = await stage.connect();
    const { writer, role } = write(t, connection);
    const made = await makeOwner('s6');
    role.leads = false;
    writer.submit([update(made, { a: 1 })]);
    await writer.idle();
    assert.doesNotMatch(await connection.metrics.expose(), /method="PUT"/);
  });

  // The cluster's garbage collector looks for new kinds twice a minute only.
  test('objects of an owner are deleted with it', async (t) => {
    const { provisioner, settled, informers } = await provision(t);
    const owner = await makeOwner('eight');
    await provisioner.reconcile(owner, [config('eight', {})]);
    await settled(['ConfigMap/eight']);
    await stage.cluster.kubectl(['delete', 'gateways.example.test', 'eight']);
    await until('it is gone', () => informers[0]?.objects.get('default', 'eight') === undefined);
  });

  test('a status waits for the API server and is written when it is back', async (t) => {
    const connection = await stage.connect();
    const { writer } = write(t, connection);
    const made = await makeOwner('s5');
    await stage.cluster.killApiServer();
    writer.submit([update(made, { a: 1 })]);
    await stage.cluster.startApiServer();
    await writer.idle();
    assert.deepEqual((await get('gateways.example.test', 's5'))?.['status'], { a: 1 });
  });
});

const replicasOf = (object: KubeObject | undefined): unknown =>
  (object?.['spec'] as { readonly replicas?: number } | undefined)?.replicas;

const config = (name: string, data: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});

const service = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'default' },
  spec: { selector: { app: name }, ports: [{ name: 'http', port: 80 }] },
});

const deployment = (name: string, replicas: number): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'proxy', image: 'none' }] },
    },
  },
});

const gatewayKind = JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gateways.example.test' },
  spec: {
    group: 'example.test',
    scope: 'Namespaced',
    names: { plural: 'gateways', singular: 'gateway', kind: 'Gateway', listKind: 'GatewayList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
});
