import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { memoryLog, type Line } from '../../auth/log.testing.ts';
import { until } from '../../until.testing.ts';
import { createMetrics, type Metrics } from '../../telemetry/index.ts';
import type { KubeObject } from '../api/object.ts';
import { ManualClock } from '../../stream/clock.testing.ts';
import {
  configMap,
  event,
  page,
  refusal,
  scriptedServer,
  watch,
  type ScriptedServer,
} from './apiServer.testing.ts';
import { Informer, type InformerOptions } from './informer.ts';
import { ListWatch, type WatchPace } from './listWatch.ts';
import { Store } from './store.ts';
import { trimMetadata } from './trim.ts';
import { WatchMetrics } from './watchMetrics.ts';

const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const quick: WatchPace = {
  backoff: { firstMs: 1, maxMs: 5 },
  watchMs: 60_000,
  silentMs: 60_000,
  absentMs: 1,
};

interface Followed {
  readonly informer: Informer<KubeObject>;
  readonly changes: string[];
  readonly lines: Line[];
  readonly metrics: Metrics;
}

function follow(
  t: TestContext,
  { api }: ScriptedServer,
  options: Partial<InformerOptions<KubeObject>> = {},
): Followed {
  const { log, lines } = memoryLog();
  const metrics = createMetrics({ process: false });
  const informer = new Informer({
    api,
    resource,
    trim: trimMetadata,
    log,
    metrics: new WatchMetrics(metrics),
    pace: quick,
    ...options,
  });
  t.after(async () => await informer.close());
  const changes: string[] = [];
  informer.objects.onChange((batch) => {
    for (const { type, object } of batch)
      changes.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion ?? ''}`);
  });
  return { informer, changes, lines, metrics };
}

const watches = ({ asked }: ScriptedServer): URLSearchParams[] =>
  asked.map(({ query }) => query).filter((query) => query.has('watch'));

test('a list comes in pages, then a watch goes on where it ended', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([configMap('a', 1)], 10, 'more'), page([configMap('b', 2)], 10)];
  server.answers.watch = [watch(event('ADDED', configMap('c', 11)) + event('DELETED', configMap('a', 12)))];
  const { informer, changes } = follow(t, server);
  assert.equal(await informer.synced, true);
  await until('the watch was heard', () => changes.length === 4);
  assert.deepEqual(changes, ['added a 1', 'added b 2', 'added c 11', 'deleted a 1']);
  assert.equal(server.asked[1]?.query.get('continue'), 'more');
  assert.equal(watches(server)[0]?.get('resourceVersion'), '10');
  assert.equal(watches(server)[0]?.get('allowWatchBookmarks'), 'true');
  assert.equal(informer.objects.get('default', 'b')?.metadata.name, 'b');
  assert.equal(informer.objects.get('default', 'a'), undefined);
  assert.equal(informer.state, 'current');
});

test('trimmed objects keep their identity and lose unread fields', async (t) => {
  const server = await scriptedServer(t);
  const { metadata, data } = configMap('a', 1) as Record<string, unknown>;
  server.answers.list = [page([{ metadata, data }], 1)];
  server.answers.watch = [watch('')];
  const { informer } = follow(t, server);
  await informer.synced;
  const object = informer.objects.get('default', 'a');
  assert.deepEqual(object, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a', namespace: 'default', resourceVersion: '1' },
    data: { version: '1' },
  });
});

test('a watch that ends is resumed from the last bookmark, without a list', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([], 10)];
  const bookmark = event('BOOKMARK', { metadata: { resourceVersion: '40' } });
  server.answers.watch = [watch(bookmark, true), watch('')];
  const { informer } = follow(t, server);
  await informer.synced;
  await until('the watch was resumed', () => watches(server).length === 2);
  assert.equal(watches(server)[1]?.get('resourceVersion'), '40');
  assert.equal(server.asked.length, 3);
});

test('a connection that is cut inside a line is resumed from the last whole event', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([], 10)];
  server.answers.watch = [
    (response) => {
      response.writeHead(200);
      response.write(`${event('ADDED', configMap('a', 11))}{"type":"ADDED","obj`, () => response.destroy());
    },
    watch(event('ADDED', configMap('b', 12))),
  ];
  const { changes } = follow(t, server);
  await until('both are there', () => changes.length === 2);
  assert.deepEqual(changes, ['added a 11', 'added b 12']);
  assert.equal(watches(server)[1]?.get('resourceVersion'), '11');
});

for (const [what, line] of [
  ['is not JSON', 'nonsense\n'],
  ['has an unknown type', event('INVENTED', configMap('x', 11))],
  ['has no name', event('ADDED', { metadata: { resourceVersion: '11', namespace: 'default' } })],
  ['has no namespace', event('ADDED', { metadata: { resourceVersion: '11', name: 'x' } })],
  ['has no version', event('ADDED', { metadata: { name: 'x', namespace: 'default' } })],
  ['is longer than allowed', event('ADDED', { ...configMap('x', 11), data: { much: 'x'.repeat(20 << 20) } })],
] as const)
  test(`an event that ${what} is an error, and the third one triggers a new list`, async (t) => {
    const server = await scriptedServer(t);
    server.answers.list = [page([], 10), page([configMap('x', 11)], 12)];
    server.answers.watch = [watch(line), watch(line), watch(line), watch('')];
    const { changes, lines, metrics } = follow(t, server);
    await until('it is listed', () => changes.length === 1);
    await until('the watch goes on', () => watches(server).length === 4);
    assert.deepEqual(changes, ['added x 11']);
    assert.deepEqual(
      watches(server).map((query) => query.get('resourceVersion')),
      ['10', '10', '10', '12'],
    );
    assert.equal(lines.filter(({ level }) => level === 'error').length, 3);
    const text = await metrics.expose();
    assert.match(text, /kube_lists_total\{resource="configmaps",reason="unreadable"\} 1/);
    assert.match(text, /kube_watch_restarts_total\{resource="configmaps",cause="unreadable"\} 3/);
  });

test('the content of an unreadable line is not logged', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([], 10)];
  server.answers.watch = [watch('{"data": "c2VjcmV0"\n')];
  const { lines } = follow(t, server);
  await until('it is logged', () => lines.some(({ level }) => level === 'error'));
  assert.doesNotMatch(JSON.stringify(lines), /c2VjcmV0/);
});

test('a watch on which nothing is heard is begun again', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([], 10)];
  server.answers.watch = [watch('')];
  const { metrics, informer } = follow(t, server, { pace: { ...quick, silentMs: 20 } });
  await until('it was begun again', () => watches(server).length >= 3);
  assert.match(
    await metrics.expose(),
    /kube_watch_restarts_total\{resource="configmaps",cause="silent"\} \d/,
  );
  assert.equal(informer.state, 'current');
});

test('a server that never answers a watch is asked again', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([], 10)];
  server.answers.watch = [(response) => void response.destroy(), watch(event('ADDED', configMap('a', 11)))];
  const { changes } = follow(t, server);
  await until('the event is there', () => changes.length === 1);
});

for (const [where, gone] of [
  [
    'in the watch',
    watch(event('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' })),
  ],
  ['instead of a watch', refusal(410, 'Expired')],
] as const)
  test(`a version that is forgotten (said ${where}) leads to a list that tells what is gone`, async (t) => {
    const server = await scriptedServer(t);
    server.answers.list = [
      page([configMap('a', 1), configMap('b', 2)], 10),
      page([configMap('b', 2), configMap('c', 30)], 40),
    ];
    server.answers.watch = [gone, watch('')];
    const { changes, metrics } = follow(t, server);
    await until('the second list was taken', () => watches(server).length === 2);
    assert.deepEqual(changes, ['added a 1', 'added b 2', 'added c 30', 'deleted a 1']);
    assert.match(await metrics.expose(), /kube_lists_total\{resource="configmaps",reason="expired"\} 1/);
  });

test('a list that expires between its pages is asked for in one piece', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [
    page([configMap('a', 1)], 10, 'more'),
    refusal(410, 'Expired'),
    page([configMap('a', 1), configMap('b', 20)], 20),
  ];
  server.answers.watch = [watch('')];
  const { informer, changes } = follow(t, server);
  await informer.synced;
  assert.equal(server.asked[2]?.query.has('limit'), false);
  assert.deepEqual(changes, ['added a 1', 'added b 20']);
});

test('a kind that is not installed has no objects, and is found when it is', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [refusal(404, 'NotFound'), refusal(404, 'NotFound'), page([configMap('a', 1)], 1)];
  server.answers.watch = [watch('')];
  const { informer, changes, lines, metrics } = follow(t, server);
  assert.equal(await informer.synced, true);
  await until('it is found', () => changes.length === 1);
  assert.equal(lines.filter(({ level }) => level === 'warn').length, 1);
  await until('it follows', () => informer.state === 'current');
  assert.match(await metrics.expose(), /kube_watch_state\{resource="configmaps",state="current"\} 1/);
});

test('a kind that is taken away takes its objects with it', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([configMap('a', 1)], 1), refusal(404, 'NotFound')];
  server.answers.watch = [refusal(404, 'NotFound')];
  const { informer, changes } = follow(t, server);
  await until('they are gone', () => changes.length === 2);
  assert.deepEqual(changes, ['added a 1', 'deleted a 1']);
  assert.equal(informer.state, 'missing');
});

test('a right that is taken away takes nothing away that is known', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([configMap('a', 1)], 1)];
  server.answers.watch = [watch('', true), refusal(403, 'Forbidden')];
  const { informer } = follow(t, server);
  await until('we are denied', () => informer.state === 'denied');
  assert.equal(informer.objects.size, 1);
});

test('a kind that we may not see from the start is not known', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [refusal(403, 'Forbidden')];
  const { informer, lines } = follow(t, server);
  await until('it was asked for twice', () => server.asked.length >= 2);
  assert.equal(informer.isSynced, false);
  assert.equal(lines.filter(({ level }) => level === 'error').length, 1);
  await informer.close();
  assert.equal(await informer.synced, false);
});

test('each namespace of a restriction is followed by itself', async (t) => {
  const server = await scriptedServer(t);
  const answer = (name: string): ReturnType<typeof page> => page([configMap('a', 1, name)], 1);
  server.answers.list = [
    (response, asked) => answer(asked.path.includes('/one/') ? 'one' : 'two')(response, asked),
  ];
  server.answers.watch = [watch('')];
  const { informer } = follow(t, server, { namespaces: ['one', 'two'], labelSelector: 'app=x' });
  await informer.synced;
  assert.deepEqual(
    [...informer.objects.list()].map(({ metadata }) => metadata.namespace),
    ['one', 'two'],
  );
  assert.ok(server.asked.every(({ query }) => query.get('labelSelector') === 'app=x'));
  assert.deepEqual(
    new Set(server.asked.map(({ path }) => path)),
    new Set(['/api/v1/namespaces/one/configmaps', '/api/v1/namespaces/two/configmaps']),
  );
});

test('a listener that throws does not end the watch', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [page([configMap('a', 1)], 1)];
  server.answers.watch = [watch(event('ADDED', configMap('b', 2)))];
  const { informer, changes, lines } = follow(t, server);
  informer.objects.onChange(() => {
    throw new Error('broken');
  });
  await until('both are told', () => changes.length === 2);
  assert.equal(lines.filter(({ message }) => message === 'Change handler failed').length, 2);
});

test('the end does not wait for a server that does not answer', async (t) => {
  const server = await scriptedServer(t);
  server.answers.list = [() => {}];
  const { informer } = follow(t, server);
  await until('it was asked', () => server.asked.length === 1);
  await informer.close();
  assert.equal(await informer.synced, false);
});

/** A watch on a clock that stands. */
async function withClock(
  t: TestContext,
): Promise<{ server: ScriptedServer; clock: ManualClock; lines: Line[] }> {
  const server = await scriptedServer(t);
  const clock = new ManualClock();
  const { log, lines } = memoryLog();
  const metrics = new WatchMetrics(createMetrics({ process: false }));
  server.answers.list = [page([], 10)];
  const { api } = server;
  const store = new Store<KubeObject>(() => {});
  const listWatch = new ListWatch({
    api,
    resource,
    trim: trimMetadata,
    store,
    log,
    metrics: metrics.follow('configmaps', () => ({ resource: '', objects: 0, state: 'current' })).metrics,
    onState: () => {},
    clock,
    random: () => 1,
    pace: { ...quick, backoff: { firstMs: 100, maxMs: 1_000 } },
  });
  t.after(async () => await listWatch.close());
  return { server, clock, lines };
}

test('a server that ends every watch at once is not asked in a tight circle', async (t) => {
  const { server, clock } = await withClock(t);
  server.answers.watch = [watch('', true)];
  for (const [asked, pauseMs] of [
    [1, 100],
    [2, 200],
    [3, 400],
  ] as const) {
    await until('the watch has ended', () => watches(server).length === asked && clock.waiting === 1);
    await clock.advance(pauseMs - 1);
    assert.equal(watches(server).length, asked);
    await clock.advance(1);
  }
});

test('a server that asks for patience gets it', async (t) => {
  const { server, clock, lines } = await withClock(t);
  server.answers.watch = [refusal(429, 'TooManyRequests', { 'retry-after': '5' }), watch('')];
  await until('it was said', () => lines.some(({ fields }) => fields['pauseMs'] === 5_000));
  await until('it waits', () => clock.waiting === 1);
  await clock.advance(4_999);
  assert.equal(watches(server).length, 1);
  await clock.advance(1);
  await until('it asks again', () => watches(server).length === 2);
});
