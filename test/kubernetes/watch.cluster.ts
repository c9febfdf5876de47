import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { pathOf } from '../../src/controller/api/resource.ts';
import { Relay } from '../support/relay.ts';
import { until } from '../../src/until.testing.ts';
import {
  clusterForSuite,
  configMap,
  configMaps,
  follow,
  needsCluster,
  quickPace,
  type Followed,
} from './cluster.testing.ts';

const selector = { fieldSelector: 'metadata.name!=kube-root-ca.crt', namespaces: ['default'] };

describe('a watch of a real API server', needsCluster, () => {
  const stage = clusterForSuite();

  const names = ({ informer }: Followed): string[] =>
    Array.from(informer.objects.list(), ({ metadata }) => metadata.name).toSorted();

  /** The earlier objects are gone. */
  const start = async (
    t: TestContext,
    options: Parameters<typeof follow>[2] = {},
    port?: number,
  ): Promise<Followed> => {
    const admin = await stage.connect();
    await admin.api.request({ method: 'DELETE', path: pathOf(configMaps, { namespace: 'default' }) });
    const followed = follow(await stage.connect(port === undefined ? {} : { port }), configMaps, {
      ...selector,
      ...options,
    });
    t.after(async () => await followed.informer.close());
    assert.equal(await followed.informer.synced, true);
    return followed;
  };

  test('tells what is added, changed and deleted', async (t) => {
    const { informer, changes } = await start(t);
    await stage.cluster.apply(configMap('a', '1'));
    await until('it is added', () => changes.length === 1);
    await stage.cluster.apply(configMap('a', '2'));
    await until('it is changed', () => changes.length === 2);
    const object = informer.objects.get('default', 'a');
    assert.deepEqual(object?.['data'], { data: '2' });
    assert.equal('managedFields' in (object?.metadata ?? {}), false);
    await stage.cluster.kubectl(['delete', 'configmap', 'a']);
    await until('it is deleted', () => changes.length === 3);
    assert.deepEqual(changes, ['added a', 'updated a', 'deleted a']);
    assert.equal(informer.objects.size, 0);
  });

  test('reads a list that needs many pages', async (t) => {
    const { changes: first } = await start(t);
    const list = Array.from({ length: 120 }, (_, n) => configMap(`m${String(n).padStart(3, '0')}`)).join(
      '\n---\n',
    );
    await stage.cluster.apply(list);
    await until('they are all there', () => first.length === 120);
    const second = follow(await stage.connect(), configMaps, { ...selector, pageSize: 7 });
    t.after(async () => await second.informer.close());
    await second.informer.synced;
    assert.equal(second.informer.objects.size, 120);
    assert.equal(
      second.lines.some(({ level }) => level === 'warn'),
      false,
    );
  });

  test('follows what a selector chooses, and lets go of what it chooses no more', async (t) => {
    const { changes, informer } = await start(t, { labelSelector: 'keep=yes' });
    await stage.cluster.apply(configMap('a'));
    await stage.cluster.kubectl(['label', 'configmap', 'a', 'keep=yes']);
    await until('it is chosen', () => changes.length === 1);
    await stage.cluster.kubectl(['label', 'configmap', 'a', 'keep-']);
    await until('it is chosen no more', () => changes.length === 2);
    assert.deepEqual(changes, ['added a', 'deleted a']);
    assert.equal(informer.objects.size, 0);
  });

  test('goes on when the API server was killed, with what it knew meanwhile', async (t) => {
    const followed = await start(t);
    const { changes, informer } = followed;
    await stage.cluster.apply(configMap('a'));
    await until('it is added', () => changes.length === 1);
    await stage.cluster.killApiServer();
    await until('it is noticed', () => informer.state === 'behind');
    assert.deepEqual(names(followed), ['a']);
    await stage.cluster.startApiServer();
    await stage.cluster.apply(configMap('b'));
    await until('the new one is there', () => informer.objects.size === 2);
    assert.deepEqual(changes, ['added a', 'added b']);
    await until('it is current', () => informer.state === 'current');
  });

  test('finds out what happened while its version was forgotten', async (t) => {
    const relay = new Relay(stage.cluster.port);
    await relay.mend();
    t.after(async () => await relay.cut());
    const followed = await start(t, {}, relay.port);
    const { changes, informer, lines } = followed;
    await stage.cluster.apply([configMap('a'), configMap('b')].join('\n---\n'));
    await until('they are added', () => changes.length === 2);
    await relay.cut();
    await until('it is noticed', () => informer.state === 'behind');
    await stage.cluster.kubectl(['delete', 'configmap', 'a']);
    await stage.cluster.apply([configMap('b', 'new'), configMap('c')].join('\n---\n'));
    // A new API server begins with what the store has now; versions before that are gone for good.
    await stage.cluster.killApiServer();
    await stage.cluster.compact();
    await stage.cluster.startApiServer();
    await relay.mend();
    await until('everything is listed again', () => changes.length === 5);
    assert.deepEqual(changes.slice(2), ['updated b', 'added c', 'deleted a']);
    assert.deepEqual(names(followed), ['b', 'c']);
    assert.ok(lines.some(({ message }) => message.includes('Watch expired')));
    await stage.cluster.apply(configMap('d'));
    await until('the watch goes on', () => informer.objects.size === 3);
  });

  test('finds a dead connection that nobody closed', async (t) => {
    const relay = new Relay(stage.cluster.port);
    await relay.mend();
    t.after(async () => await relay.cut());
    const { changes } = await start(t, { pace: { ...quickPace, silentMs: 1_000 } }, relay.port);
    await stage.cluster.apply(configMap('a'));
    await until('it is added', () => changes.length === 1);
    relay.freeze();
    await stage.cluster.apply(configMap('b'));
    await until('the new one is there', () => changes.length === 2);
    assert.deepEqual(changes, ['added a', 'added b']);
  });

  test('finds a kind that is installed later, and loses it when it is taken away', async (t) => {
    const widgets = {
      group: 'example.test',
      version: 'v1',
      plural: 'widgets',
      kind: 'Widget',
      namespaced: true,
    };
    const { informer, changes, lines } = follow(await stage.connect(), widgets);
    t.after(async () => await informer.close());
    assert.equal(await informer.synced, true);
    assert.equal(informer.state, 'missing');
    await stage.cluster.apply(widgetKind);
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd/widgets.example.test']);
    await until('it is followed', () => informer.state === 'current');
    await stage.cluster.apply(
      JSON.stringify({
        apiVersion: 'example.test/v1',
        kind: 'Widget',
        metadata: { name: 'w', namespace: 'default' },
      }),
    );
    await until('it is added', () => changes.length === 1);
    await stage.cluster.kubectl(['delete', 'crd', 'widgets.example.test']);
    await until('it is gone', () => informer.state === 'missing');
    assert.deepEqual(changes, ['added w', 'deleted w']);
    assert.equal(lines.filter(({ message }) => message.includes('not installed')).length, 2);
  });

  test('says so when it may not look', async (t) => {
    await stage.cluster.apply(
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'nobody', namespace: 'default' },
      }),
    );
    const token = (await stage.cluster.kubectl(['create', 'token', 'nobody'])).trim();
    const { informer, lines } = follow(await stage.connect({ token }), configMaps);
    t.after(async () => await informer.close());
    await until('it is denied', () => informer.state === 'denied');
    assert.equal(informer.isSynced, false);
    assert.ok(
      lines.some(({ level, fields }) => level === 'error' && String(fields['reason']).includes('forbidden')),
    );
    assert.doesNotMatch(JSON.stringify(lines), new RegExp(token.slice(-20)));
  });
});

const widgetKind = JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.test' },
  spec: {
    group: 'example.test',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});
