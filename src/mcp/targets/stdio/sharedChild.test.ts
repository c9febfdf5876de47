import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { catalog, mcpBackend, startHarness, stdioTarget, type Harness } from '../../harness.testing.ts';
import { modernTarget } from '../../modernServer.testing.ts';
import { RawClient, type Message } from '../../rawClient.testing.ts';
import { RawModernClient } from '../../rawModernClient.testing.ts';
import type { StdioTarget } from '../../../model/index.ts';

const shared = stdioTarget({ name: 'shared', scope: 'shared' });

let harness: Harness;
before(async () => {
  harness = await startHarness({
    caller: (request) => ({ principal: request.header('x-user') }),
    runtime: { sessionTtlMs: 3_600_000 },
  });
});
after(() => harness.close());

let backends = 0;
/** A backend of its own for each test, so that no test meets the child of another one. */
function clientOf(targets: readonly StdioTarget[], key = `backend-${++backends}`): RawClient {
  harness.use(mcpBackend({ targets, stateless: true, key }));
  return new RawClient(harness.url);
}

const children = (): number => harness.runtime.view().children;

afterEach(async () => {
  harness.runtime.retire(new Set());
  await until('no child is left', () => children() === 0);
});

const user = (name: string): Record<string, string> => ({ 'x-user': name });

async function textOf(client: RawClient, name: string, args: object, headers = {}): Promise<string> {
  const { events, json } = await client.post(client.tool(name, args), headers);
  const { result, error } = events.at(-1) ?? json;
  assert.equal(error, undefined);
  return (result?.['content'] as { text: string }[])[0]!.text;
}

test('a shared child serves the requests of all callers', async () => {
  const client = clientOf([shared]);
  const pids = await Promise.all(
    ['ada', 'bob', 'ada', 'eve'].map((name) => textOf(client, 'pid', {}, user(name))),
  );
  assert.equal(new Set(pids).size, 1);
  assert.equal(children(), 1);
  assert.equal(await textOf(client, 'pid', {}), pids[0]);
});

test('the child gets one initialize, of the gateway without capabilities', async () => {
  const client = clientOf(
    [catalog({ name: 'files', tools: ['seen'] })].map((one) => ({ ...one, scope: 'shared' })),
  );
  const { json } = await client.post(
    client.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { sampling: {}, roots: {} },
      clientInfo: { name: 'ada', version: '1' },
    }),
  );
  assert.equal(json.result?.['protocolVersion'], '2025-11-25');
  const seen = JSON.parse(await client.call('seen')) as Message[];
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['initialize', 'notifications/initialized', 'tools/call'],
  );
  assert.deepEqual(seen[0]?.params?.['capabilities'], {});
  assert.equal((seen[0]?.params?.['clientInfo'] as { name: string }).name, 'portcullis');
});

test('two callers with equal ids and progress tokens get their own answers and progress only', async () => {
  const client = clientOf([shared]);
  const message = (text: string): object => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'progressAndHold', arguments: { text }, _meta: { progressToken: 'same' } },
  });
  const streams = await Promise.all(
    ['ada', 'bob'].map((name) =>
      client.stream(message(name), { ...user(name), accept: 'text/event-stream' }),
    ),
  );
  for (const stream of streams)
    for (const progress of [1, 2])
      assert.deepEqual((await stream.next())?.params, { progressToken: 'same', progress });
  await textOf(client, 'release', {});
  for (const stream of streams) {
    const rest = await stream.rest();
    assert.deepEqual(
      rest.map(({ id }) => id),
      [1],
    );
  }
});

test('a log message of the program, which may be about another caller, reaches nobody', async () => {
  const client = clientOf([shared]);
  const { events, json } = await client.post(client.tool('log'), user('ada'));
  assert.deepEqual(
    [...events, json].filter(({ method }) => method !== undefined),
    [],
  );
});

test('the log level and the subscriptions of one caller change nothing for another one', async () => {
  const client = clientOf([shared]);
  for (const [method, params] of [
    ['logging/setLevel', { level: 'debug' }],
    ['resources/subscribe', { uri: 'file:///a' }],
  ] as const) {
    const { json, events } = await client.post(client.request(method, params), user('ada'));
    assert.deepEqual((events[0] ?? json).result, {});
  }
  const state = JSON.parse(await textOf(client, 'state', {}, user('bob'))) as Record<string, unknown>;
  assert.deepEqual([state['level'], state['subscriptions']], ['unset', []]);
});

test('a question of the program is refused, and its call goes on', async () => {
  const client = clientOf([shared]);
  assert.match(await textOf(client, 'elicit', {}), /the program is shared and has no client/);
});

test('a client that leaves takes back its own call, and the others keep theirs', async () => {
  const client = clientOf([shared]);
  const leave = new AbortController();
  const held = textOf(client, 'hold', {}, user('bob'));
  const left = client.fetch(client.tool('hold'), user('ada'), leave.signal);
  const pending = (): number =>
    harness.runtime.view().sessions.reduce((sum, { targets }) => sum + (targets[0]?.pending ?? 0), 0);
  await until('both calls are in flight', () => pending() === 2);
  leave.abort();
  await assert.rejects(left);
  await until('one call is left', () => pending() === 1);
  const state = await textOf(client, 'state', {});
  assert.equal(state.match(/notifications\/cancelled/g)?.length, 1);
  await textOf(client, 'release', {});
  assert.equal(await held, 'released');
});

test('a child that dies fails the calls in flight, and the next request gets another child', async () => {
  const client = clientOf([shared]);
  const first = await textOf(client, 'pid', {});
  const held = client.post(client.tool('hold'), user('bob'));
  await until('the call is in flight', () => harness.runtime.view().sessions.length === 1);
  await client.post(client.tool('die'), user('ada'));
  const { events, json } = await held;
  assert.match((events.at(-1) ?? json).error!.message, /target "shared" was killed|ended|SIGKILL/);
  assert.notEqual(await textOf(client, 'pid', {}), first);
  assert.equal(children(), 1);
});

test('a program that cannot be started fails each request that waits for it, and is tried again', async () => {
  const client = clientOf([stdioTarget({ name: 'shared', scope: 'shared', cmd: '/nowhere/program' })]);
  for (const attempt of [1, 2]) {
    const { json } = await client.post(client.tool('pid'));
    assert.match(json.error!.message, /target "shared" could not be started/, `attempt ${attempt}`);
  }
});

test('changed settings start another child, and the calls of the former one end as they would', async () => {
  const client = clientOf([shared], 'changing');
  const first = await textOf(client, 'pid', {});
  const held = textOf(client, 'hold', {});
  await until('the call is in flight', () => harness.runtime.view().sessions.length === 1);
  const next = clientOf([{ ...shared, env: { CHANGED: 'yes' } }], 'changing');
  assert.equal(await textOf(next, 'environment', { name: 'CHANGED' }), 'yes');
  assert.notEqual(await textOf(next, 'pid', {}), first);
  assert.equal(children(), 2);
  process.kill(Number(first), 'SIGKILL');
  await assert.rejects(held);
  await until('the former child is gone', () => children() === 1);
});

test('two backends do not share a child', async () => {
  const one = await textOf(clientOf([shared], 'one'), 'pid', {});
  const other = await textOf(clientOf([shared], 'other'), 'pid', {});
  assert.notEqual(one, other);
});

test('a child that nobody uses ends after the idle time of sessions', async (t) => {
  const own = await startHarness({
    backend: mcpBackend({ targets: [shared], stateless: true }),
    runtime: { sessionTtlMs: 1 },
  });
  t.after(() => own.close());
  const client = new RawClient(own.url);
  await textOf(client, 'pid', {});
  await until('no child is left', () => own.runtime.view().children === 0);
});

test('a shared child that ends with the gateway is not restarted', async () => {
  const own = await startHarness({ runtime: { sessionTtlMs: 3_600_000 } });
  own.use(mcpBackend({ targets: [shared], stateless: true, key: 'ending' }));
  await textOf(new RawClient(own.url), 'pid', {});
  await own.close();
  assert.equal(own.runtime.view().children, 0);
  assert.deepEqual(
    own.log.filter(({ level }) => level === 'warn').map(({ message }) => message),
    [],
  );
});

test('a client hears its own stream of a shared child of 2026-07-28, and no other client does', async (t) => {
  clientOf([modernTarget('modern', { scope: 'shared' })]);
  const [ada, bob] = ['ada', 'bob'].map((name) => new RawModernClient(harness.url, {}, user(name)));
  const listen = async (client: RawModernClient, uri: string) => {
    const filter = { resourceSubscriptions: [uri] };
    const { events, honoured } = await client.listen(filter);
    t.after(() => events.cancel());
    assert.deepEqual(honoured, filter);
    return events;
  };
  const [first, second] = [await listen(ada!, 'test://a'), await listen(bob!, 'test://item/1')];
  for (const uri of ['test://a', 'test://item/1'])
    await ada!.post('tools/call', { name: 'touch', arguments: { uri } });
  assert.equal((await first.next())?.params?.['uri'], 'test://a');
  assert.equal((await second.next())?.params?.['uri'], 'test://item/1');
  for (const events of [first, second]) await events.cancel();
});
