import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { until } from '../../../until.testing.ts';
import { mcpBackend, startHarness } from '../../harness.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { apiTarget, jsonReply, petstoreText, tasksText } from './api.testing.ts';
import { ask, call, stage } from './apiStage.testing.ts';

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
