/** Servers that speak another era than they did when their sessions began. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { McpTarget } from '../../../model/index.ts';
import { mcpBackend, remoteTarget, startHarness, stdioTarget, type Harness } from '../../harness.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { RawModernClient } from '../../rawModernClient.testing.ts';
import { quick } from '../../remote.testing.ts';
import { startRemote, type Incoming, type RemoteServer } from '../../remoteServer.testing.ts';

async function gateway(t: TestContext, ...targets: readonly McpTarget[]): Promise<Harness> {
  const harness = await startHarness({
    backend: mcpBackend({ targets }),
    caller: () => ({ principal: 'alice' }),
    runtime: { restart: quick },
  });
  t.after(() => harness.close());
  return harness;
}

const unsupported = (x: Incoming): void =>
  x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32022, message: 'Unsupported', data: {} } }, 400);

/** The next program at the address speaks the modern era only. */
function upgrade(server: RemoteServer): void {
  const { echo } = server.tools;
  server.stateful = false;
  server.methods['initialize'] = unsupported;
  server.methods['server/discover'] = (x) =>
    x.json({
      jsonrpc: '2.0',
      id: x.id,
      result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
    });
  server.tools['said'] = (x) => (x.seen.headers['mcp-method'] === undefined ? unsupported(x) : echo!(x));
}

/** The next program at the address speaks the legacy era only. */
function rollBack(server: RemoteServer, stateful: boolean, status: number): void {
  const { echo } = server.tools;
  const refuse = (x: Incoming): void =>
    x.json({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'Bad Request' } }, status);
  delete server.methods['initialize'];
  server.methods['server/discover'] = refuse;
  server.stateful = stateful;
  server.tools['said'] = (x) => (x.seen.headers['mcp-method'] === undefined ? echo!(x) : refuse(x));
  if (stateful)
    server.methods['tools/call'] = (x) =>
      x.seen.headers['mcp-session-id'] === undefined ? refuse(x) : server.tools['said']!(x);
}

const call = { name: 'said', arguments: { text: 'x' } };

/** Calls until the call succeeds, and answers the messages of the errors before. */
async function failuresBefore(success: () => Promise<string | undefined>): Promise<readonly string[]> {
  const failures: string[] = [];
  for (;;) {
    const failure = await success();
    if (failure === undefined) return failures;
    failures.push(failure);
    assert.ok(failures.length < 5, failures.join('\n'));
  }
}

/** The two clients of a gateway; each call answers the words of its error, if it has one. */
async function clientsOf({ url }: Harness) {
  const modern = new RawModernClient(url);
  const legacy = new RawClient(url);
  await legacy.initialize();
  return {
    modern: async (name = 'said') => {
      const { json } = await modern.post('tools/call', { ...call, name });
      return json.error?.message;
    },
    legacy: async (name = 'said') => {
      const { status, json } = await legacy.post(legacy.tool(name, { text: 'x' }));
      // As a client does that hears that its session is over.
      if (status === 404) await legacy.initialize();
      return json.error?.message;
    },
  };
}

for (const era of ['modern', 'legacy'] as const)
  test(`a ${era} client goes on when the server at a URL is replaced by one of the modern era`, async (t) => {
    const server = await startRemote(t);
    server.tools['said'] = server.tools['echo']!;
    server.methods['server/discover'] = (x) => x.status(400);
    const harness = await gateway(t, remoteTarget(server.url));
    const clients = await clientsOf(harness);
    assert.equal(await clients[era](), undefined);
    upgrade(server);
    const failures = await failuresBefore(clients[era]);
    assert.match(failures[0]!, /speaks another era of MCP now/);
    assert.equal(harness.runtime.view().sessions.at(-1)!.targets[0]?.era, 'modern');
  });

for (const era of ['modern', 'legacy'] as const)
  for (const [stateful, status] of [
    [true, 400],
    [true, 422],
    [false, 400],
  ] as const)
    test(`a ${era} client goes on when the server at a URL is replaced by one of the legacy era ${stateful ? 'with' : 'without'} sessions, which answers with status ${status}`, async (t) => {
      const server = await startRemote(t);
      upgrade(server);
      const harness = await gateway(t, remoteTarget(server.url));
      const clients = await clientsOf(harness);
      assert.equal(await clients[era](), undefined);
      rollBack(server, stateful, status);
      await failuresBefore(clients[era]);
      assert.equal(harness.runtime.view().sessions.at(-1)!.targets[0]?.era ?? 'legacy', 'legacy');
      const changes = harness.log.filter(({ message }) => message === 'Era of the target changed');
      assert.deepEqual(
        changes.map(({ fields }) => fields['before']),
        ['modern'],
      );
    });

test('a modern server that answers one request with a plain status 400 keeps its sessions', async (t) => {
  const server = await startRemote(t);
  upgrade(server);
  server.tools['odd'] = (x) => x.status(400);
  const harness = await gateway(t, remoteTarget(server.url));
  const clients = await clientsOf(harness);
  await clients.modern();
  const before = server.of('server/discover').length;
  for (const one of [clients.modern, clients.legacy]) {
    assert.match((await one('odd'))!, /status 400/);
    assert.equal(await one(), undefined);
  }
  assert.equal(server.of('server/discover').length, before + 2);
  assert.equal(harness.runtime.view().sessions.length, 2);
});

test('a reload that names a server of the other era under the same name keeps the clients', async (t) => {
  const [former, next] = [await startRemote(t), await startRemote(t)];
  former.tools['said'] = former.tools['echo']!;
  former.methods['server/discover'] = (x) => x.status(400);
  upgrade(next);
  const harness = await gateway(t, remoteTarget(former.url));
  const clients = await clientsOf(harness);
  for (const one of [clients.modern, clients.legacy]) assert.equal(await one(), undefined);
  harness.use(mcpBackend({ targets: [remoteTarget(next.url)] }));
  for (const one of [clients.modern, clients.legacy]) await failuresBefore(one);
});

test('another process tells a client to begin anew when the server of its session speaks the modern era by now', async (t) => {
  const server = await startRemote(t);
  server.tools['said'] = server.tools['echo']!;
  const start = () =>
    startHarness({
      backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
      runtime: { keyHolders: 'others' },
    });
  const [here, there] = [await start(), await start()];
  for (const harness of [here, there]) t.after(() => harness.close());
  const client = new RawClient(here.url);
  await client.initialize();
  upgrade(server);
  server.methods['ping'] = unsupported;
  const moved = new RawClient(there.url);
  moved.sessionId = client.sessionId;
  assert.equal((await moved.post(moved.tool('said', { text: 'x' }))).status, 404);
  await moved.initialize();
  assert.equal(await moved.call('said', { text: 'x' }), 'x');
});

test('one target of several changes its era, and the others stay as they are', async (t) => {
  const server = await startRemote(t);
  server.tools['said'] = server.tools['echo']!;
  server.methods['server/discover'] = (x) => x.status(400);
  const harness = await gateway(t, remoteTarget(server.url), stdioTarget());
  const clients = await clientsOf(harness);
  const pid = async (): Promise<string> => {
    const { json } = await new RawModernClient(harness.url).post('tools/call', { name: 'fixture_pid' });
    return (json.result!['content'] as { text: string }[])[0]!.text;
  };
  const before = await pid();
  for (const one of [clients.modern, clients.legacy]) assert.equal(await one('remote_said'), undefined);
  upgrade(server);
  for (const one of [clients.modern, clients.legacy]) await failuresBefore(() => one('remote_said'));
  assert.equal(await pid(), before);
});

/** A child of the era that a file names. */
const childOf = (file: string, settings = {}) =>
  stdioTarget({
    args: [
      '-e',
      `
      const isModern = require('node:fs').readFileSync(${JSON.stringify(file)}, 'utf8') === 'modern';
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        if (id === undefined) return;
        const reply = (rest) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...rest }));
        const capabilities = { tools: {} };
        const refused = { error: { code: isModern ? -32022 : -32601, message: 'no' } };
        if (method === 'server/discover')
          reply(isModern ? { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities } } : refused);
        else if (method === 'initialize') {
          const { protocolVersion } = params;
          reply(isModern ? refused : { result: { protocolVersion, capabilities, serverInfo: { name: 'n', version: '1' } } });
        } else if (params.name === 'crash') process.exit(1);
        else reply({ result: { content: [{ type: 'text', text: 'said' }] } });
      });`,
    ],
    ...settings,
  });

for (const scope of ['session', 'user'] as const)
  for (const [before, after] of [
    ['legacy', 'modern'],
    ['modern', 'legacy'],
  ] as const)
    for (const era of ['modern', 'legacy'] as const)
      test(`a ${era} client goes on when a ${before} child starts again as a ${after} one (scope: ${scope})`, async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'portcullis-era-'));
        t.after(() => rmSync(folder, { recursive: true }));
        const file = join(folder, 'era');
        writeFileSync(file, before);
        const harness = await gateway(t, childOf(file, { scope }));
        const clients = await clientsOf(harness);
        assert.equal(await clients[era](), undefined);
        writeFileSync(file, after);
        assert.notEqual(await clients[era]('crash'), undefined);
        await failuresBefore(clients[era]);
        assert.equal(harness.runtime.view().sessions.at(-1)!.targets[0]?.era ?? 'legacy', after);
      });
