/** The beginning of sessions: their ids and revisions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, startHarness } from '../harness.testing.ts';
import { RawClient, type Answered } from '../rawClient.testing.ts';
import { stage } from '../remote.testing.ts';
import { forgetSecrets, rememberSecrets } from '../../telemetry/index.ts';
import { until } from '../../until.testing.ts';

const params = (protocolVersion: unknown): object => ({
  protocolVersion,
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
});
const beginAgain = (client: RawClient, id: string | undefined): Promise<Answered> =>
  client.post(
    client.request('initialize', params('2025-11-25')),
    id === undefined ? {} : { 'mcp-session-id': id },
  );

test('initialize with the id of a session that is over, or is no session of the caller, begins a new one', async (t) => {
  const harness = await startHarness({ caller: (request) => ({ principal: request.header('x-user') }) });
  t.after(() => harness.close());
  const user = (name: string): RawClient => new RawClient(harness.url, { 'x-user': name });
  const alice = user('alice');
  await alice.initialize();
  const live = alice.sessionId!;
  const own = await beginAgain(alice, live);
  assert.deepEqual(
    [own.status, own.json.error],
    [400, { code: -32600, message: 'invalid request: the session is initialized already' }],
  );
  assert.equal(await alice.call('echo', { text: 'goes on' }), 'goes on');
  const left = user('alice');
  await left.initialize();
  const over = left.sessionId!;
  await left.delete();
  const others = user('bob');
  for (const id of [over, live, 'made-up', 'x'.repeat(2_000), '']) {
    const answer = await beginAgain(others, id);
    assert.equal(answer.status, 200, answer.text);
    const begun = answer.headers.get('mcp-session-id');
    assert.ok(begun !== null && begun !== id && answer.json.result !== undefined);
    others.sessionId = begun;
    assert.equal(await others.call('echo', { text: 'x' }), 'x');
    assert.equal(await others.delete(), 204);
    others.sessionId = undefined;
  }
  // The same id at another backend is no session there.
  harness.use(mcpBackend({ key: 'backend-2' }));
  assert.equal((await beginAgain(alice, live)).status, 200);
});

for (const asked of ['2099-01-01', '2024-10-07', 'latest', ''])
  test(`the unknown revision ${JSON.stringify(asked)} is negotiated and never echoed`, async (t) => {
    const { server, open, harness } = await stage(t);
    const client = new RawClient(harness.url, {
      'mcp-protocol-version': asked === '' ? '2025-11-25' : asked,
    });
    const answer = await client.post(client.request('initialize', params(asked)));
    assert.equal(answer.json.result?.['protocolVersion'], '2025-11-25');
    const [first] = server.of('initialize');
    assert.deepEqual(first?.message.params, params('2025-11-25'));
    const next = new RawClient(harness.url, { 'mcp-protocol-version': '2025-11-25' });
    next.sessionId = answer.headers.get('mcp-session-id')!;
    await next.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    assert.equal(await next.call('echo', { text: 'a' }), 'a');
    assert.equal(server.of('tools/call')[0]?.headers['mcp-protocol-version'], '2025-11-25');
    // A server that forgot the session is told the same again.
    server.sessions.clear();
    assert.equal(await next.call('echo', { text: 'b' }), 'b');
    assert.deepEqual(server.of('initialize')[1]?.message.params, params('2025-11-25'));
    // Later requests still have to name a revision that is spoken.
    const late = await open();
    assert.equal((await late.post(late.request('ping'), { 'mcp-protocol-version': 'x' })).status, 400);
  });

test('a revision that both speak reaches the server as it was asked for', async (t) => {
  const { server, open } = await stage(t);
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
    await open(version);
    assert.equal(server.of('initialize').at(-1)?.message.params?.['protocolVersion'], version);
  }
});

test('a server that insists on a revision that the gateway does not speak fails the initialize', async (t) => {
  const { server, harness, warnings } = await stage(t);
  server.methods['initialize'] = (x) => {
    server.sessions.add('odd');
    const result = {
      protocolVersion: '2099-01-01',
      capabilities: {},
      serverInfo: { name: 'odd', version: '1' },
    };
    x.json({ jsonrpc: '2.0', id: x.id, result }, 200, { 'mcp-session-id': 'odd' });
  };
  const client = new RawClient(harness.url);
  const answer = await client.initialize();
  const message =
    'target "remote" answered initialize with protocol version 2099-01-01, which the gateway does not speak';
  assert.deepEqual(answer.json.error, { code: -32603, message });
  assert.equal(answer.headers.get('mcp-session-id'), null);
  assert.equal(harness.runtime.view().sessions.length, 0);
  assert.match(warnings(), /2099-01-01/);
  await until('the server was told of the end', () => server.deleted.includes('odd'));
});

test('an initialize that names two revisions reaches no server', async (t) => {
  const { server, harness } = await stage(t);
  const client = new RawClient(harness.url);
  const body =
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","ProtocolVersion":"x"}}';
  const answer = await client.post(body);
  assert.deepEqual(
    [answer.status, answer.json.error?.message],
    [400, 'invalid request: a member is repeated'],
  );
  assert.equal(server.of('initialize').length, 0);
});

test('a stream of news ends with its token by the clock of the gateway, not by a timer', async (t) => {
  let clock = 1_000_000;
  const harness = await startHarness({
    caller: () => ({ principal: 'alice', expiresAt: 1_000_020 }),
    runtime: { now: () => clock },
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const events = await client.get();
  for (let i = 0; i < 20; i++) {
    await client.call('updateLater', { uris: [`file:///${i}`] });
    assert.deepEqual(
      (await events.next())?.params,
      { uri: `file:///${i}` },
      'the timer fires, the clock stands',
    );
  }
  clock = 1_000_020;
  assert.equal(await events.next(), undefined);
});

test('the list of sessions shows the name and the version of a client without secrets', async (t) => {
  const harness = await startHarness();
  t.after(() => harness.close());
  rememberSecrets(['configured-key-22']);
  t.after(forgetSecrets);
  const client = new RawClient(harness.url);
  const clientInfo = {
    name: `ghp_${'a'.repeat(36)} by raw`,
    version: `configured-key-22 ${'1'.repeat(200)}`,
  };
  await client.post(client.request('initialize', { ...params('2025-11-25'), clientInfo }));
  assert.deepEqual(
    harness.runtime.view().sessions.map((session) => session.client),
    [{ name: '[redacted] by raw', version: `[redacted] ${'1'.repeat(117)}` }],
  );
});
