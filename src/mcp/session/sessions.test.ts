import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import {
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { until } from '../../until.testing.ts';

const open: Harness[] = [];
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

async function start(options: HarnessOptions = {}): Promise<Harness> {
  const harness = await startHarness(options);
  open.push(harness);
  return harness;
}

/** Each test says in a header who calls. */
const byHeader: HarnessOptions = {
  caller: (request) => ({ principal: request.header('x-principal') }),
};

test('a session is of the principal that opened it; to others it does not exist', async () => {
  const harness = await start(byHeader);
  const ada = new RawClient(harness.url, { 'x-principal': 'iss ada' });
  await ada.initialize();
  for (const headers of [{ 'x-principal': 'iss bob' }, {}]) {
    const other = new RawClient(harness.url, headers);
    other.sessionId = ada.sessionId;
    const answer = await other.post(other.request('ping'));
    assert.equal(answer.status, 404);
    assert.equal(answer.json.error?.message, 'session not found');
    assert.equal(await other.delete(), 404);
    await assert.rejects(other.get(), /404/);
  }
  assert.equal(await ada.call('echo', { text: 'mine' }), 'mine');
});

test('an anonymous session is closed to callers with a name', async () => {
  const harness = await start(byHeader);
  const nobody = new RawClient(harness.url);
  await nobody.initialize();
  const ada = new RawClient(harness.url, { 'x-principal': 'iss ada' });
  ada.sessionId = nobody.sessionId;
  assert.equal((await ada.post(ada.request('ping'))).status, 404);
});

test('an altered session id is unknown', async () => {
  const harness = await start();
  const client = new RawClient(harness.url);
  await client.initialize();
  const id = client.sessionId!;
  for (const altered of [
    `${id}A`,
    id.slice(0, -1),
    (id[0] === 'A' ? 'B' : 'A') + id.slice(1),
    id.toLowerCase(),
  ]) {
    client.sessionId = altered;
    assert.equal((await client.post(client.request('ping'))).status, 404, altered);
  }
  client.sessionId = id;
  assert.equal((await client.post(client.request('ping'))).status, 200);
});

test('a session stays with its backend over a reload, and is unknown at another one', async () => {
  const harness = await start();
  const client = new RawClient(harness.url);
  await client.initialize();
  harness.use(mcpBackend({ key: 'backend-2' }));
  assert.equal((await client.post(client.request('ping'))).status, 404);
  harness.use(mcpBackend({ dnsRebindingProtection: true }));
  assert.equal(await client.call('echo', { text: 'kept' }), 'kept');
});

test('when a backend vanishes its sessions end, and those of others stay', async () => {
  const harness = await start();
  const first = new RawClient(harness.url);
  await first.initialize();
  harness.use(mcpBackend({ key: 'backend-2' }));
  const second = new RawClient(harness.url);
  await second.initialize();
  const events = await second.get();
  harness.runtime.retire(new Set(['backend-1']));
  assert.equal(await events.next(), undefined, 'its stream ends');
  assert.deepEqual(
    harness.runtime.view().sessions.map((session) => session.backend),
    ['backend-1'],
  );
  await until('its child is gone', () => harness.runtime.view().children === 1);
});

test('an idle session ends with its child process after its time to live', async () => {
  let now = 0;
  const harness = await start({ runtime: { now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 0 } });
  const client = new RawClient(harness.url);
  await client.initialize();
  now = 999;
  harness.runtime.tick();
  assert.equal((await client.post(client.request('ping'))).status, 200);
  now = 1_998;
  harness.runtime.tick();
  assert.equal(harness.runtime.view().sessions.length, 1, 'the call counted as use');
  now = 1_999;
  harness.runtime.tick();
  assert.equal((await client.post(client.request('ping'))).status, 404);
  await until('the child is gone', () => harness.runtime.view().children === 0);
});

test('an idle session is parked: its child stops, and comes back with the session', async () => {
  let now = 0;
  const harness = await start({
    caller: (request) => ({ principal: request.header('x-user') ?? 'alice' }),
    runtime: { now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 10_000 },
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  const pid = await client.call('pid');
  now = 1_000;
  harness.runtime.tick();
  await until('the child is gone', () => harness.runtime.view().children === 0);
  assert.equal(harness.runtime.view().sessions[0]?.targets[0]?.state, 'suspended');
  assert.equal((await client.post(client.request('ping'), { 'x-user': 'mallory' })).status, 404);
  assert.equal(harness.runtime.view().children, 0, 'another caller starts no child');
  assert.notDeepEqual(await client.call('pid'), pid);
  now = 2_500;
  harness.runtime.tick();
  await until('the child is gone again', () => harness.runtime.view().children === 0);
  now = 10_000;
  harness.runtime.tick();
  assert.equal((await client.post(client.request('ping'))).status, 404, 'it is too old');
});

test('a parked session that its client ends is unknown', async () => {
  let now = 0;
  const harness = await start({ runtime: { now: () => now, sessionTtlMs: 1_000 } });
  const client = new RawClient(harness.url);
  await client.initialize();
  await client.call('pid');
  now = 1_000;
  harness.runtime.tick();
  await until('the child is gone', () => harness.runtime.view().children === 0);
  await client.delete();
  assert.equal((await client.post(client.request('ping'))).status, 404);
});

test('an open stream or a call in flight keeps a session alive', async () => {
  let now = 0;
  const harness = await start({ runtime: { now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 0 } });
  const client = new RawClient(harness.url);
  await client.initialize();
  const events = await client.get();
  now = 5_000;
  harness.runtime.tick();
  assert.equal(harness.runtime.view().sessions.length, 1);
  await events.cancel();
  await until('the stream is gone', () => harness.runtime.view().sessions[0]!.streams === 0);
  const call = client.post(client.tool('hold'));
  await until('the call is in flight', () => harness.runtime.view().sessions[0]!.targets[0]!.pending === 1);
  now = 10_000;
  harness.runtime.tick();
  assert.equal(harness.runtime.view().sessions.length, 1);
  await client.call('release');
  await call;
  now = 20_000;
  harness.runtime.tick();
  assert.equal(harness.runtime.view().sessions.length, 0);
});

for (const limits of [{ maxMcpSessions: 2 }, { maxChildren: 2 }])
  test(`with ${JSON.stringify(limits)} the third session gets 503 with Retry-After until there is room`, async () => {
    const harness = await start({ limits });
    const clients = [
      new RawClient(harness.url),
      new RawClient(harness.url),
      new RawClient(harness.url),
    ] as const;
    await clients[0].initialize();
    await clients[1].initialize();
    const refused = await clients[2].initialize();
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal(refused.json.error?.code, -32000);
    await clients[0].delete();
    await until('there is room', () => harness.runtime.view().children === 1);
    assert.equal((await clients[2].initialize()).status, 200);
  });

test('messages for a client without a stream are bounded, and a dropped request gets an error', async () => {
  const harness = await start();
  const client = new RawClient(harness.url);
  await client.initialize();
  // Each of these asks after its response, when no stream is open.
  const json = { accept: 'application/json' };
  for (let i = 0; i < 300; i++) await client.post(client.tool('askLater'), json);
  await client.post(client.tool('echo'), json);
  await until('the bound is reached', () => harness.runtime.view().sessions[0]!.held === 256);
  assert.ok(harness.log.some((line) => line.message.includes('the client has no open stream')));
});

test('a stream that is silent gets a comment from the timer', async () => {
  const harness = await start();
  const client = new RawClient(harness.url);
  await client.initialize('2025-06-18');
  const events = await client.get();
  const call = await client.fetch(client.tool('echo', { text: 'x' }));
  await call.text();
  assert.equal(await events.nextBlock(), ': open');
  const waiting = client.stream(client.tool('hold'));
  await until('the call is in flight', () => harness.runtime.view().sessions[0]!.targets[0]!.pending === 1);
  harness.runtime.tick(performance.now() + 16_000);
  assert.equal(await events.nextBlock(), ': keep-alive');
  assert.equal(await (await waiting).nextBlock(), ': waiting', 'a call that waits long becomes a stream');
  await client.call('release');
  await events.cancel();
});

test('a stream of news ends with the token that opened it, and the session goes on', async () => {
  let expiresAt = Date.now() + 3_600_000;
  const harness = await start({ caller: () => ({ principal: 'issuer\nalice', expiresAt }) });
  const client = new RawClient(harness.url);
  await client.initialize();
  expiresAt = Date.now() + 50;
  const events = await client.get();
  while ((await events.nextBlock()) !== undefined);
  expiresAt = Date.now() + 3_600_000;
  const again = await client.get();
  assert.equal(await again.nextBlock(), ': open');
  await again.cancel();
});

const withCallerValue = stdioTarget({ injected: { TOKEN: { kind: 'header', header: 'x-token' } } });
const lacking = (): never => {
  throw new GatewayError('mcp_caller_header_missing');
};

for (const { what, target, ways } of [
  { what: 'values', target: withCallerValue, ways: { environment: lacking } },
  { what: 'credentials', target: remoteTarget('http://127.0.0.1:9/mcp'), ways: { reach: lacking } },
])
  test(`a session that cannot begin without the ${what} of its caller takes no place of the caller`, async () => {
    const harness = await start({
      backend: mcpBackend({ targets: [target] }),
      limits: { maxMcpSessionsPerPrincipal: 2 },
      caller: () => ({ principal: 'ada', ...ways }),
    });
    const client = new RawClient(harness.url);
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await client.initialize()).status);
    assert.deepEqual(statuses, [400, 400, 400, 400]);
  });
