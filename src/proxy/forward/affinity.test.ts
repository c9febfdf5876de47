import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { startApps, type App } from '../apps.testing.ts';
import { TestPlane, type RouteInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, post, status } from '../wire.testing.ts';

const affinity = { source: 'request.headers["x-key"]', loadFactor: 1.25 };
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];

const addresses = (apps: readonly App[]): { host: string; port: number }[] =>
  apps.map(({ host, port }) => ({ host, port }));

async function start(t: TestContext, route: RouteInShort): Promise<TestPlane> {
  const plane = await TestPlane.start({ routes: [route] });
  t.after(() => plane.close());
  return plane;
}

/** Tells which backend answers requests with each key. */
async function places(plane: TestPlane, keys: readonly string[]): Promise<Map<string, string>> {
  const client = await plane.client();
  const found = new Map<string, string>();
  for (const key of keys) found.set(key, (await client.ask(get('/', `x-key: ${key}`))).body.toString());
  client.close();
  return found;
}

const keys = Array.from({ length: 60 }, (_, i) => `user-${i}`);

test('requests with the same key go to the same address, in every process and order of the list', async (t) => {
  const apps = await startApps(t, ...HOSTS);
  const target = { host: 'app.test', port: 80, affinity };
  const plane = await start(t, { targets: [{ ...target, addresses: addresses(apps) }] });
  const first = await places(plane, keys);
  assert.equal(new Set(first.values()).size, 5, 'every address has some');
  assert.deepEqual(await places(plane, keys), first);
  const other = await start(t, { targets: [{ ...target, addresses: addresses(apps.toReversed()) }] });
  assert.deepEqual(await places(other, keys), first);
});

test('an address that goes moves its own keys alone, and gets them back', async (t) => {
  const apps = await startApps(t, ...HOSTS);
  const target = { host: 'app.test', port: 80, affinity };
  const plane = await start(t, { targets: [{ ...target, addresses: addresses(apps) }] });
  const before = await places(plane, keys);
  const [gone, ...left] = apps as [App, ...App[]];
  await plane.apply({ routes: [{ targets: [{ ...target, addresses: addresses(left) }] }] });
  const without = await places(plane, keys);
  for (const [key, place] of before) {
    if (place === gone.host) assert.notEqual(without.get(key), gone.host);
    else assert.equal(without.get(key), place, key);
  }
  await plane.apply({ routes: [{ targets: [{ ...target, addresses: addresses(apps) }] }] });
  assert.deepEqual(await places(plane, keys), before);
});

test('an address that cannot be connected to is replaced by the same one for all requests with a key', async (t) => {
  const apps = await startApps(t, ...HOSTS);
  const plane = await start(t, {
    targets: [{ host: 'app.test', port: 80, affinity, addresses: addresses(apps) }],
  });
  const [[key, home] = ['', '']] = [...(await places(plane, keys))];
  await apps.find(({ host }) => host === home)?.stop();
  const answer = await plane.ask(post('hello', `x-key: ${key}`));
  assert.equal(status(answer), 200);
  const next = answer.body.toString();
  assert.notEqual(next, home);
  for (let i = 0; i < 5; i++) assert.equal((await places(plane, [key])).get(key), next);
});

test('requests without a key go where there is least to do', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const plane = await start(t, {
    targets: [{ host: 'app.test', port: 80, affinity, addresses: addresses(apps) }],
  });
  const client = await plane.client();
  const seen = new Set<string>();
  for (let i = 0; i < 60; i++) seen.add((await client.ask(get())).body.toString());
  client.close();
  assert.equal(seen.size, 3);
});

test('an address that is much busier than the others is passed by', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const plane = await start(t, {
    targets: [{ host: 'app.test', port: 80, affinity, addresses: addresses(apps) }],
  });
  for (const app of apps) app.behave = () => undefined;
  const busy = (): number => apps.reduce((sum, app) => sum + app.busy, 0);
  for (let i = 0; i < 40; i++) {
    const client = await plane.client();
    client.send(get('/', 'x-key: popular'));
    await until(`request ${i} has arrived`, () => busy() === i + 1);
  }
  const most = Math.max(...apps.map((app) => app.busy));
  assert.ok(most >= 16 && most <= 18, `${most} of 40`);
  assert.equal(apps.filter((app) => app.busy > 0).length, 3);
});

test('with the same expression at all of them the key chooses among backends, too, by their weights', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2');
  const targets = apps.map((app) => ({ host: app.host, port: app.port, affinity }));
  const plane = await start(t, { targets, weights: [3, 1] });
  const first = await places(plane, keys);
  assert.deepEqual(await places(plane, keys), first);
  const counts = HOSTS.slice(0, 2).map((host) => [...first.values()].filter((at) => at === host).length);
  assert.ok((counts[0] ?? 0) > (counts[1] ?? 0) && (counts[1] ?? 0) > 0, String(counts));
  // More weight for the second takes keys from the first, and none from the second.
  await plane.apply({ routes: [{ targets, weights: [3, 3] }] });
  const after = await places(plane, keys);
  for (const [key, place] of first) if (place === '127.0.0.2') assert.equal(after.get(key), place);
  const client = await plane.client();
  const drawn = new Set<string>();
  for (let i = 0; i < 60; i++) drawn.add((await client.ask(get())).body.toString());
  client.close();
  assert.equal(drawn.size, 2, 'requests without a key are drawn by lot');
});

test('a new session goes to the address of its key, and stays there when the key changes', async (t) => {
  const apps = await startApps(t, ...HOSTS);
  const target = { host: 'app.test', port: 80, affinity, addresses: addresses(apps) };
  const plane = await start(t, {
    targets: [target],
    policies: { sessionPersistence: policySchemas.sessionPersistence.parse({}) },
  });
  const places = new Map<string, string>();
  for (const key of keys.slice(0, 10)) {
    const answer = await plane.ask(get('/', `x-key: ${key}`));
    places.set(key, answer.body.toString());
    const cookie = answer.lines.find(([name]) => name === 'set-cookie')?.[1].split(';')[0] ?? '';
    const other = await plane.ask(get('/', `x-key: other-${key}`, `cookie: ${cookie}`));
    assert.equal(other.body.toString(), answer.body.toString());
  }
  assert.ok(new Set(places.values()).size > 1);
});
