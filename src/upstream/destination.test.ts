import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordingLog } from '../mcp/harness.testing.ts';
import { defaults, type UpstreamSettings } from '../model/index.ts';
import { startApps, type App } from '../proxy/apps.testing.ts';
import { get, ok, type BackendConnection } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import { Destination } from './destination.ts';
import { ask, closedPort, Passenger, send, startBackend } from './endpoint.testing.ts';
import type { Target } from './upstreamTarget.ts';
import { systemLookup, type LookupTools } from './resolve.ts';
import type { UpstreamConnection } from './upstreamConnection.ts';
import type { Waiter } from './waitQueue.ts';

interface DestinationInShort extends Partial<Target> {
  readonly settings?: Partial<UpstreamSettings>;
  readonly lookup?: LookupTools;
}

function destinationOf(t: TestContext, short: DestinationInShort): Destination {
  const { settings, lookup = systemLookup, ...target } = short;
  const destination = new Destination(
    { host: 'app.test', port: 80, addresses: [], ...target },
    { ...defaults.upstream, ...settings },
    defaults.limits,
    { log: recordingLog().log, lookup, tenantLookup: lookup },
  );
  t.after(() => destination.close());
  return destination;
}

/** Addresses on one port that nobody connects to before a request does. */
const at = (port: number, ...hosts: readonly string[]) => hosts.map((host) => ({ host, port }));

/** Waits for a connection and notes what it gets. */
class Waits implements Waiter {
  got: UpstreamConnection | undefined;
  refusal: string | undefined;

  onReady(connection: UpstreamConnection): void {
    this.got = connection;
  }

  onRefused(code: string, detail: string): void {
    this.refusal = `${code}: ${detail}`;
  }
}

const wait = (destination: Destination): Waits => {
  const waits = new Waits();
  destination.wait(waits);
  return waits;
};

const names = (destination: Destination): string[] => destination.known.map(({ name }) => name).toSorted();

test('a request that finds every connection busy gets the first one that becomes free', async (t) => {
  const held: BackendConnection[] = [];
  const backend = await startBackend(t, { onRequest: (_request, one) => void held.push(one) });
  const connections = { maxConnections: 1, maxPendingRequests: 2 };
  const destination = destinationOf(t, { addresses: at(backend.port, '127.0.0.1'), connections });
  const connection = destination.take()!;
  const asker = send(connection);
  assert.equal(destination.take(), undefined);
  const [first, second, third] = [wait(destination), wait(destination), wait(destination)];
  assert.equal(
    third.refusal,
    'upstream_overloaded: app.test:80: all connections are busy, 2 requests wait for one',
  );
  assert.equal(destination.waiting.refused, 1);
  await backend.until('the request is there', () => held.length === 1);
  held[0]?.send(ok('x'));
  await asker.outcome;
  assert.deepEqual([first.got, second.got], [connection, undefined]);
  connection.abandon();
  assert.ok(second.got !== undefined, 'the end of a connection makes room for a new one');
  assert.notEqual(second.got, connection);
  assert.equal(destination.waiting.length, 0);
});

test('a request that has waited for the time of a connection is refused by the next sweep', async (t) => {
  const backend = await startBackend(t, {});
  const connections = { maxConnections: 1, maxPendingRequests: 1 };
  const destination = destinationOf(t, {
    addresses: at(backend.port, '127.0.0.1'),
    connections,
    settings: { connectTimeoutMs: 5_000 },
  });
  destination.take()!.tunnel(new Passenger());
  const now = Date.now();
  const waits = wait(destination);
  destination.sweep(now + 4_999);
  assert.equal(waits.refusal, undefined);
  destination.sweep(now + 60_000);
  assert.match(waits.refusal ?? '', /^upstream_overloaded: .*too long/);
});

test('a destination without a healthy address refuses at once, and says how many it has', (t) => {
  const connections = { maxConnections: 1, maxPendingRequests: 10 };
  const destination = destinationOf(t, { addresses: at(1, '127.0.0.1', '127.0.0.2'), connections });
  for (const { health } of destination.known) health.judge(false);
  assert.equal(destination.take(), undefined);
  assert.equal(wait(destination).refusal, 'upstream_unhealthy: app.test:80: 2 addresses, none healthy');
  const none = destinationOf(t, { addresses: [] });
  assert.equal(wait(none).refusal, 'upstream_unhealthy: app.test:80: 0 addresses, none healthy');
  assert.equal(none.takeFor(1, 2), undefined);
  assert.equal(none.takeOther([]), undefined);
  assert.equal(none.takeApart([]), undefined);
});

test('when a destination closes, requests that wait are refused and every connection is closed', async (t) => {
  const backend = await startBackend(t, {});
  const connections = { maxConnections: 1, maxPendingRequests: 1 };
  const destination = destinationOf(t, { addresses: at(backend.port, '127.0.0.1'), connections });
  send(destination.take()!);
  const waits = wait(destination);
  await backend.until('the request is there', () => backend.requests.length === 1);
  assert.equal(destination.isIdle, false);
  destination.close();
  assert.equal(waits.refusal, 'upstream_overloaded: the gateway stops');
  assert.equal(destination.isIdle, true);
  await backend.until('the backend has no connection', () => backend.connections.size === 0);
});

test('a request that cannot connect is tried at three addresses, and at no address twice', async (t) => {
  const port = await closedPort();
  const destination = destinationOf(t, {
    addresses: at(port, '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'),
  });
  const tried = [];
  for (let next = destination.take(); next !== undefined; next = destination.takeOther(tried)) {
    tried.push(next.endpoint);
    assert.equal((await ask(next)).failure, 'upstream_connect_failed');
  }
  assert.equal(tried.length, 3);
  assert.equal(new Set(tried).size, 3);
  assert.equal(destination.moved, 2);
});

test('a request with a key goes on at the same other address, whichever process sends it', (t) => {
  const addresses = at(1, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const [one, other] = [
    destinationOf(t, { addresses }),
    destinationOf(t, { addresses: addresses.toReversed() }),
  ];
  for (let key = 0; key < 20; key++) {
    const next = [one, other].map((destination) => {
      const first = destination.takeFor(key, 2)!;
      return [first.endpoint.name, destination.takeOther([first.endpoint], key)?.endpoint.name];
    });
    assert.deepEqual(next[0], next[1]);
    assert.notEqual(next[0]?.[0], next[0]?.[1]);
  }
});

test('a hedge goes to an address apart from the first one, and to the same where there is no other', (t) => {
  const two = destinationOf(t, { addresses: at(1, '127.0.0.1', '127.0.0.2') });
  const [idle, busy] = [two.known[0]!, two.known[1]!];
  for (let i = 0; i < 5; i++) busy.take().tunnel(new Passenger());
  assert.equal(two.takeApart([idle])?.endpoint, busy, 'the other address is taken, though it is busier');
  const one = destinationOf(t, { addresses: at(1, '127.0.0.1') });
  const { endpoint } = one.take()!;
  assert.equal(one.takeApart([endpoint])?.endpoint, endpoint);
});

test('an address that goes finishes its requests, and an address that stays keeps its connections', async (t) => {
  const [staying, going] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const responses: { end(text: string): void }[] = [];
  for (const app of [staying, going]) app.behave = (_request, response) => void responses.push(response);
  const { port } = staying;
  const destination = destinationOf(t, { addresses: at(port, staying.host, going.host) });
  const askers = destination.known.map((endpoint) => send(endpoint.take(), get()));
  await until('both requests are there', () => responses.length === 2);
  const kept = destination.known.find(({ host }) => host === staying.host)!;
  const left = destination.known.find(({ host }) => host === going.host)!;
  destination.target = { ...destination.target, addresses: at(port, staying.host) };
  destination.configure(defaults.upstream, defaults.limits);
  assert.deepEqual(destination.known, [kept]);
  assert.equal(destination.isReady(left), false);
  assert.deepEqual([...destination.endpoints()], [kept, left], 'an address that is left still counts');
  for (const response of responses) response.end('whole');
  for (const { outcome } of askers) assert.match((await outcome).body, /whole/);
  await until('the address that is left has no connection', () => left.connections === 0);
  destination.sweep(Date.now());
  assert.deepEqual([...destination.endpoints()], [kept]);
  assert.equal(kept.idleConnections, 1);
});

test('no more than the given share of the addresses is put out at a time', (t) => {
  const destination = destinationOf(t, {
    addresses: at(1, '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'),
    eviction: { consecutiveFailures: 1, durationMs: 60_000, maxEjectedPercent: 50 },
  });
  for (const { health } of destination.known) health.answered(500);
  const out = destination.known.filter(({ health }) => health.isEjected(Date.now()));
  assert.equal(out.length, 2);
  assert.deepEqual(
    destination.known.map((endpoint) => destination.isReady(endpoint)).filter(Boolean).length,
    2,
  );
  for (const endpoint of out) assert.equal(destination.accepts(endpoint), false);
});

test('an address that was put out is used again when its time is over, without a request that asks for it', async (t) => {
  const destination = destinationOf(t, {
    addresses: at(1, '127.0.0.1', '127.0.0.2'),
    eviction: { consecutiveFailures: 1, durationMs: 20, maxEjectedPercent: 50 },
  });
  const [one] = destination.known;
  one!.health.failed();
  assert.equal(destination.isReady(one!), false);
  await until('the address is back', () => destination.isReady(one!));
});

test('a retired destination keeps no idle connection, asks no resolver, and can be brought back', async (t) => {
  const lookups: Record<string, number> = { 'app.test': 0, 'other.test': 0 };
  const lookup: LookupTools = {
    everyMs: 1,
    lookup: (name) => {
      lookups[name]!++;
      return Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    },
  };
  const backend = await startBackend(t, { onRequest: (_request, one) => one.send(ok('x')) });
  const [destination, other] = ['app.test', 'other.test'].map((name) =>
    destinationOf(t, { addresses: at(backend.port, name), lookup }),
  ) as [Destination, Destination];
  await Promise.all([destination.resolution.looking, other.resolution.looking]);
  await ask(destination.take()!);
  assert.equal(destination.isIdle, false);
  destination.retire();
  assert.equal(destination.isIdle, true);
  await backend.until('the backend has no connection', () => backend.connections.size === 0);
  const [asked, then] = [lookups['app.test'], lookups['other.test'] ?? 0];
  await until('another name was asked for often', () => (lookups['other.test'] ?? 0) > then + 5);
  assert.equal(lookups['app.test'], asked);
  destination.configure(defaults.upstream, defaults.limits);
  await until('the name is looked up again', () => (lookups['app.test'] ?? 0) > (asked ?? 0));
  await ask(destination.take()!);
  assert.equal(destination.known[0]?.idleConnections, 1);
});

test('the same address under two names is one endpoint, and IPv6 stands in brackets', (t) => {
  const destination = destinationOf(t, {
    host: '::1',
    port: 8080,
    addresses: [...at(1, '127.0.0.1', '::1', '127.0.0.1'), ...at(2, '127.0.0.1')],
  });
  assert.equal(destination.name, '[::1]:8080');
  assert.deepEqual(names(destination), ['127.0.0.1:1', '127.0.0.1:2', '[::1]:1']);
});
