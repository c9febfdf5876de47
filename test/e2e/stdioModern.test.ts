/** `portcullis stdio` and clients of revision 2026-07-28, with the real program and the client of the SDK. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { launcher } from '../../src/launcher.testing.ts';
import { everything, fixture } from '../../src/mcp/harness.testing.ts';
import { modernTarget } from '../../src/mcp/modernServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { inline } from './stage.testing.ts';

const legacy = { name: 'everything', stdio: { cmd: process.execPath, args: [everything, 'stdio'] } };
const { cmd, args } = modernTarget('modern');
const modern = { name: 'modern', stdio: { cmd, args: [...args] } };

async function connect(
  t: TestContext,
  target: object,
  mode: 'auto' | 'legacy' | { pin: string } = { pin: '2026-07-28' },
  policies: object = {},
): Promise<Client> {
  const client = new Client(
    { name: 'desktop', version: '1' },
    { capabilities: { elicitation: { form: {} }, sampling: {} }, versionNegotiation: { mode } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [launcher, 'stdio', '-c', inline({ mcp: { policies, targets: [target] } })],
      stderr: 'ignore',
    }),
  );
  t.after(() => client.close());
  return client;
}

async function call(client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> {
  const result = (await client.callTool({ name, arguments: input })) as {
    readonly content: readonly { readonly text?: string }[];
  };
  return result.content.map(({ text }) => text ?? '').join('\n');
}

test('an automatic client agrees on 2026-07-28', async (t) => {
  const client = await connect(t, modern, 'auto');
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  assert.equal(await call(client, 'echo', { text: 'hello' }), 'hello');
});

test('a client of an older revision is served as before', async (t) => {
  const client = await connect(t, modern, 'legacy');
  assert.equal(await call(client, 'echo', { text: 'hello' }), 'hello');
});

test('a client answers a question, and calls with names and parameters that headers repeat', async (t) => {
  const client = await connect(t, modern);
  assert.match(await call(client, 'ask-name'), /Ada/);
  await client.listTools();
  const region = JSON.parse(await call(client, 'region', { region: 'Zürich', count: 3 })) as object;
  assert.deepEqual(region, { where: 'Zürich', count: 3 });
  const { contents } = await client.readResource({ uri: 'test://a' });
  assert.equal(contents.length, 1);
  const prompt = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
  assert.match(JSON.stringify(prompt.messages), /Hello Ada/);
});

test('rules hold: a hidden tool is in no list and cannot be called', async (t) => {
  const policies = { mcpAuthorization: { rules: ['mcp.tool.name != "crash"'] } };
  const client = await connect(t, modern, undefined, policies);
  const { tools } = await client.listTools();
  assert.ok(!tools.some(({ name }) => name === 'crash'));
  await assert.rejects(call(client, 'crash'), /Unknown tool: crash/);
});

test('a client that takes a call back ends it at the server, and its other calls go on', async (t) => {
  const client = await connect(t, modern);
  const abort = new AbortController();
  const heard = Promise.withResolvers<void>();
  const hanging = client.callTool(
    { name: 'hang', arguments: {} },
    { signal: abort.signal, onprogress: () => heard.resolve() },
  );
  hanging.catch(() => undefined);
  await heard.promise;
  abort.abort();
  await assert.rejects(hanging);
  await until('the server has ended the call', async () => (await call(client, 'cancelled')) === '1');
});

test('a client hears of changes while it listens', async (t) => {
  const client = await connect(t, modern);
  const changed = Promise.withResolvers<void>();
  client.setNotificationHandler('notifications/tools/list_changed', () => changed.resolve());
  const subscription = await client.listen({ toolsListChanged: true });
  await call(client, 'add', { name: 'another' });
  await changed.promise;
  await subscription.close();
  assert.equal(await call(client, 'echo', { text: 'still here' }), 'still here');
});

test('a client keeps one child of a server of an older revision', async (t) => {
  const client = await connect(t, { name: 'fixture', stdio: { cmd: process.execPath, args: [fixture] } });
  assert.equal(await call(client, 'pid'), await call(client, 'pid'));
});

test('a client answers the questions of a server of an older revision', async (t) => {
  const client = await connect(t, legacy);
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'echo'));
  assert.match(await call(client, 'echo', { message: 'hello' }), /hello/);
  const elicitation = tools.find(({ name }) => /elicitation/i.test(name) && !/url|async/i.test(name));
  assert.match(await call(client, elicitation!.name), /Ada/);
});
