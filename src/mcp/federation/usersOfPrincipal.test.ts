/** Users of one principal with credentials of their own: the answers of a server to one user count for that user only. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { HttpRequest } from '../../http/index.ts';
import type { McpBackend } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import { catalog, mcpBackend, remoteTarget, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';

/** The token is a header for servers over HTTP, or a value for children. */
type Kind = 'header' | 'value';

const tokenOf = (request: HttpRequest): string => request.header('x-token') ?? '';

const callers: Readonly<Record<Kind, (request: HttpRequest) => Caller>> = {
  header: (request) => ({ principal: 'frontend', credentialsDigest: () => tokenOf(request) }),
  value: (request) => ({
    principal: undefined,
    environment: (name) =>
      name === 'keyed' ? { values: { TOKEN: tokenOf(request) }, digest: tokenOf(request) } : undefined,
  }),
};

async function start(t: TestContext, settings: Partial<McpBackend>, kind: Kind = 'header'): Promise<Harness> {
  const harness = await startHarness({
    backend: mcpBackend(settings),
    caller: callers[kind],
    headers: (request) => [['x-token', tokenOf(request)]],
  });
  t.after(() => harness.close());
  return harness;
}

async function open({ url }: Harness, token: string): Promise<RawClient> {
  const client = new RawClient(url, { 'x-token': token });
  await client.initialize();
  return client;
}

async function ask(client: RawClient, message: object): Promise<Message> {
  const { json, events } = await client.post(message);
  return events.at(-1) ?? json;
}

async function toolsOf(client: RawClient): Promise<string> {
  const { result } = await ask(client, client.request('tools/list'));
  return (result?.['tools'] as { name: string }[]).map(({ name }) => name).join();
}

const plain = catalog({ name: 'plain', tools: ['read'] });
/** A child that starts only with the token `good`. */
const keyed = {
  ...catalog({ name: 'keyed', tools: ['read'] }),
  cmd: '/bin/sh',
  injected: { TOKEN: { kind: 'header', header: 'x-token' } },
} as const;

test('a server over HTTP that refuses the token of one user serves the next user of the principal', async (t) => {
  const server = await startRemote(t);
  server.methods['initialize'] = (x) => {
    const { protocolVersion } = x.seen.message.params as { protocolVersion: string };
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'k', version: '1' } };
    const isGood = x.seen.headers['x-token'] === 'good';
    x.json({
      jsonrpc: '2.0',
      id: x.id,
      ...(isGood ? { result } : { error: { code: -32000, message: 'wrong token' } }),
    });
  };
  server.stateful = false;
  const targets = [remoteTarget(server.url, { name: 'keyed' }), plain];
  const harness = await start(t, { targets, failOpen: true });
  assert.equal(await toolsOf(await open(harness, 'bad')), 'plain_read');
  assert.equal(await toolsOf(await open(harness, 'good')), 'keyed_echo,plain_read');
});

test('a child that ends because of the token of one user starts for the next anonymous user', async (t) => {
  const program = `test "$TOKEN" = good && exec "$@"`;
  const child = { ...keyed, args: ['-c', program, 'sh', process.execPath, ...keyed.args] };
  const harness = await start(t, { targets: [child, plain], failOpen: true }, 'value');
  assert.equal(await toolsOf(await open(harness, 'bad')), 'plain_read');
  assert.equal(await toolsOf(await open(harness, 'good')), 'keyed_read,plain_read');
});

test('a name that one user sees at a target stays at the target where the other user sees it', async (t) => {
  const server = await startRemote(t);
  server.methods['tools/list'] = (x) =>
    x.json({
      jsonrpc: '2.0',
      id: x.id,
      result: {
        tools: x.seen.headers['x-token'] === 'ada' ? [{ name: 'read', inputSchema: { type: 'object' } }] : [],
      },
    });
  server.tools['read'] = (x) => x.json(x.result('keyed: read'));
  const targets = [remoteTarget(server.url, { name: 'keyed' }), plain];
  const harness = await start(t, { targets, prefixMode: 'never' });
  const [ada, bob] = [await open(harness, 'ada'), await open(harness, 'bob')];
  assert.equal(await toolsOf(bob), 'read');
  assert.equal(await bob.call('read'), 'plain: read');
  assert.equal(await toolsOf(ada), 'read');
  assert.equal(await ada.call('read'), 'keyed: read');
  assert.equal(await bob.call('read'), 'plain: read');
});

test('a session whose client renews its token calls the tools that it has listed', async (t) => {
  const server = await startRemote(t);
  const targets = [remoteTarget(server.url, { name: 'keyed' }), plain];
  const harness = await start(t, { targets, prefixMode: 'never' });
  const client = await open(harness, 'first');
  assert.equal(await toolsOf(client), 'echo,read');
  const renewed = new RawClient(harness.url, { 'x-token': 'second' });
  renewed.sessionId = client.sessionId;
  assert.equal(await renewed.call('read'), 'plain: read');
  assert.equal(await toolsOf(renewed), 'echo,read');
  assert.equal(await renewed.call('read'), 'plain: read');
});

test('a tool that one user has listed demands no header from the other user', async (t) => {
  const server = await startRemote(t);
  server.methods['tools/list'] = (x) => {
    const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
    const inputSchema = { type: 'object', ...(x.seen.headers['x-token'] === 'ada' && { properties }) };
    x.json({ jsonrpc: '2.0', id: x.id, result: { tools: [{ name: 'echo', inputSchema }] } });
  };
  const { url } = await start(t, { targets: [remoteTarget(server.url)] });
  const clientOf = (token: string): RawModernClient => new RawModernClient(url, {}, { 'x-token': token });
  const [ada, bob] = [clientOf('ada'), clientOf('bob')];
  const call = { name: 'echo', arguments: { region: 'eu', text: 'x' } };
  await ada.post('tools/list');
  assert.equal((await ada.post('tools/call', call)).status, 400);
  assert.equal((await bob.post('tools/call', call)).status, 200);
});
