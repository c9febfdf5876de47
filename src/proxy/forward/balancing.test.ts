import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import type { LookupTools, Target } from '../../upstream/index.ts';
import { startApp, startApps, type App } from '../apps.testing.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { freePorts } from '../ports.testing.ts';
import { until } from '../../until.testing.ts';
import { get, post, status } from '../wire.testing.ts';

/** Names and their addresses, as a test changes them. */
class Names implements LookupTools {
  readonly everyMs = 5;
  looks = 0;
  private answer: readonly string[] | Error;

  constructor(...addresses: string[]) {
    this.answer = addresses;
  }

  async lookup(): Promise<{ address: string; family: number }[]> {
    this.looks++;
    await Promise.resolve();
    if (this.answer instanceof Error) throw this.answer;
    return this.answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  }

  /** Waits until the change has been seen. */
  async become(answer: readonly string[] | Error): Promise<void> {
    this.answer = answer;
    const { looks } = this;
    await until('the name was looked up twice', () => this.looks > looks + 1);
  }
}

async function plane(
  t: TestContext,
  target: Target,
  more: ModelInShort & { lookup?: LookupTools; policies?: Record<string, unknown> } = {},
): Promise<TestPlane> {
  const { lookup, policies, ...model } = more;
  const route = { targets: [target], ...(policies && { policies }) };
  const gateway = await TestPlane.start({ ...model, routes: [route] }, lookup);
  t.after(() => gateway.close());
  return gateway;
}

/** Tells which backends answered `count` requests, one after the other. */
async function answers(gateway: TestPlane, count: number, text = get()): Promise<string[]> {
  const client = await gateway.client();
  const bodies: string[] = [];
  for (let i = 0; i < count; i++) {
    const answer = await client.ask(text);
    bodies.push(`${status(answer) === 200 ? '' : `${status(answer)} `}${answer.body.toString().trim()}`);
  }
  client.close();
  return bodies;
}

const ready = (gateway: TestPlane): string[] =>
  [...gateway.plane.endpoints.destinations()].flatMap((of) =>
    [...of.endpoints()].filter((at) => of.isReady(at)).map(({ host }) => host),
  );

const addressesOf = (apps: readonly App[]): { host: string; port: number }[] =>
  apps.map(({ host, port }) => ({ host, port }));

const listed = (apps: readonly App[]): Target => ({
  host: 'app.test',
  port: 80,
  addresses: addressesOf(apps),
});

test('requests go to every address of a backend', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const gateway = await plane(t, listed(apps));
  const seen = new Set(await answers(gateway, 60));
  assert.deepEqual([...seen].sort(), ['127.0.0.1', '127.0.0.2', '127.0.0.3']);
});

test('an address that is busy gets fewer requests', async (t) => {
  const [slow, fast] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  slow.behave = () => undefined;
  const gateway = await plane(t, listed([slow, fast]));
  // Until one request hangs at the slow one; then the other is less busy at any time.
  while (slow.busy === 0) {
    const client = await gateway.client();
    client.send(get());
    await until('a request arrived', () => slow.busy > 0 || client.text.includes('127.0.0.2'));
  }
  assert.deepEqual(new Set(await answers(gateway, 30)), new Set(['127.0.0.2']));
  assert.equal(slow.requests, 1);
});

test('a name is served at all its addresses, and follows them as they change', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const names = new Names('127.0.0.1', '127.0.0.2');
  const gateway = await plane(t, { host: 'app.test', port: apps[0]?.port ?? 0 }, { lookup: names });
  await until('both are known', () => ready(gateway).length === 2);
  assert.deepEqual([...new Set(await answers(gateway, 40))].sort(), ['127.0.0.1', '127.0.0.2']);
  assert.equal(gateway.access[0]?.backend, `app.test:${apps[0]?.port}`);

  await names.become(['127.0.0.3']);
  assert.deepEqual(new Set(await answers(gateway, 10)), new Set(['127.0.0.3']));

  await names.become(new Error('ENOTFOUND'));
  assert.deepEqual(new Set(await answers(gateway, 10)), new Set(['127.0.0.3']));
  assert.equal(gateway.log.filter(({ message }) => message.includes('could not be resolved')).length, 1);
  await names.become(['127.0.0.1']);
  assert.deepEqual(new Set(await answers(gateway, 10)), new Set(['127.0.0.1']));
});

test('a request under way at an address that is gone comes to its end', async (t) => {
  const [old, next] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  let finish = (): void => undefined;
  old.behave = (_request, response) => {
    response.write('begun, ');
    finish = () => void response.end('ended');
  };
  const names = new Names('127.0.0.1');
  const gateway = await plane(t, { host: 'app.test', port: old.port }, { lookup: names });
  await until('the address is known', () => ready(gateway).join() === '127.0.0.1');
  const client = await gateway.client();
  const answer = client.ask(get());
  await until('the request arrived', () => old.busy === 1);
  await names.become(['127.0.0.2']);
  assert.deepEqual(
    await answers(gateway, 5),
    Array.from({ length: 5 }, () => next.host),
  );
  finish();
  assert.equal((await answer).body.toString(), 'begun, ended');
  await until('its connection is closed', () => gateway.upstreamConnections === 1);
});

test('addresses of IPv6 are used when those of IPv4 do not work', async (t) => {
  const six = await startApp(t, '::1');
  const names = new Names('::1', '127.0.0.1');
  const gateway = await plane(t, { host: 'app.test', port: six.port }, { lookup: names });
  await until('it prefers IPv4', () => ready(gateway).join() === '127.0.0.1');
  assert.deepEqual(new Set(await answers(gateway, 5)), new Set(['::1']));
  const only = await plane(
    t,
    { host: 'app.test', port: six.port },
    { lookup: names, upstream: { lookupFamily: 'V4Only' } },
  );
  await until('the addresses are known', () => ready(only).join() === '127.0.0.1');
  assert.match((await answers(only, 1)).join(), /^503/);
});

test('addresses of the own zone are preferred while one of them works', async (t) => {
  const [near, far] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const addresses = [
    { host: near.host, port: near.port, zone: 'a' },
    { host: far.host, port: far.port, zone: 'b' },
  ];
  const gateway = await plane(t, { host: 'app.test', port: 80, addresses }, { upstream: { zone: 'a' } });
  assert.deepEqual(new Set(await answers(gateway, 20)), new Set(['127.0.0.1']));
  await near.stop();
  assert.deepEqual(new Set(await answers(gateway, 20)), new Set(['127.0.0.2']));
});

test('a request that cannot be sent to one address goes to another, with its body', async (t) => {
  const app = await startApp(t);
  const [dead = 0] = await freePorts(1);
  const addresses = [
    { host: '127.0.0.1', port: dead },
    { host: '127.0.0.1', port: app.port },
  ];
  for (const text of [get(), post('x'.repeat(100_000)), get('/', 'connection: close')]) {
    const gateway = await plane(t, { host: 'app.test', port: 80, addresses });
    const bodies: string[] = [];
    for (let i = 0; i < 5; i++) {
      const answer = await gateway.ask(text);
      bodies.push(answer.body.toString());
    }
    assert.deepEqual(new Set(bodies), new Set(['127.0.0.1']));
    // Each request cools the dead one down for longer, so that it is not tried again and again.
    assert.ok([...gateway.plane.endpoints.destinations()].every(({ moved }) => moved <= 2));
    assert.equal(gateway.access.filter(({ error }) => error !== undefined).length, 0);
  }
});

test('a request that is forwarded by a plan goes to another address, too', async (t) => {
  const app = await startApp(t);
  const [dead = 0] = await freePorts(1);
  const addresses = [
    { host: '127.0.0.1', port: dead },
    { host: '127.0.0.1', port: app.port },
  ];
  for (const policies of [
    { retry: policySchemas.retry.parse({ attempts: 1, codes: [502] }) },
    { buffer: policySchemas.buffer.parse({ request: { maxBytes: 200_000 } }) },
  ])
    for (const text of [get(), post('x'.repeat(50_000))]) {
      const gateway = await plane(t, { host: 'app.test', port: 80, addresses }, { policies });
      for (let i = 0; i < 5; i++) assert.equal((await gateway.ask(text)).body.toString(), '127.0.0.1');
      assert.equal(gateway.access.filter(({ error }) => error !== undefined).length, 0);
    }
});

test('the gateway answers 503 after three failed connection attempts', async (t) => {
  const ports = await freePorts(5);
  const addresses = ports.map((port) => ({ host: '127.0.0.1', port }));
  const gateway = await plane(t, { host: 'app.test', port: 80, addresses });
  assert.match((await answers(gateway, 1)).join(), /^503 upstream connect failed/);
  assert.equal(
    [...gateway.plane.endpoints.all()].reduce((sum, { stats }) => sum + stats.connectFailed, 0),
    3,
  );
});

test('an address that answers with errors is left out for a while, and comes back', async (t) => {
  const [good, bad] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  bad.behave = (_request, response) => void response.writeHead(500).end();
  const gateway = await plane(t, {
    ...listed([good, bad]),
    eviction: { consecutiveFailures: 2, durationMs: 300, maxEjectedPercent: 50 },
  });
  while (ready(gateway).length === 2) await answers(gateway, 1);
  assert.deepEqual(ready(gateway), ['127.0.0.1']);
  bad.behave = undefined;
  await until('it is back', () => ready(gateway).length === 2);
  assert.equal(bad.requests, 2);
  assert.deepEqual([...new Set(await answers(gateway, 30))].sort(), ['127.0.0.1', '127.0.0.2']);
});

test('no more addresses are left out than the share that may be', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4');
  for (const app of apps) app.behave = (_request, response) => void response.writeHead(503).end();
  const eviction = { consecutiveFailures: 1, durationMs: 60_000, maxEjectedPercent: 50 };
  const gateway = await plane(t, { ...listed(apps), eviction });
  await answers(gateway, 40);
  assert.equal(ready(gateway).length, 2);
  // The only address of a backend is never left out.
  const alone = await plane(t, { ...listed(apps.slice(0, 1)), eviction });
  await answers(alone, 5);
  assert.equal(ready(alone).length, 1);
});

test('an address that takes requests and never answers is left out by the time limit', async (t) => {
  const [good, half] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  half.behave = () => undefined;
  const gateway = await plane(
    t,
    {
      ...listed([good, half]),
      eviction: { consecutiveFailures: 1, durationMs: 60_000, maxEjectedPercent: 50 },
    },
    { policies: { timeout: { backendRequestTimeout: 1_000 } } },
  );
  const seen: string[] = [];
  while (ready(gateway).length === 2) seen.push(...(await answers(gateway, 1)));
  assert.equal(seen.filter((answer) => answer.startsWith('504')).length, 1);
  assert.deepEqual(new Set(await answers(gateway, 10)), new Set(['127.0.0.1']));
});

const check = {
  path: '/healthz',
  intervalMs: 20,
  timeoutMs: 200,
  unhealthyThreshold: 2,
  healthyThreshold: 2,
  statuses: [{ from: 200, to: 299 }],
};

test('health checks find out who works, before requests do', async (t) => {
  const [good, bad] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const asked: string[] = [];
  bad.behave = (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.host}`);
    response.writeHead(302).end();
  };
  const gateway = await plane(t, { ...listed([good, bad]), check });
  await until('it is found', () => ready(gateway).length === 1);
  assert.equal(asked[0], 'GET /healthz app.test:80');
  assert.deepEqual(new Set(await answers(gateway, 10)), new Set(['127.0.0.1']));
  bad.behave = undefined;
  await until('it is back', () => ready(gateway).length === 2);
  const messages = gateway.log.map(({ message }) => message);
  assert.ok(messages.includes('Backend address unhealthy'));
  assert.ok(messages.includes('Backend address healthy again'));
});

test('a half-open address, which accepts and never answers, fails its checks; with none left the answer is 503', async (t) => {
  const app = await startApp(t);
  app.behave = () => undefined;
  const gateway = await plane(t, { ...listed([app]), check });
  await until('it is found', () => ready(gateway).length === 0);
  assert.deepEqual(await answers(gateway, 1), ['503 no healthy upstream']);
  assert.equal(gateway.access[0]?.error, 'upstream_unhealthy');
  app.behave = undefined;
  await until('it is back', () => ready(gateway).length === 1);
  assert.deepEqual(await answers(gateway, 1), ['127.0.0.1']);
});

test('checks end with the backend that they are about', async (t) => {
  const app = await startApp(t);
  const gateway = await plane(t, { ...listed([app]), check });
  await until('a check came', () => app.requests > 0);
  await gateway.apply({ routes: [{ name: 'route0', to: app.port }] });
  await until('none is under way', () => app.busy === 0);
  const { requests } = app;
  await answers(gateway, 3);
  assert.equal(app.requests, requests + 3);
});

test('connections over the limit wait, first come first served, and over that limit are refused', async (t) => {
  const app = await startApp(t);
  const held: (() => void)[] = [];
  app.behave = (request, response) => held.push(() => void response.end(request.url));
  const gateway = await plane(t, {
    ...listed([app]),
    connections: { maxConnections: 2, maxPendingRequests: 2 },
  });
  const first = [await gateway.client(), await gateway.client()].map((client) => client.ask(get('/first')));
  await until('two arrived', () => app.busy === 2);
  const [of] = [...gateway.plane.endpoints.destinations()];
  const third = gateway.ask(get('/third'));
  await until('one waits', () => of?.waiting.length === 1);
  const fourth = gateway.ask(post('with a body'));
  await until('two wait', () => of?.waiting.length === 2);
  assert.deepEqual(await answers(gateway, 1), ['503 upstream overloaded']);
  assert.equal(gateway.access.at(-1)?.error, 'upstream_overloaded');
  assert.equal(app.requests, 2);
  held[0]?.();
  await until('the next came', () => app.requests === 3);
  held[2]?.();
  assert.equal((await third).body.toString(), '/third');
  held[1]?.();
  await until('the last came', () => app.requests === 4);
  held[3]?.();
  assert.equal((await fourth).body.toString(), '/post');
  await Promise.all(first);
  assert.ok(gateway.upstreamConnections <= 2);
});

test('health checks need no room among the connections of requests', async (t) => {
  const app = await startApp(t);
  const held: (() => void)[] = [];
  app.behave = (request, response) => {
    if (request.url === '/healthz') held.push(() => void response.end());
    else response.end('served');
  };
  const gateway = await plane(t, {
    ...listed([app]),
    check: { ...check, timeoutMs: 10_000 },
    connections: { maxConnections: 1, maxPendingRequests: 0 },
  });
  await until('a check is under way', () => held.length === 1);
  assert.deepEqual(await answers(gateway, 3), ['served', 'served', 'served']);
  held[0]?.();
});

test('a request that waits is forgotten when its client leaves, and refused in time', async (t) => {
  const app = await startApp(t);
  app.behave = () => undefined;
  const gateway = await plane(
    t,
    { ...listed([app]), connections: { maxConnections: 1, maxPendingRequests: 5 } },
    { upstream: { connectTimeoutMs: 1_000 } },
  );
  const [of] = [...gateway.plane.endpoints.destinations()];
  const holder = await gateway.client();
  holder.send(get());
  await until('it is busy', () => app.busy === 1);
  const leaver = await gateway.client();
  leaver.send(get());
  await until('it waits', () => of?.waiting.length === 1);
  leaver.reset();
  await until('it is forgotten', () => of?.waiting.length === 0);
  assert.deepEqual(await answers(gateway, 1), ['503 upstream overloaded']);
  assert.match(gateway.access.at(-1)?.reason ?? '', /too long/);
});

test('a request that waits for a backend without a route any more is refused in time, too', async (t) => {
  const app = await startApp(t);
  app.behave = () => undefined;
  const gateway = await plane(
    t,
    { ...listed([app]), connections: { maxConnections: 1, maxPendingRequests: 5 } },
    { upstream: { connectTimeoutMs: 2_000 } },
  );
  const [of] = [...gateway.plane.endpoints.destinations()];
  const holder = await gateway.client();
  holder.send(get());
  await until('it is busy', () => app.busy === 1);
  const waiting = gateway.ask(get());
  await until('it waits', () => of?.waiting.length === 1);
  await gateway.apply({ routes: [] });
  assert.equal(status(await waiting), 503);
});

test('a reload that changes the addresses keeps the state of those that stay', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const [one, two, three] = apps as [App, App, App];
  const gateway = await plane(t, listed([one, two]));
  while (one.requests === 0 || two.requests === 0) await answers(gateway, 1);
  const opened = (): Record<string, number> =>
    Object.fromEntries([...gateway.plane.endpoints.all()].map(({ host, stats }) => [host, stats.opened]));
  await gateway.apply({ routes: [{ targets: [listed([two, three])] }] });
  while (three.requests === 0) await answers(gateway, 1);
  assert.deepEqual(opened(), { '127.0.0.2': 1, '127.0.0.3': 1 });
  assert.equal([...gateway.plane.endpoints.destinations()].length, 1);

  // A model that does not come into use changes nothing.
  const blocker = createServer().listen(0);
  await once(blocker, 'listening');
  t.after(() => blocker.close());
  await assert.rejects(
    gateway.apply({
      ports: [0, (blocker.address() as AddressInfo).port],
      routes: [{ targets: [listed([one])] }],
    }),
    /cannot be bound/,
  );
  assert.deepEqual([...new Set(await answers(gateway, 40))].sort(), ['127.0.0.2', '127.0.0.3']);
  assert.deepEqual(opened(), { '127.0.0.2': 1, '127.0.0.3': 1 });
});

test('backends of one model that differ by their addresses are apart', async (t) => {
  const [one, two] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const routes = (first: App, second: App): ModelInShort => ({
    routes: [
      { prefix: '/first', targets: [listed([first])] },
      { prefix: '/second', targets: [listed([second])] },
    ],
  });
  const gateway = await TestPlane.start(routes(one, two));
  t.after(() => gateway.close());
  for (const [first, second] of [
    [one, two],
    [two, one],
    [one, one],
    [one, two],
  ] as const) {
    await gateway.apply(routes(first, second));
    assert.deepEqual(await answers(gateway, 1, get('/first')), [first.host]);
    assert.deepEqual(await answers(gateway, 1, get('/second')), [second.host]);
  }
});

test('a connection is closed after as many requests as it may carry', async (t) => {
  const app = await startApp(t);
  const gateway = await plane(t, {
    ...listed([app]),
    connections: { maxPendingRequests: 0, maxRequestsPerConnection: 3 },
  });
  await answers(gateway, 7);
  assert.equal([...gateway.plane.endpoints.all()][0]?.stats.opened, 3);
});

test('no request fails while addresses come and go', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const gateway = await plane(t, listed(apps));
  const bodies: string[] = [];
  let running = true;
  const flapping = (async () => {
    for (const app of apps) {
      // Its connections are in use, so that some are cut between two requests.
      const before = app.requests;
      await until('it was asked', () => app.requests > before + 1 && app.busy === 0);
      await app.stop();
      const then = bodies.length;
      await until('others answered', () => bodies.length > then + 20);
      await app.restart();
    }
    const { requests } = apps[2] as App;
    await until('the last one is back', () => (apps[2] as App).requests > requests);
    running = false;
  })();
  while (running) bodies.push(...(await answers(gateway, 5)));
  await flapping;
  assert.deepEqual(
    bodies.filter((body) => !body.startsWith('127.')),
    [],
  );
});

test('the metrics of backends are documented, and each series appears once', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2');
  const target = listed(apps);
  const tls = { insecure: true, insecureHost: false, subjectAltNames: [] };
  const gateway = await TestPlane.start({ routes: [{ targets: [target, { ...target, tls }] }] });
  t.after(() => gateway.close());
  const text = await gateway.metricsText();
  const lines = text.split('\n').filter((line) => line.includes('_upstream_') && !line.startsWith('#'));
  const series = lines.map((line) => line.slice(0, line.lastIndexOf(' ')));
  assert.equal(new Set(series).size, series.length);
  assert.ok(series.some((name) => name.includes(`endpoint="127.0.0.2:${apps[0]?.port}"`)));
  const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S*_upstream_\S*)/gm))
    assert.ok(page.includes(`\`${name}\``), `${name} is not in docs/metrics.md`);
});
