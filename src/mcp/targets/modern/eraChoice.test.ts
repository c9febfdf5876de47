/** The era in which servers are spoken to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { McpTarget } from '../../../model/index.ts';
import { mcpBackend, remoteTarget, startHarness, stdioTarget, type Harness } from '../../harness.testing.ts';
import { modernTarget, startModern } from '../../modernServer.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { RemoteServer, startRemote, type Incoming } from '../../remoteServer.testing.ts';
import { EraVerdicts } from './eraVerdicts.ts';

async function gateway(t: TestContext, target: McpTarget): Promise<Harness> {
  const harness = await startHarness({
    backend: mcpBackend({ targets: [target] }),
    caller: () => ({ principal: 'alice' }),
  });
  t.after(() => harness.close());
  return harness;
}

/** Opens a session as a client of one era, and answers the era of the server's connection. */
const serverEra = {
  legacy: async (harness: Harness) => {
    const client = new RawClient(harness.url);
    const { status, text } = await client.initialize();
    assert.equal(status, 200, text);
    assert.match(text, /"protocolVersion":"2025-11-25"/);
    const { targets } = harness.runtime.view().sessions.at(-1)!;
    return targets[0]?.era ?? 'legacy';
  },
  modern: async (harness: Harness) => {
    const client = new Client(
      { name: 'new', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await client.connect(new StreamableHTTPClientTransport(harness.url));
    await client.listTools();
    await client.close();
    const { targets } = harness.runtime.view().sessions.at(-1)!;
    return targets[0]?.era ?? 'legacy';
  },
};

const methodsOf = (seen: readonly { readonly message: { readonly method?: string } }[]): string[] =>
  seen.flatMap(({ message: { method } }) => method ?? []).filter((method) => !method.startsWith('notif'));

/** The answer of a server to a request that it refuses. */
const refusal =
  (status: number, error?: object) =>
  (x: Incoming): void =>
    x.json(error === undefined ? '' : { jsonrpc: '2.0', id: x.id, error }, status);
const unsupported = {
  code: -32022,
  message: 'Unsupported protocol version',
  data: { supported: ['2026-07-28'] },
};
const discovery = (x: Incoming): void =>
  x.json({
    jsonrpc: '2.0',
    id: x.id,
    result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  });

test('a server of both eras is spoken to in the era of each client', async (t) => {
  const server = await startModern('both');
  t.after(() => server.close());
  for (const target of [remoteTarget(server.url), modernTarget('both')]) {
    const harness = await gateway(t, target);
    assert.equal(await serverEra.legacy(harness), 'legacy');
    assert.equal(await serverEra.modern(harness), 'modern');
  }
  assert.deepEqual(methodsOf(server.seen), ['initialize', 'server/discover', 'tools/list']);
});

test('a server of one era is asked in the other one once, and then no more', async (t) => {
  const modern = await startModern('modern');
  t.after(() => modern.close());
  const one = await gateway(t, remoteTarget(modern.url));
  for (let i = 0; i < 2; i++) assert.equal(await serverEra.legacy(one), 'modern');
  assert.deepEqual(methodsOf(modern.seen), ['initialize', 'server/discover', 'server/discover']);
  const legacy = await startRemote(t);
  legacy.stateful = false;
  const other = await gateway(t, remoteTarget(legacy.url));
  legacy.methods['server/discover'] = refusal(400, { code: -32000, message: 'Bad Request: no session' });
  for (let i = 0; i < 2; i++) {
    assert.equal(await serverEra.modern(other), 'legacy');
    // The next client of the same caller would get the same session.
    other.use(mcpBackend({ key: `backend-${i + 2}`, targets: [remoteTarget(legacy.url)] }));
  }
  assert.deepEqual(
    methodsOf(legacy.seen).filter((method) => method !== 'tools/list'),
    ['server/discover', 'initialize', 'initialize'],
  );
});

test('a verdict that is wrong by now is corrected', async (t) => {
  const server = await startRemote(t);
  server.stateful = false;
  server.methods['initialize'] = refusal(400, unsupported);
  server.methods['server/discover'] = discovery;
  const harness = await gateway(t, remoteTarget(server.url));
  assert.equal(await serverEra.legacy(harness), 'modern');
  // The same address serves another program now.
  delete server.methods['initialize'];
  server.methods['server/discover'] = refusal(404);
  assert.equal(await serverEra.legacy(harness), 'legacy');
  server.seen.length = 0;
  assert.equal(await serverEra.legacy(harness), 'legacy');
  assert.deepEqual(methodsOf(server.seen), ['initialize']);
});

for (const [what, refuse] of [
  ['-32601', refusal(404, { code: -32601, message: 'Method not found' })],
  ['-32602 for the missing _meta', refusal(400, { code: -32602, message: 'Invalid params' })],
  ['-32020 for the missing headers', refusal(400, { code: -32020, message: 'Header mismatch' })],
  ['400 without a message', refusal(400)],
  ['405', refusal(405)],
] as const)
  test(`a modern server may refuse initialize with ${what}`, async (t) => {
    const server = await startRemote(t);
    server.stateful = false;
    server.methods['initialize'] = refuse;
    server.methods['server/discover'] = discovery;
    assert.equal(await serverEra.legacy(await gateway(t, remoteTarget(server.url))), 'modern');
  });

test('a malformed initialize of one client leaves the other clients in their era', async (t) => {
  const server = await startRemote(t);
  server.stateful = false;
  server.methods['initialize'] = (x) => {
    const { protocolVersion, clientInfo } = x.seen.message.params ?? {};
    if (clientInfo === undefined) refusal(200, { code: -32602, message: 'Invalid params' })(x);
    else {
      const result = { protocolVersion, capabilities: {}, serverInfo: { name: 'both', version: '1' } };
      x.json({ jsonrpc: '2.0', id: x.id, result });
    }
  };
  server.methods['server/discover'] = discovery;
  const harness = await gateway(t, remoteTarget(server.url));
  const client = new RawClient(harness.url);
  const params = { protocolVersion: '2025-11-25', capabilities: {} };
  await client.post(client.request('initialize', params));
  assert.equal(server.of('server/discover').length, 1);
  assert.equal(await serverEra.legacy(harness), 'legacy');
});

for (const [code, hasSpoken] of [
  [-32603, false],
  [-32602, true],
] as const)
  test(`a server that answers server/discover with ${code} once is asked in the modern era again`, async (t) => {
    const server = await startRemote(t);
    server.stateful = false;
    server.methods['tools/list'] = (x) =>
      x.json({ jsonrpc: '2.0', id: x.id, result: { resultType: 'complete', tools: [] } });
    const harness = await gateway(t, remoteTarget(server.url));
    let backends = 0;
    const next = (answer: (x: Incoming) => void): Promise<string> => {
      server.methods['server/discover'] = answer;
      // The next client of the same caller would get the same session.
      harness.use(mcpBackend({ key: `backend-${++backends}`, targets: [remoteTarget(server.url)] }));
      return serverEra.modern(harness);
    };
    if (hasSpoken) assert.equal(await next(discovery), 'modern');
    assert.equal(await next(refusal(200, { code, message: 'not now' })), 'legacy');
    assert.equal(await next(discovery), 'modern');
  });

test('the gateway asks a server again in the era that it refused half an hour ago', () => {
  let now = 0;
  const verdicts = new EraVerdicts(() => now);
  assert.equal(verdicts.record('server', 'legacy', true), true);
  assert.equal(verdicts.record('server', 'modern', false), true);
  now += 30 * 60_000 - 1;
  assert.equal(verdicts.first('server', 'modern'), 'legacy');
  now++;
  assert.equal(verdicts.first('server', 'modern'), 'modern');
  assert.equal(verdicts.speaks('server', 'legacy'), true);
  assert.equal(verdicts.record('server', 'modern', false), true);
  assert.equal(verdicts.first('server', 'modern'), 'legacy');
});

test('a server that refuses both first requests is quoted with its answer to the client’s own', async (t) => {
  const server = await startRemote(t);
  server.methods['initialize'] = refusal(400, { code: -32602, message: 'no such client' });
  server.methods['server/discover'] = refusal(404);
  const harness = await gateway(t, remoteTarget(server.url));
  const client = new RawClient(harness.url);
  assert.match((await client.initialize()).text, /no such client/);
  assert.deepEqual(methodsOf(server.seen), ['initialize', 'server/discover']);
});

for (const status of [401, 403, 429, 500, 503])
  test(`status ${status} says nothing about the era`, async (t) => {
    const server = await startRemote(t);
    for (const method of ['initialize', 'server/discover']) server.methods[method] = refusal(status);
    const harness = await gateway(t, remoteTarget(server.url));
    const client = new RawClient(harness.url);
    assert.notEqual((await client.initialize()).json.error, undefined);
    await assert.rejects(serverEra.modern(harness));
    const asked = new Set(methodsOf(server.seen));
    // A client may try again, but each time in its own era.
    assert.deepEqual([...asked], ['initialize', 'server/discover']);
    assert.equal(server.of('initialize').length, 1);
  });

test('a server that cannot be reached says nothing about its era', async (t) => {
  const server = await RemoteServer.start();
  const target = remoteTarget(server.url);
  await server.close();
  const harness = await gateway(t, target);
  const client = new RawClient(harness.url);
  assert.match((await client.initialize()).text, /cannot be reached/);
  await assert.rejects(serverEra.modern(harness));
});

/** A child that knows `initialize` and `tools/list`, and does something else at any other request. */
const oldChild = (otherwise: string, settings = {}) => {
  const program = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      const reply = (rest) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...rest }));
      if (id === undefined) return;
      if (method === 'initialize') reply({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } } });
      else if (method === 'tools/list') reply({ result: { tools: [] } });
      else { ${otherwise} }
    });`;
  return stdioTarget({ name: 'old', args: ['-e', program], ...settings });
};

for (const [what, otherwise] of [
  [
    'answers an unknown request with an error',
    `reply({ error: { code: -32000, message: 'not initialized' } });`,
  ],
  ['answers an unknown request with an empty result', 'reply({ result: {} });'],
  ['dies of an unknown request', 'process.exit(1);'],
  ['does not answer an unknown request', ''],
] as const)
  test(`a modern client is served by a child that ${what}`, async (t) => {
    const harness = await gateway(t, oldChild(otherwise, { startTimeoutMs: 4_000 }));
    assert.equal(await serverEra.modern(harness), 'legacy');
  });

/** A child of both eras. In a session that began with `initialize`, it refuses requests that say their revision. */
const childOfBoth = (discover: string, settings = {}) =>
  oldChild('', {
    args: [
      '-e',
      `
      const { existsSync } = require('node:fs');
      let isLegacy = false;
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        const reply = (rest) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...rest }));
        const capabilities = { tools: {} };
        if (method === 'server/discover') {
          ${discover}
          reply({ result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities } });
        } else if (method === 'initialize') {
          isLegacy = true;
          const serverInfo = { name: 'both', version: '1' };
          reply({ result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } });
        } else if (isLegacy && params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined)
          reply({ error: { code: -32600, message: 'this connection serves the other era' } });
        else if (method === 'tools/list')
          reply({ result: { ...(!isLegacy && { resultType: 'complete' }), tools: [] } });
      });`,
    ],
    ...settings,
  });

test('a child of both eras that is slow to answer server/discover serves a modern client in a session', async (t) => {
  const harness = await gateway(t, childOfBoth('return;', { startTimeoutMs: 4_000 }));
  assert.equal(await serverEra.modern(harness), 'legacy');
});

test('a child that has spoken the modern era and dies once is asked in the modern era again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-era-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const trouble = join(folder, 'trouble');
  const target = childOfBoth(`if (existsSync(${JSON.stringify(trouble)})) process.exit(1);`);
  const harness = await gateway(t, target);
  const eras: string[] = [];
  for (const hasTrouble of [false, true, false]) {
    if (hasTrouble) writeFileSync(trouble, '');
    else rmSync(trouble, { force: true });
    // The next client of the same caller would get the same session.
    harness.use(mcpBackend({ key: `backend-${eras.length}`, targets: [target] }));
    eras.push(await serverEra.modern(harness));
  }
  assert.deepEqual(eras, ['modern', 'legacy', 'modern']);
});

test('a legacy client is served by a modern child, without a probe of later sessions', async (t) => {
  const harness = await gateway(t, modernTarget());
  for (let i = 0; i < 2; i++) assert.equal(await serverEra.legacy(harness), 'modern');
  const started = harness.log.filter(({ message }) => message === 'Target started');
  assert.equal(started.length, 3, 'one child more than sessions');
});

/** A legacy server that holds a folder as a lock, and leaves slowly. */
const lockingProgram = `
  const { mkdirSync, rmdirSync } = require('node:fs');
  const [folder] = process.argv.slice(1);
  mkdirSync(folder);
  const answer = (id, said) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
  require('node:readline')
    .createInterface({ input: process.stdin })
    .on('line', (line) => {
      const { id, method } = JSON.parse(line);
      const capabilities = { tools: {} };
      const serverInfo = { name: 'locks', version: '1' };
      if (method === 'initialize')
        answer(id, { result: { protocolVersion: '2025-11-25', capabilities, serverInfo } });
      else if (method === 'tools/list') answer(id, { result: { tools: [] } });
      else if (id !== undefined) answer(id, { error: { code: -32601, message: 'Method not found' } });
    })
    .on('close', () => setTimeout(() => rmdirSync(folder), 200));
`;

for (const scope of ['session', 'user'] as const)
  test(`a child is asked in the other era when the one before has ended (scope: ${scope})`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-era-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const args = ['-e', lockingProgram, join(folder, 'lock')];
    const harness = await gateway(t, stdioTarget(scope === 'user' ? { args, scope } : { args }));
    assert.equal(await serverEra.modern(harness), 'legacy');
  });

test('a session that ends while its server is asked in the other era leaves nothing behind', async (t) => {
  const harness = await gateway(t, oldChild('', { startTimeoutMs: 60_000 }));
  const client = new RawClient(harness.url);
  const abort = new AbortController();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const asking = client.fetch(
    client.request('tools/list', { _meta: meta }),
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    abort.signal,
  );
  while (harness.runtime.view().children === 0) await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  await assert.rejects(asking);
  await harness.runtime.close(500);
  assert.equal(harness.runtime.view().children, 0);
});
