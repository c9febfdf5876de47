import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { OpenApiTarget } from '../../../model/index.ts';
import { until } from '../../../until.testing.ts';
import { mcpBackend, startHarness, type Harness, type HarnessOptions } from '../../harness.testing.ts';
import { RawClient, type Message } from '../../rawClient.testing.ts';
import { apiTarget, jsonReply, petstoreText, startApi, tasksText, type TestApi } from './api.testing.ts';

interface Stage {
  readonly api: TestApi;
  readonly harness: Harness;
  /** A client of the SDK with a session. */
  client(): Promise<Client>;
  /** A client that sees every byte, with a session. */
  raw(): Promise<RawClient>;
}

async function stage(
  t: TestContext,
  text = petstoreText,
  settings: Partial<OpenApiTarget> = {},
  options: HarnessOptions = {},
): Promise<Stage> {
  const api = await startApi();
  const harness = await startHarness({
    backend: mcpBackend({ targets: [apiTarget(api.port, text, settings)] }),
    ...options,
  });
  t.after(async () => {
    await harness.close();
    await api[Symbol.asyncDispose]();
  });
  return {
    api,
    harness,
    client: async () => {
      const client = new Client({ name: 'test', version: '1' });
      const transport = new StreamableHTTPClientTransport(harness.url);
      await client.connect(transport as Parameters<typeof client.connect>[0]);
      t.after(() => client.close());
      return client;
    },
    raw: async () => {
      const client = new RawClient(harness.url);
      await client.initialize();
      return client;
    },
  };
}

interface Result {
  readonly content: readonly {
    readonly type: string;
    readonly text: string;
    readonly [more: string]: unknown;
  }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

const call = async (client: Client, name: string, given: Record<string, unknown> = {}): Promise<Result> =>
  (await client.callTool({ name, arguments: given })) as unknown as Result;

/** The response to one request. */
async function ask(client: RawClient, method: string, params: object = {}, id?: number): Promise<Message> {
  const { json, events } = await client.post(client.request(method, params, id));
  return events.at(-1) ?? json;
}

test('a client of the SDK lists the tools of an API and calls them', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  assert.deepEqual(client.getServerVersion(), { name: 'Petstore', version: '1.2.0' });
  assert.equal(client.getInstructions(), 'Pets that can be bought.');
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['listPets', 'createPet', 'getPet', 'delete_pets_petId', 'getPhoto', 'addPhoto', 'order'],
  );
  // The SDK checks the structured content against the recursive schema.
  const rex = { id: 7, name: 'Rex', owner: { name: 'Ann', pets: [{ id: 8, name: 'Tom' }] } };
  api.answer = () => jsonReply(rex);
  const found = await call(client, 'getPet', { path: { petId: 7 } });
  assert.deepEqual(found.structuredContent, rex);
  assert.deepEqual(JSON.parse(found.content[0]!.text), rex);
  assert.equal(api.seen[0]?.method, 'GET');
  assert.equal(api.seen[0]?.target, '/v2/pets/7');
  await call(client, 'createPet', { body: { name: 'Rex' } });
  assert.equal(api.seen[1]?.method, 'POST');
  assert.equal(api.seen[1]?.headers['content-type'], 'application/json');
  assert.equal(api.seen[1]?.body.toString(), '{"name":"Rex"}');
});

test('a client of the SDK uses a recursive description of 3.1', async (t) => {
  const { api, client: open } = await stage(t, tasksText);
  const client = await open();
  const task = { name: 'a', tasks: [{ name: 'b', parent: null, tasks: [] }] };
  api.answer = () => jsonReply(task);
  await client.listTools();
  const found = await call(client, 'get_projects_project_tasks', { path: { project: 'p' } });
  assert.deepEqual(found.structuredContent, task);
  api.answer = () => ({ status: 204 });
  const done = await call(client, 'replace_tasks', { path: { project: 'p' }, body: task });
  assert.deepEqual(done, { content: [{ type: 'text', text: 'HTTP 204 No Content' }] });
  assert.deepEqual(JSON.parse(api.seen[1]!.body.toString()), task);
});

test('answers that are no JSON object are content of their kind', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  api.answer = () => jsonReply([{ id: 1, name: 'a' }]);
  assert.deepEqual(await call(client, 'listPets'), {
    content: [{ type: 'text', text: '[{"id":1,"name":"a"}]' }],
  });
  api.answer = () => ({
    headers: { 'content-type': 'text/plain; charset=iso-8859-1' },
    body: Buffer.from([0xe9]),
  });
  assert.deepEqual(await call(client, 'order', { body: { petId: 1 } }), {
    content: [{ type: 'text', text: 'é' }],
  });
  api.answer = () => ({ headers: { 'content-type': 'image/png' }, body: Buffer.from([1, 2, 3]) });
  assert.deepEqual(await call(client, 'getPhoto', { path: { petId: 1 } }), {
    content: [{ type: 'image', data: 'AQID', mimeType: 'image/png' }],
  });
  api.answer = () => ({ headers: { 'content-type': 'application/pdf' }, body: Buffer.from([0xff, 0]) });
  assert.deepEqual(await call(client, 'listPets'), {
    content: [
      { type: 'resource', resource: { uri: 'answer:listPets', mimeType: 'application/pdf', blob: '/wA=' } },
    ],
  });
});

test('a status of failure is a result that the model can read, and shows no credential', async (t) => {
  const options = { headers: () => [['authorization', 'Bearer gateway-secret']] as const };
  const { api, client: open } = await stage(t, petstoreText, {}, options);
  const client = await open();
  await client.listTools();
  api.answer = ({ headers }) => ({
    ...jsonReply({ message: 'no such pet', seen: headers.authorization }, 404),
  });
  const missing = await call(client, 'getPet', { path: { petId: 1 } });
  assert.equal(missing.isError, true);
  assert.equal(missing.content[0]?.text, 'HTTP 404 Not Found\n\n{"message":"no such pet","seen":"…"}');
  assert.equal(api.seen[0]?.headers.authorization, 'Bearer gateway-secret');
  api.answer = () => ({ status: 302, headers: { location: '/elsewhere' } });
  assert.deepEqual(await call(client, 'listPets'), {
    content: [{ type: 'text', text: 'HTTP 302 Found\nLocation: /elsewhere' }],
    isError: true,
  });
  assert.equal(api.seen.length, 2);
  api.answer = () => ({ status: 500, body: 'x'.repeat(100_000) });
  const long = await call(client, 'listPets');
  assert.equal(long.content[0]?.text, `HTTP 500 Internal Server Error\n\n${'x'.repeat(16_384)}…`);
});

test('a success without the promised object says so, since strict clients refuse it otherwise', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  await client.listTools();
  api.answer = () => ({ status: 201 });
  const created = await call(client, 'createPet', { body: { name: 'Rex' } });
  assert.equal(created.isError, true);
  assert.match(created.content[0]!.text, /^HTTP 201 Created: the API did its part/);
});

test('wrong arguments are a result that the model can read, and no request', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  const { content, isError } = await call(client, 'getPet', { path: { petId: '../admin' } });
  assert.equal(isError, true);
  assert.match(content[0]!.text, /^Invalid arguments: path: /);
  assert.equal(api.seen.length, 0);
});

test('messages that an API cannot answer get the errors of the protocol', async (t) => {
  const { harness, raw } = await stage(t);
  const client = await raw();
  const codeOf = async (method: string, params: object = {}): Promise<number | undefined> =>
    (await ask(client, method, params)).error?.code;
  assert.equal(await codeOf('tools/call', { name: 'nothing' }), -32602);
  assert.equal(await codeOf('tools/list', { cursor: 'x' }), -32602);
  assert.equal(await codeOf('prompts/list'), -32601);
  assert.equal(await codeOf('logging/setLevel', { level: 'debug' }), -32601);
  assert.equal(await codeOf('ping'), undefined);
  assert.equal(harness.runtime.view().sessions[0]?.targets[0]?.state, 'ready');
});

test('the path of the configuration takes the place of the path of the server', async (t) => {
  const api = await startApi(() => jsonReply([]));
  const target = apiTarget(api.port, petstoreText, { path: '/mine?v=1' });
  const harness = await startHarness({ backend: mcpBackend({ targets: [target] }) });
  t.after(async () => {
    await harness.close();
    await api[Symbol.asyncDispose]();
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  await ask(client, 'tools/call', { name: 'listPets', arguments: { query: { limit: 1 } } });
  assert.equal(api.seen[0]?.target, '/mine/pets?v=1&limit=1');
});

test('a cancelled call ends its request', async (t) => {
  const { api, raw } = await stage(t);
  const client = await raw();
  api.answer = () => ({ silent: true });
  const answer = ask(client, 'tools/call', { name: 'listPets' }, 77);
  await until('the request', () => api.seen.length === 1);
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
  await until('the end of the request', () => api.aborted() === 1);
  await answer;
});

test('a call that takes too long fails, and its request ends', async (t) => {
  const { api, raw } = await stage(t, petstoreText, { callTimeoutMs: 50 });
  const client = await raw();
  api.answer = () => ({ silent: true });
  const { error } = await ask(client, 'tools/call', { name: 'listPets' });
  assert.equal(error?.message, 'target "shop" did not answer within 50 ms');
  await until('the end of the request', () => api.aborted() === 1);
});

test('an API that cannot be reached fails the call and not the session', async (t) => {
  const { api, raw, harness } = await stage(t);
  const client = await raw();
  await api[Symbol.asyncDispose]();
  const { error } = await ask(client, 'tools/call', { name: 'listPets' });
  assert.match(error?.message ?? '', /target "shop" cannot be reached/);
  assert.match(harness.runtime.view().sessions[0]?.targets[0]?.lastError ?? '', /cannot be reached/);
  assert.equal((await ask(client, 'ping')).error, undefined);
});

test('an answer that is too large fails the call', async (t) => {
  const { api, raw } = await stage(t, petstoreText, {}, { limits: { maxMcpMessageBytes: 10_000 } });
  const client = await raw();
  api.answer = () => jsonReply('x'.repeat(20_000));
  const declared = await ask(client, 'tools/call', { name: 'listPets' });
  assert.match(declared.error?.message ?? '', /more than limits\.maxMcpMessageBytes/);
  // Text and structured content together are too large.
  api.answer = () => jsonReply({ id: 1, name: 'x'.repeat(9_000) });
  const doubled = await ask(client, 'tools/call', { name: 'getPet', arguments: { path: { petId: 1 } } });
  assert.match(doubled.error?.message ?? '', /larger than limits\.maxMcpMessageBytes/);
});

test('an answer that stops halfway fails the call after limits.bodyTimeout', async (t) => {
  const { api, raw, harness } = await stage(t);
  const client = await raw();
  api.answer = () => ({ headers: { 'content-type': 'application/json' }, body: '[1,', unfinished: true });
  const answer = ask(client, 'tools/call', { name: 'listPets' });
  await until('the end of waiting', async () => {
    // Time passes for the session only: its clock is told, not waited for.
    harness.runtime.tick(performance.now() + harness.limits.bodyTimeoutMs + 1_000);
    return api.aborted() === 1;
  });
  assert.equal((await answer).error?.message, 'target "shop" did not answer in time');
});

test('a new thing without a body tells its place', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  api.answer = () => ({ status: 201, headers: { location: '/v2/orders/9' } });
  assert.deepEqual(await call(client, 'order', { body: { petId: 1 } }), {
    content: [{ type: 'text', text: 'HTTP 201 Created\nLocation: /v2/orders/9' }],
  });
});

test('a coding that was not asked for fails the call', async (t) => {
  const { api, raw } = await stage(t);
  const client = await raw();
  api.answer = () => ({ headers: { 'content-encoding': 'gzip' }, body: 'x' });
  const { error } = await ask(client, 'tools/call', { name: 'listPets' });
  assert.match(error?.message ?? '', /content-encoding gzip/);
  assert.equal(api.seen[0]?.headers['accept-encoding'], 'identity');
});

test('a changed description gives a live session new tools, and tells the client', async (t) => {
  const { api, harness, client: open } = await stage(t);
  const client = await open();
  let told = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void told++);
  await client.listTools();
  const use = (text: string): void => harness.use(mcpBackend({ targets: [apiTarget(api.port, text)] }));
  use(petstoreText);
  await client.ping();
  use(petstoreText.replace('operationId: getPet\n', 'operationId: findPet\n'));
  await client.ping();
  await until('the notification', () => told === 1);
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'findPet'));
  assert.equal(told, 1);
});

test('another process goes on with a session', async (t) => {
  const { api, harness, raw } = await stage(t, petstoreText, {}, { runtime: { keyHolders: 'others' } });
  const client = await raw();
  const second = await startHarness({
    backend: mcpBackend({ targets: [apiTarget(api.port, petstoreText)] }),
    runtime: { keyHolders: 'others' },
  });
  t.after(() => second.close());
  api.answer = () => jsonReply([]);
  const other = new RawClient(second.url);
  other.sessionId = client.sessionId;
  const { result } = await ask(other, 'tools/call', { name: 'listPets' });
  assert.deepEqual(result, { content: [{ type: 'text', text: '[]' }] });
  assert.equal(harness.runtime.view().sessions.length, 1);
});

test('a session waits for the description at a URL, and says why there is none', async (t) => {
  const { api, harness } = await stage(t);
  const url = `${api.url}/openapi.yaml`;
  const source = { kind: 'url', url, choice: {} } as const;
  harness.use(mcpBackend({ targets: [apiTarget(api.port, petstoreText, { source })] }));
  api.answer = () => ({ status: 404 });
  const refused = await new RawClient(harness.url).initialize();
  assert.equal(refused.json.error?.message, 'target "shop" has no usable API description');
  assert.match(JSON.stringify(harness.log), /"detail":"answered 404"/);
  // Another choice is another description, which no failed fetch holds up.
  const choice = { include: { tags: ['pets'], paths: [], operations: [] } };
  harness.use(
    mcpBackend({ targets: [apiTarget(api.port, petstoreText, { source: { ...source, choice } })] }),
  );
  api.answer = ({ target }) =>
    target === '/openapi.yaml' ? { body: petstoreText } : jsonReply([{ id: 1, name: 'a' }]);
  const client = new RawClient(harness.url);
  await client.initialize();
  const { result } = await ask(client, 'tools/list');
  assert.equal((result?.['tools'] as unknown[]).length, 3);
  assert.equal(await client.call('listPets'), '[{"id":1,"name":"a"}]');
});

test('an API stands beside other targets, with its name before its tools', async (t) => {
  const { api, harness, client: open } = await stage(t);
  const use = (text: string): void => {
    const targets = [apiTarget(api.port, text), apiTarget(api.port, tasksText, { name: 'work' })];
    harness.use(mcpBackend({ targets }));
  };
  use(petstoreText);
  const client = await open();
  const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
  assert.deepEqual((await names()).slice(-3), [
    'shop_order',
    'work_get_projects_project_tasks',
    'work_replace_tasks',
  ]);
  api.answer = () => jsonReply({ name: 'a' });
  const found = await call(client, 'work_get_projects_project_tasks', { path: { project: 'p' } });
  assert.deepEqual(found.structuredContent, { name: 'a' });
  use(petstoreText.replace('operationId: order\n', 'operationId: buy\n'));
  await client.ping();
  assert.ok((await names()).includes('shop_buy'));
});

test('a client without a session calls an API', async (t) => {
  const { api, harness } = await stage(t);
  harness.use(mcpBackend({ targets: [apiTarget(api.port, petstoreText)], stateless: true }));
  api.answer = () => jsonReply([]);
  const { result } = await ask(new RawClient(harness.url), 'tools/call', { name: 'listPets' });
  assert.deepEqual(result, { content: [{ type: 'text', text: '[]' }] });
});
