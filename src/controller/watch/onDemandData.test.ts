import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { until } from '../../until.testing.ts';
import { createMetrics } from '../../telemetry/index.ts';
import type { KubeObject } from '../api/object.ts';
import { event, page, scriptedServer, type Asked } from './apiServer.testing.ts';
import { OnDemandData } from './onDemandData.ts';
import { Informer } from './informer.ts';
import { trimMetadata } from './trim.ts';
import { WatchMetrics } from './watchMetrics.ts';

const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

const map = (namespace: string, name: string, bytes: number, version = 1): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, resourceVersion: String(version) },
  data: { 'jwks.json': 'x'.repeat(bytes) },
});

/** A cluster of ConfigMaps, and what is kept of them. */
async function start(
  t: TestContext,
  maps: object[],
  options: { budget?: number; fails?: () => boolean; delay?: (name: string) => Promise<void> } = {},
) {
  const server = await scriptedServer(t);
  const reads: string[] = [];
  let watching: ServerResponse | undefined;
  server.answers.list = [
    async (response, { path, query }: Asked) => {
      const name = /^metadata\.name=(.+)$/.exec(query.get('fieldSelector') ?? '')?.[1];
      if (name === undefined) return page(maps, 10)(response, undefined as never);
      reads.push(name);
      await options.delay?.(name);
      if (options.fails?.() === true) return void response.destroy();
      const found = maps.filter((one) => {
        const { metadata } = one as KubeObject;
        return metadata.name === name && path.includes(`/namespaces/${metadata.namespace}/`);
      });
      page(found, 10)(response, undefined as never);
    },
  ];
  server.answers.watch = [
    (response) => {
      response.writeHead(200);
      response.flushHeaders();
      watching = response;
    },
  ];
  const { log } = memoryLog();
  let changes = 0;
  const held = new OnDemandData({
    api: server.api,
    log,
    budget: options.budget ?? 1_000_000,
    onChange: () => changes++,
    retryMs: 5,
  });
  const informer = new Informer<KubeObject>({
    api: server.api,
    resource,
    trim: (object) => held.trimmed(trimMetadata(object)),
    log,
    metrics: new WatchMetrics(createMetrics({ process: false })),
  });
  held.follow({ resource, trim: trimMetadata, informer });
  t.after(async () => {
    held.close();
    await informer.close();
  });
  assert.equal(await informer.synced, true);
  await until('the watch is open', () => watching !== undefined);
  const bytesIn = (name: string): number | string => {
    const [namespace = '', own = ''] = name.split('/');
    const object = informer.objects.get(namespace, own);
    const text = (object?.['data'] as Record<string, string> | undefined)?.['jwks.json'];
    return text?.length ?? String(object?.['withheld']);
  };
  const want = (...names: string[]): void => held.want(new Map([['ConfigMap', new Set(names)]]));
  return {
    want,
    isStarting: () => held.isStarting,
    reads,
    bytesIn,
    changes: () => changes,
    tell: (type: string, object: object) => void watching?.write(event(type, object)),
  };
}

test('data is read on demand, and data without a reader is not kept', async (t) => {
  const maps = Array.from({ length: 400 }, (_, i) => map('ns', `m${i}`, 50_000));
  const { want, reads, bytesIn, changes } = await start(t, maps);
  for (let i = 0; i < 400; i++) assert.equal(bytesIn(`ns/m${i}`), 'unread');
  assert.deepEqual(reads, []);

  want('ns/m3', 'ns/m5', 'ns/missing');
  await until('both are read', () => changes() > 0);
  assert.deepEqual([bytesIn('ns/m3'), bytesIn('ns/m5'), bytesIn('ns/m4')], [50_000, 50_000, 'unread']);
  assert.deepEqual(
    reads.toSorted((a, b) => (a < b ? -1 : 1)),
    ['m3', 'm5'],
  );

  // Data that no translation asks for any more goes again.
  want('ns/m5');
  assert.deepEqual([bytesIn('ns/m3'), bytesIn('ns/m5')], ['unread', 50_000]);
});

test('changes of what is asked for are kept as they come, and of others only that they are there', async (t) => {
  const { want, bytesIn, changes, tell } = await start(t, [map('ns', 'a', 10), map('ns', 'b', 10)]);
  want('ns/a', 'ns/new');
  await until('it is read', () => changes() > 0);
  tell('MODIFIED', map('ns', 'a', 20, 11));
  tell('MODIFIED', map('ns', 'b', 20, 12));
  tell('ADDED', map('ns', 'new', 30, 13));
  await until('they are known', () => bytesIn('ns/new') === 30);
  assert.deepEqual([bytesIn('ns/a'), bytesIn('ns/b')], [20, 'unread']);
});

test('the data of each namespace stays within its own budget', async (t) => {
  const maps = ['a', 'b', 'c'].map((name) => map('greedy', name, 400)).concat(map('other', 'z', 900));
  const { want, bytesIn, changes, tell } = await start(t, maps, { budget: 1_000 });
  const names = ['greedy/c', 'greedy/b', 'greedy/a', 'other/z'];
  want(...names);
  await until(
    'what there is room for is read',
    () => bytesIn('other/z') === 900 && bytesIn('greedy/b') === 400,
  );
  assert.deepEqual(names.map(bytesIn), ['overBudget', 400, 400, 900]);

  const before = changes();
  tell('MODIFIED', map('greedy', 'a', 100, 11));
  await until('there is room', () => bytesIn('greedy/a') === 100);
  want(...names);
  await until('it is read', () => changes() > before && bytesIn('greedy/c') === 400);

  // An object that grows into the room of others takes it only by the order of names.
  tell('MODIFIED', map('greedy', 'a', 700, 12));
  await until('it has grown', () => bytesIn('greedy/a') === 700);
  want(...names);
  assert.deepEqual(names.map(bytesIn), ['overBudget', 'overBudget', 700, 900]);
});

test('the start waits for the data that is wanted first, and for nothing that is wanted later', async (t) => {
  const names = ['slow', 'quick', 'later', 'after'];
  const slow = Promise.withResolvers<void>();
  const later = Promise.withResolvers<void>();
  const waits = new Map([
    ['slow', slow.promise],
    ['later', later.promise],
  ]);
  const { want, isStarting, bytesIn, changes } = await start(
    t,
    names.map((name) => map('ns', name, 10)),
    { delay: async (name) => await waits.get(name) },
  );
  assert.equal(isStarting(), true);
  want('ns/slow', 'ns/quick');
  await until('one is read', () => bytesIn('ns/quick') === 10);
  want('ns/slow', 'ns/quick', 'ns/later');
  assert.equal(isStarting(), true);
  assert.equal(changes(), 0);
  slow.resolve();
  await until('the first data is here', () => changes() === 1);
  assert.equal(isStarting(), false);
  assert.equal(bytesIn('ns/later'), 'unread');
  want('ns/slow', 'ns/quick', 'ns/later', 'ns/after');
  assert.equal(isStarting(), false);
  later.resolve();
  await until('the rest is here', () => changes() > 1);
  assert.deepEqual(
    names.map((name) => bytesIn(`ns/${name}`)),
    [10, 10, 10, 10],
  );
});

test('the start does not wait for data that is wanted no more', async (t) => {
  const never = Promise.withResolvers<void>();
  t.after(() => never.resolve());
  const { want, isStarting } = await start(t, [map('ns', 'a', 10)], {
    delay: async () => await never.promise,
  });
  want('ns/a');
  assert.equal(isStarting(), true);
  want();
  assert.equal(isStarting(), false);
});

test('an unreadable object delays the translation briefly and is retried', async (t) => {
  let away = true;
  const { want, isStarting, bytesIn, changes } = await start(t, [map('ns', 'a', 10)], { fails: () => away });
  want('ns/a');
  await until('it is known that it cannot be read', () => changes() > 0);
  assert.equal(isStarting(), false);
  assert.equal(bytesIn('ns/a'), 'unread');
  away = false;
  await until('it is read', () => bytesIn('ns/a') === 10);
});
