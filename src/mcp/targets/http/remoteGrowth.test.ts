/**
 * Limits on everything that a server over the network, or a client of it, could make grow or wait without an end.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RawClient } from '../../rawClient.testing.ts';
import { stage } from '../../remote.testing.ts';
import type { Incoming } from '../../remoteServer.testing.ts';
import { until } from '../../../until.testing.ts';

test('a session that cannot be begun again keeps nothing of its attempts', async (t) => {
  const { server, open, target } = await stage(t, { requestTimeoutMs: 1_000 });
  const client = await open();
  const attempts: Incoming[] = [];
  server.sessions.clear();
  server.methods['initialize'] = (x) => void attempts.push(x);
  const { json } = await client.post(client.tool('echo', { text: 'x' }));
  assert.notEqual(json.error, undefined);
  await until('it is given up', () => target().state === 'failed');
  assert.equal(attempts.length, 2);
  let left = 0;
  for (const attempt of attempts) void attempt.left.then(() => left++);
  await until('every attempt was taken back', () => left === attempts.length);
});

test('a session that the server began but did not get going is ended there', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  server.sessions.clear();
  server.methods['notifications/initialized'] = (x) => x.status(503);
  const { json } = await client.post(client.tool('echo', { text: 'x' }));
  assert.match(json.error!.message, /keeps failing/);
  await until('the server knows', () => server.deleted.length === 2);
  assert.deepEqual(server.deleted.toSorted(), ['session-2', 'session-3']);
});

test('a call does not wait for ever until a session is begun again', async (t) => {
  // So many failures in a millisecond there are not: it is never given up.
  const restart = { firstDelayMs: 5, maxDelayMs: 5, maxFailures: 1_000, windowMs: 1, coolDownMs: 0 };
  const { server, open, target } = await stage(t, {}, { runtime: { restart } });
  const client = await open();
  server.sessions.clear();
  server.methods['initialize'] = (x) => x.status(503);
  const call = client.post(client.tool('echo', { text: 'x' }));
  await until('it is tried again', () => target().restarts > 2);
  const { now } = performance;
  t.mock.method(performance, 'now', () => now.call(performance) + 61_000);
  const { json } = await call;
  assert.match(json.error!.message, /keeps failing: it failed to initialize again/);
});

test('a client that is initialized again and again is one request at a time', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  server.methods['notifications/initialized'] = () => undefined;
  const again = { jsonrpc: '2.0', method: 'notifications/initialized' };
  for (let count = 0; count < 20; count++) assert.equal((await client.post(again)).status, 202);
  await client.post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  await until('the last has come', () => server.of('notifications/roots/list_changed').length === 1);
  assert.equal(server.of('notifications/initialized').length, 2);
});

test('a receipt that never ends is not waited for', async (t) => {
  const { server, open, harness } = await stage(t);
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.methods['notifications/roots/list_changed'] = (x) => {
    x.response.writeHead(202, { 'content-type': 'text/plain' });
    x.response.write('.', () => resolve(x));
  };
  const client = await open();
  await client.post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
  let left = false;
  void (await held).left.then(() => (left = true));
  let clock = performance.now();
  await until('it is given up', () => {
    harness.runtime.tick((clock += 10_000));
    return left;
  });
});

test('a call that is answered on the stream of another keeps no stream of its own', async (t) => {
  const { server, open, harness } = await stage(t);
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.tools['first'] = (x) => resolve(x.stream());
  const client = await open();
  const first = client.post(client.tool('first'));
  const waiting = await held;
  server.tools['second'] = (x) => {
    x.stream().event(waiting.result('one'));
    x.event(x.result('two'));
    x.end();
  };
  assert.equal(await client.call('second'), 'two');
  await first;
  let left = false;
  void waiting.left.then(() => (left = true));
  let clock = performance.now();
  await until('it is closed', () => {
    harness.runtime.tick((clock += 10_000));
    return left;
  });
});

test('requests that a server refused are not replayed after a restart', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  await until('the news stream is open', () => server.news.size === 1);
  server.methods['resources/subscribe'] = (x) => {
    const [news] = server.news;
    x.status(500);
    // Late, and about a call that has failed.
    news!.event({ jsonrpc: '2.0', id: x.id, result: {} });
  };
  assert.notEqual(
    (await client.post(client.request('resources/subscribe', { uri: 'a:1' }))).json.error,
    undefined,
  );
  const events = await client.get();
  const [news] = server.news;
  news!.event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await events.next();
  server.sessions.clear();
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  assert.equal(server.of('resources/subscribe').length, 1);
  await events.cancel();
});

test('a new server is told of many subscriptions a few at a time', async (t) => {
  const { server, open } = await stage(t);
  const client = await open();
  for (let count = 0; count < 40; count++)
    await client.post(client.request('resources/subscribe', { uri: `a:${count}` }));
  let busy = 0;
  let most = 0;
  server.methods['resources/subscribe'] = (x) => {
    most = Math.max(most, ++busy);
    setTimeout(() => {
      busy--;
      x.json({ jsonrpc: '2.0', id: x.id, result: {} });
    }, 20);
  };
  server.sessions.clear();
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  assert.equal(server.of('resources/subscribe').length, 80);
  assert.ok(most <= 8, `${most} at a time`);
});

test('a session keeps a bounded part of its initialize request', async (t) => {
  const { server, open, harness } = await stage(t);
  const long = 'x'.repeat(100_000);
  const client = new RawClient(harness.url);
  const clientInfo = { name: long, version: '1' };
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const refused = await client.post(client.request('initialize', initialize));
  assert.equal(refused.status, 400);
  assert.match(refused.json.error!.message, /initialize has more than 65536 characters/);
  assert.equal(server.seen.length, 0);
  const other = await open();
  await other.post({ jsonrpc: '2.0', method: 'notifications/initialized', params: { _meta: { long } } });
  server.sessions.clear();
  assert.equal(await other.call('echo', { text: 'x' }), 'x');
  const told = server.of('notifications/initialized');
  assert.deepEqual(
    told.map(({ message }) => JSON.stringify(message).length > 100_000),
    [false, true, false],
  );
});
