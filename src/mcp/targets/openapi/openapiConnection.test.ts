import assert from 'node:assert/strict';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { mcpBackend, startHarness } from '../../harness.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { RawModernClient } from '../../rawModernClient.testing.ts';
import { apiTarget, jsonReply, petstoreText, startApi, tasksText } from './api.testing.ts';
import { ask, call, stage } from './apiStage.testing.ts';

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

test('a client of the SDK 2.x lists the tools of an API and calls them', async (t) => {
  const { api, harness } = await stage(t, tasksText);
  api.answer = () => jsonReply({ name: 'a', parent: { name: 'b' } });
  const client = new Client2({ name: 'test', version: '1' });
  await client.connect(new Transport2(harness.url));
  t.after(() => client.close());
  const { tools } = await client.listTools();
  assert.equal(tools.length, 2);
  const name = 'get_projects_project_tasks';
  const found = await client.callTool({ name, arguments: { path: { project: 'p' } } });
  assert.deepEqual(found.structuredContent, { name: 'a', parent: { name: 'b' } });
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
  // Some servers add a charset to every type.
  for (const charset of ['', ';charset=UTF-8', '; charset="ISO-8859-1"', ';charset=nonsense']) {
    const headers = { 'content-type': `application/pdf${charset}` };
    api.answer = () => ({ headers, body: Buffer.from([0xff, 0]) });
    const resource = { uri: 'answer:listPets', mimeType: 'application/pdf', blob: '/wA=' };
    assert.deepEqual(await call(client, 'listPets'), { content: [{ type: 'resource', resource }] });
  }
  api.answer = () => ({ headers: { 'content-type': 'application/x-log;charset=UTF-8' }, body: 'é' });
  assert.deepEqual(await call(client, 'listPets'), { content: [{ type: 'text', text: 'é' }] });
});

test('an answer is a JSON object only as its charset reads it', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  const headers = { 'content-type': 'application/json; charset=shift_jis' };
  // The last byte of "Á" in UTF-8 takes the backslash after it away in Shift JIS.
  const body = Buffer.from(JSON.stringify({ name: 'Á"}} and more' }));
  api.answer = () => ({ headers, body });
  const text = new TextDecoder('shift_jis').decode(body);
  assert.deepEqual(await call(client, 'order', { body: { petId: 1 } }), {
    content: [{ type: 'text', text }],
  });
  const pet = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0x83, 0x5c]), Buffer.from('"}')]);
  api.answer = () => ({ headers, body: pet });
  const found = await call(client, 'order', { body: { petId: 1 } });
  assert.deepEqual(found.structuredContent, { name: 'ソ' });
});

test('a byte order mark before an answer is no part of it', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  for (const type of ['application/json', 'application/json; charset=utf-8']) {
    api.answer = () => ({ headers: { 'content-type': type }, body: '\uFEFF{"name":"Rex"}' });
    assert.deepEqual(await call(client, 'getPet', { path: { petId: 1 } }), {
      content: [{ type: 'text', text: '{"name":"Rex"}' }],
      structuredContent: { name: 'Rex' },
    });
  }
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

test('a call takes the headers of its checks along, in place of its arguments, and no header of MCP', async (t) => {
  const text = `
openapi: 3.1.0
info: { title: Test, version: '1' }
servers: [{ url: 'http://127.0.0.1' }]
paths:
  /one:
    get:
      operationId: one
      parameters: [{ name: X-Checked, in: header, schema: { type: string } }]
      responses: { '200': { description: ok } }`;
  const headers = [
    ['x-checked', 'v1'],
    ['authorization', 'Bearer checked'],
  ] as const;
  const { api, harness } = await stage(
    t,
    text,
    {},
    {
      headers: () => [['authorization', 'Bearer of-policy']],
      caller: () => ({
        principal: undefined,
        checksOf: () => ({ request: [() => Promise.resolve({ headers })], result: [] }),
      }),
    },
  );
  const client = new RawModernClient(harness.url, {}, { 'mcp-param-floor': '1' });
  const argument = { header: { 'X-Checked': 'of the client' } };
  const { status, text: answer } = await client.post('tools/call', { name: 'one', arguments: argument });
  assert.equal(status, 200, answer);
  const [seen] = api.seen;
  assert.deepEqual([seen?.headers['x-checked'], seen?.headers.authorization], ['v1', 'Bearer checked']);
  assert.deepEqual(
    Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith('mcp-')),
    [],
  );
});

test('an API is spoken to in HTTP/2 where the configuration says so', async (t) => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      seen.push(
        `${request.method} ${request.url} ${request.httpVersion} ${request.headers['content-length']}`,
      );
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = apiTarget(port, petstoreText, { http2: true });
  const harness = await startHarness({ backend: mcpBackend({ targets: [target] }) });
  t.after(async () => {
    await harness.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  assert.equal(await client.call('listPets', { query: { tags: ['a b'] } }), '[]');
  await client.call('order', { body: { petId: 1 } });
  assert.deepEqual(seen, ['GET /v2/pets?tags=a%20b 2.0 undefined', 'POST /v2/orders 2.0 7']);
});

test('a new thing without a body tells its place', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  api.answer = () => ({ status: 201, headers: { location: '/v2/orders/9' } });
  assert.deepEqual(await call(client, 'order', { body: { petId: 1 } }), {
    content: [{ type: 'text', text: 'HTTP 201 Created\nLocation: /v2/orders/9' }],
  });
});
