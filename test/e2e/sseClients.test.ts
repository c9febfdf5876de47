/** Clients of HTTP+SSE (MCP 2024-11-05) at the real program: tokens, several workers, both forms of the configuration. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { everything } from '../../src/mcp/harness.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { apart } from './session.testing.ts';
import { authentication, inline, startIdp } from './stage.testing.ts';

const targets = [{ name: 'everything', stdio: { cmd: process.execPath, args: [everything, 'stdio'] } }];

async function connect(url: string, ask: typeof fetch = fetch): Promise<Client> {
  const client = new Client({ name: 'old', version: '1' });
  await client.connect(new SSEClientTransport(new URL(url), { fetch: ask }));
  return client;
}

const echo = async (client: Client, message: string): Promise<string> => {
  const { content } = await client.callTool({ name: 'echo', arguments: { message } });
  return (content as { text: string }[])[0]!.text;
};

test('the mcp form serves HTTP+SSE on /sse, to requests that reach any of two workers', async () => {
  await using gateway = await startGateway(inline({ config: { workers: 2 }, mcp: { port: 0, targets } }));
  const clients = await Promise.all(Array.from({ length: 4 }, () => connect(`${gateway.url}/sse`, apart)));
  for (let i = 0; i < 8; i++)
    assert.deepEqual(
      await Promise.all(clients.map((client, at) => echo(client, `${at}-${i}`))),
      clients.map((_client, at) => `Echo: ${at}-${i}`),
    );
  await Promise.all(clients.map((client) => client.close()));
  await until('no session is left', async () => (await gateway.metric('portcullis_mcp_sessions')) === 0);
  await until('no child is left', async () => (await gateway.metric('portcullis_mcp_children')) === 0);
});

test('tokens and rules apply to the stream and to every message', async () => {
  await using idp = await startIdp();
  const authorization = { rules: [{ if: 'mcp.tool.name == "echo"' }] };
  await using gateway = await startGateway(
    inline({
      binds: [
        {
          port: 0,
          listeners: [
            {
              routes: [
                {
                  policies: { mcpAuthentication: authentication(idp, { authorization }) },
                  backends: [{ mcp: { targets } }],
                },
              ],
            },
          ],
        },
      ],
    }),
  );
  await gateway.keysReady();
  const refused = await fetch(`${gateway.url}/sse`, { headers: { accept: 'text/event-stream' } });
  assert.equal(refused.status, 401);
  await refused.text();
  const [alice, bob] = [await idp.issueToken({ user: 'alice' }), await idp.issueToken({ client: 'guest' })];
  let endpoint: Request | undefined;
  const client = await connect(`${gateway.url}/sse`, (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${alice}`);
    const request = new Request(url, { ...init, headers });
    if (request.method === 'POST') endpoint = request.clone();
    return fetch(request);
  });
  assert.deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ['echo'],
  );
  assert.equal(await echo(client, 'mine'), 'Echo: mine');
  const ping = (authorization: object): Promise<Response> =>
    fetch(endpoint!.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
  for (const [headers, status] of [
    [{}, 401],
    [{ authorization: `Bearer ${bob}` }, 404],
    [{ authorization: `Bearer ${alice}` }, 202],
  ] as const) {
    const answer = await ping(headers);
    await answer.text();
    assert.equal(answer.status, status);
  }
  assert.ok(!gateway.log().includes('sessionId='), 'no log has the id of a session');
  await client.close();
});
