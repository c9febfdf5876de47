/** Limits of localRateLimit on the uses of tools, prompts and resources: examples/mcp/callLimits.yaml, with two users. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../apps/dev-idp/src/config.ts';
import { startDevIdp } from '../../apps/dev-idp/src/index.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { answerOf, openSession, resultText } from './session.testing.ts';

const fromRoot = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

interface Stage {
  readonly gateway: GatewayProcess;
  readonly server: RemoteServer;
  readonly url: string;
  readonly users: { readonly alice: string; readonly bob: string };
}

async function stage(t: TestContext, workers = '1'): Promise<Stage> {
  const idp = await startDevIdp({
    port: 0,
    config: await loadConfig(fromRoot('examples/quickstart/idp.yaml')),
  });
  const server = await RemoteServer.start();
  server.tools['search'] = (x) => x.json(x.result('found'));
  const gateway = await startGateway('', {
    args: ['-f', fromRoot('examples/mcp/callLimits.yaml')],
    env: { GATEWAY_PORT: '0', IDP_ISSUER: idp.issuer, MCP_URL: server.url, WORKER_THREADS: workers },
  });
  t.after(async () => {
    await gateway[Symbol.asyncDispose]();
    await Promise.all([server.close(), idp.close()]);
  });
  await gateway.keysReady();
  const users = {
    alice: await idp.issueToken({ user: 'alice' }),
    bob: await idp.issueToken({ user: 'bob' }),
  };
  return { gateway, server, url: `${gateway.url}/mcp`, users };
}

for (const workers of ['1', '2'])
  test(`each user has a share of each tool, in all sessions together, with ${workers} worker(s)`, async (t) => {
    const { gateway, server, url, users } = await stage(t, workers);
    const [alice, again, bob] = [
      await openSession(url, users.alice),
      await openSession(url, users.alice),
      await openSession(url, users.bob),
    ];
    assert.equal(resultText(await alice.call('echo', { text: '1' })), '1');
    assert.equal(resultText(await again.call('echo', { text: '2' })), '2');
    const refused = await alice.send('POST', {
      id: 7,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: '3' } },
    });
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/);
    assert.match(answerOf(await refused.text()).error?.message ?? '', /rate limit exceeded/);
    // Neither another tool, nor a list, nor another user shares the bucket.
    assert.equal(resultText(await alice.call('search')), 'found');
    for (let asked = 0; asked < 3; asked++) assert.ok((await alice.request('tools/list')).result);
    assert.equal(resultText(await bob.call('echo', { text: '4' })), '4');
    assert.equal(server.of('tools/call').length, 4);
    const line = await gateway.lineWith(' 429 ');
    assert.match(line, /policy=localRateLimit/);
    assert.match(line, /rule="2 at once[^"]*, key jwt\.sub/);
    assert.match(line, /place=binds(?!\S*binds)\S*localRateLimit\[0\]/);
    for (const session of [alice, again, bob]) await session.close();
  });

test('a modern client and a batch have the same share', async (t) => {
  const { server, url, users } = await stage(t);
  const headers = { authorization: `Bearer ${users.alice}` };
  const modern = new RawModernClient(new URL(url), {}, headers);
  for (const text of ['1', '2']) {
    const { status } = await modern.post('tools/call', { name: 'echo', arguments: { text } });
    assert.equal(status, 200);
  }
  const { status } = await modern.post('tools/call', { name: 'echo', arguments: { text: '3' } });
  assert.equal(status, 429);
  const session = await openSession(url, users.bob, { protocolVersion: '2025-03-26' });
  const call = (id: number): object => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text: String(id) } },
  });
  const batch = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${users.bob}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': session.id,
    },
    body: JSON.stringify([call(1), call(2), call(3)]),
  });
  assert.equal(batch.status, 200);
  const text = await batch.text();
  assert.equal(text.match(/rate limit exceeded/g)?.length, 1, text);
  assert.equal(server.of('tools/call').length, 4);
  await session.close();
});

test('a rule that names a tool which no server has is reported when the list is known, once', async (t) => {
  const server = await RemoteServer.start();
  const other = await RemoteServer.start();
  t.after(() => Promise.all([server.close(), other.close()]));
  for (const one of [server, other])
    one.listed = () => [
      { name: one === server ? 'echo' : 'search', inputSchema: { type: 'object', properties: {} } },
    ];
  const rules = [
    'mcp.tool.name == "ehco" && mcp.tool.arguments.text == "a"',
    'mcp.tool.name in ["echo", "search"]',
    'mcp.tool.name == "echo" && mcp.tool.arguments.query == "a"',
    'mcp.tool.name.startsWith("read_") && jwt.sub == "a"',
    { deny: 'mcp.tool.target == "b" && mcp.tool.name == "echo"' },
  ];
  const route = (path: string, targets: readonly object[]): object => ({
    matches: [{ path: { exact: path } }],
    policies: { mcpAuthorization: { rules } },
    backends: [{ mcp: { targets } }],
  });
  const target = (name: string, { url }: RemoteServer): object => ({ name, mcp: { host: url } });
  const routes = [
    route('/one', [target('a', server)]),
    route('/two', [target('a', server), target('b', other)]),
  ];
  await using gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }));
  const lines = (): string[] =>
    gateway
      .log()
      .split('\n')
      .filter((line) => line.includes('no server has'));
  for (const [path, expected] of [
    ['/one', ['ehco', 'search']],
    ['/two', ['ehco']],
  ] as const) {
    const before = lines().length;
    for (let round = 0; round < 2; round++) {
      const session = await openSession(`${gateway.url}${path}`);
      assert.ok((await session.request('tools/list')).result);
      await session.close();
    }
    await until(
      () => `the warnings of ${path}:\n${gateway.log()}`,
      () => lines().length >= before + expected.length,
    );
    const tools = lines()
      .slice(before)
      .map((line) => / tool=(\S+)/.exec(line)?.[1]);
    assert.deepEqual(tools, expected);
  }
  assert.match(
    gateway.log(),
    /no tool has .*argument=query policy=mcpAuthorization .*place=\S+mcpAuthorization\.rules\[2\]/,
  );
  const unmatched = gateway.log().matchAll(/matches no tool of the servers.*place=\S+(routes\S+rules\S+)/g);
  assert.deepEqual(
    Array.from(unmatched, ([, place]) => place?.replace('policies.mcpAuthorization.', '')),
    ['routes[0].rules[3]', 'routes[0].rules[4]', 'routes[1].rules[3]', 'routes[1].rules[4]'],
  );
});

test('another spelling of a resource has no share of its own', async () => {
  const limit = { maxTokens: 2, tokensPerFill: 1, fillInterval: '1h', key: 'mcp.resource.name' };
  const program = { cmd: process.execPath, args: [fromRoot('test/e2e/fixtures/sdk1Items.ts')] };
  const route = {
    policies: { localRateLimit: [limit] },
    backends: [{ mcp: { targets: [{ name: 'items', stdio: program }] } }],
  };
  await using gateway = await startGateway(
    JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [route] }] }] }),
  );
  const session = await openSession(`${gateway.url}/mcp`);
  const read = async (uri: string): Promise<number> =>
    (await session.send('POST', { id: 7, method: 'resources/read', params: { uri } })).status;
  assert.equal(await read('demo://resource/static/open'), 200);
  assert.equal(await read('DEMO://resource/./static/open'), 200);
  for (const uri of ['demo://resource/x/../static/open', 'demo://resource/static/%6fpen'])
    assert.equal(await read(uri), 429, uri);
  assert.equal(await read('demo://resource/dynamic/1'), 200);
  await session.close();
});
