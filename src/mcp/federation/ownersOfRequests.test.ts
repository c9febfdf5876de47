import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { StdioTarget } from '../../model/index.ts';
import { catalog, mcpBackend, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';

let harness: Harness;
before(async () => {
  harness = await startHarness();
});
after(() => harness.close());

async function open(targets: readonly StdioTarget[]): Promise<RawClient> {
  harness.use(mcpBackend({ targets }));
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
}

async function ask(client: RawClient, method: string, params: object): Promise<Message> {
  const { events, json } = await client.post(client.request(method, params));
  return events.at(-1) ?? json;
}

test('tasks of two children with the same id stay apart', async () => {
  const capabilities = { tools: {}, tasks: { requests: { tools: { call: {} } } } };
  const client = await open(
    ['first', 'second'].map((name) => catalog({ name, tools: ['task'], capabilities })),
  );
  const handles = new Map<string, string>();
  for (const name of ['first', 'second']) {
    const { result } = await ask(client, 'tools/call', { name: `${name}_task`, arguments: {}, task: {} });
    handles.set(name, (result!['task'] as { taskId: string }).taskId);
  }
  for (const [name, taskId] of handles) {
    const { result } = await ask(client, 'tasks/get', { taskId });
    assert.deepEqual(result, { taskId, status: 'working', statusMessage: name });
  }
});

test('where no target logs, there is no level to set', async () => {
  const client = await open(
    ['first', 'second'].map((name) => catalog({ name, capabilities: { tools: {} } })),
  );
  const { error } = await ask(client, 'logging/setLevel', { level: 'error' });
  assert.equal(error?.code, -32601);
});

test('a list of a feature that no target has is an unknown method, as at a single server', async () => {
  const client = await open([catalog({ name: 'a' }), catalog({ name: 'b' })]);
  assert.equal((await ask(client, 'prompts/list', {})).error?.code, -32601);
  assert.ok((await ask(client, 'tools/list', {})).result);
});
