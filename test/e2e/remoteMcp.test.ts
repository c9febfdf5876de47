/** The gateway in front of MCP servers over the network: TLS, tokens and rules, and sessions that stay where they are. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { authentication, inline, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const mcp = (target: object): object[] => [{ mcp: { targets: [{ name: 'far', ...target }] } }];

const config = (routes: readonly object[], backends: readonly object[] = []): string =>
  inline({ backends, binds: [{ port: 0, listeners: [{ routes }] }] });

async function start(t: TestContext, tls?: { cert: string; key: string }): Promise<RemoteServer> {
  const server = await RemoteServer.start(0, tls);
  t.after(() => server.close());
  return server;
}

test('a server behind TLS is reached where its certificate is trusted, and nowhere else', async (t) => {
  const ca = authority();
  const server = await start(t, ca.issue({ names: ['localhost'] }));
  const host = `https://localhost:${server.port}/mcp`;
  const at = (path: string, policies: object): object => ({
    matches: [{ path: { exact: path } }],
    backends: mcp({ mcp: { host }, policies }),
  });
  await using gateway = await startGateway(
    config([at('/trusted', { backendTLS: { root: ca.cert } }), at('/foreign', {})]),
  );
  const session = await openSession(`${gateway.url}/trusted`);
  assert.equal(resultText(await session.call('echo', { text: 'over TLS' })), 'over TLS');
  await session.close();
  const refused = await fetch(`${gateway.url}/foreign`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
  });
  assert.match(await refused.text(), /"target \\"far\\" cannot be reached: TLS with it fails"/);
  await until('the line', () => gateway.log().includes('upstream_tls_failed'));
  assert.equal(server.of('initialize').length, 1);
});

test('tokens are checked and rules hold as for children, and a token goes on only where that is said', async (t) => {
  const server = await start(t);
  server.listed = () => ['echo', 'hidden'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  await using idp = await startIdp();
  const authorization = { rules: [{ if: 'mcp.tool.name == "echo" && mcp.tool.target == "far"' }] };
  const at = (path: string, policies: object): object => ({
    matches: [{ path: { exact: path } }],
    policies: { mcpAuthentication: authentication(idp, { authorization }) },
    backends: mcp({ mcp: { backend: '/app', path: '/mcp' }, policies }),
  });
  await using gateway = await startGateway(
    config(
      [at('/ours', {}), at('/theirs', { backendAuth: { passthrough: {} } })],
      [{ name: 'app', host: `127.0.0.1:${server.port}` }],
    ),
  );
  await gateway.keysReady();
  const token = await idp.issueToken({ user: 'alice' });
  for (const [path, sent] of [
    ['/ours', undefined],
    ['/theirs', `Bearer ${token}`],
  ] as const) {
    server.seen.length = 0;
    const session = await openSession(gateway.url + path, token);
    const { result } = await session.request('tools/list');
    const names = (result?.['tools'] as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(names, ['echo']);
    assert.equal((await session.call('hidden')).error?.message, 'Unknown tool: hidden');
    assert.equal(resultText(await session.call('echo', { text: path })), path);
    await session.close();
    await until('the end of the session', () => server.of('DELETE').length === 1);
    assert.equal(server.of('tools/call').length, 1);
    for (const { headers } of server.seen) assert.equal(headers.authorization, sent);
  }
  assert.doesNotMatch(gateway.log() + gateway.accessLog(), new RegExp(token));
  const labels = { method: 'tools/call', target: 'far', outcome: 'denied' };
  assert.equal(await gateway.metric('portcullis_mcp_requests_total', labels), 2);
});

test('a session stays with the address that opened it, and goes to another one when that is gone', async (t) => {
  const servers = [await start(t), await start(t)];
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  await using gateway = await startGateway(
    config(
      [{ backends: mcp({ mcp: { backend: 'app', path: '/mcp' } }) }],
      [{ name: 'app', host: 'app.test:80', addresses }],
    ),
  );
  const session = await openSession(`${gateway.url}/mcp`);
  for (let i = 0; i < 6; i++) assert.equal(resultText(await session.call('echo', { text: `${i}` })), `${i}`);
  const home = servers.find((server) => server.of('initialize').length === 1)!;
  const other = servers.find((server) => server !== home)!;
  assert.equal(home.of('tools/call').length, 6);
  assert.equal(other.seen.length, 0);
  await home.close();
  await until(
    'the session goes on',
    async () => (await session.call('echo', { text: 'on' })).error === undefined,
  );
  assert.equal(other.of('initialize').length, 1);
  await session.close();
});
