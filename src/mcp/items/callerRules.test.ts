import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { McpItem } from '../contract.ts';
import { mcpBackend, startHarness, type Harness, rulesBy } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';

const asked: McpItem[] = [];
const hidden = new Set(['crash', 'secret', 'file:///b', 'secret:///{path}']);
let harness: Harness;
let client: RawClient;
before(async () => {
  harness = await startHarness({
    caller: () => ({
      principal: undefined,
      ...rulesBy((item) => {
        asked.push(item);
        return !hidden.has(item.name);
      }),
    }),
  });
  client = new RawClient(harness.url);
  await client.initialize();
});
after(() => harness.close());

for (const [method, params, code, message] of [
  ['tools/call', { name: 'crash' }, -32602, 'Unknown tool: crash'],
  ['prompts/get', { name: 'secret' }, -32602, 'Unknown prompt: secret'],
  ['resources/read', { uri: 'file:///b' }, -32602, 'Unknown resource: file:///b'],
  ['resources/subscribe', { uri: 'file:///b' }, -32602, 'Unknown resource: file:///b'],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'secret' } }, -32602, 'Unknown prompt: secret'],
  [
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'secret:///{path}' } },
    -32602,
    'Unknown resource: secret:///{path}',
  ],
] as const)
  test(`${method} of a hidden item answers as if it did not exist`, async () => {
    const answer = await client.post(client.request(method, params, 'h'));
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json, { jsonrpc: '2.0', id: 'h', error: { code, message } });
  });

test('a name that is no string reaches no server, which might make a hidden one of it', async () => {
  const answer = await client.post(client.request('tools/call', { name: ['crash'] }));
  assert.deepEqual(answer.json.error, {
    code: -32600,
    message: 'invalid request: the name is not a string, or too long',
  });
  assert.equal(await client.call('echo', { text: 'alive' }), 'alive');
});

test('the answer for a hidden tool is the one for a tool that the server does not have', async () => {
  const none = await client.post(client.tool('nothing'));
  assert.deepEqual(none.json.error, { code: -32602, message: 'Unknown tool: nothing' });
});

test('allowed items are used, and the rule sees kind, target and own name', async () => {
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
  assert.deepEqual(asked.at(-1), { kind: 'tool', target: 'fixture', name: 'echo' });
  const read = await client.post(client.request('resources/read', { uri: 'file:///a' }));
  assert.ok(read.json.result);
  assert.deepEqual(asked.at(-1), { kind: 'resource', target: 'fixture', name: 'file:///a' });
});

for (const [method, list, member, kept] of [
  ['prompts/list', 'prompts', 'name', ['greet']],
  ['resources/list', 'resources', 'uri', ['file:///a']],
  ['resources/templates/list', 'resourceTemplates', 'uriTemplate', ['file:///{path}']],
] as const)
  test(`${method} leaves hidden items out`, async () => {
    const answer = await client.post(client.request(method));
    const items = answer.json.result?.[list] as Record<string, string>[];
    assert.deepEqual(
      items.map((item) => item[member]),
      kept,
    );
  });

test('tools/list leaves hidden tools out and keeps the rest as written, cursor included', async () => {
  const answer = await client.post(client.request('tools/list', undefined, 'list'));
  assert.ok(!answer.text.includes('"crash"'));
  assert.match(answer.text, /\{"name":"echo","inputSchema":\{"type":"object"\},"x-unknown":\[1,2,null\]\}/);
  assert.equal(answer.json.result?.['nextCursor'], 'more');
  assert.equal(answer.json.id, 'list');
});

for (const params of [
  '{"name":"echo","name":"crash"}',
  '{"name":"echo","Name":"crash"}',
  String.raw`{"name":"echo","n\u0061me":"crash"}`,
])
  test(`params ${params} name two tools, so the call is refused before the server reads one of them`, async () => {
    const answer = await client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    assert.equal(answer.json.error?.code, -32600);
  });

test('a hidden tool is counted as denied', () => {
  const name = 'mcp_requests_total{method="tools/call",target="fixture",outcome="denied"}';
  assert.ok((harness.metrics().get(name) ?? 0) >= 1);
});

test('each request uses its own rules, so a change applies to open sessions', async () => {
  hidden.add('echo');
  assert.equal((await client.post(client.tool('echo'))).json.error?.message, 'Unknown tool: echo');
  hidden.delete('echo');
  assert.equal(await client.call('echo', { text: 'x' }), 'x');
});

test('prefixMode always puts the target before names of tools and prompts, and takes it off calls', async () => {
  harness.use(mcpBackend({ prefixMode: 'always' }));
  const tools = await client.post(client.request('tools/list'));
  const names = (tools.json.result?.['tools'] as { name: string }[]).map((tool) => tool.name);
  assert.ok(names.includes('fixture_echo') && names.every((name) => name.startsWith('fixture_')));
  assert.ok(!names.includes('fixture_crash'), 'rules see the own name');
  const prompts = await client.post(client.request('prompts/list'));
  assert.deepEqual(prompts.json.result?.['prompts'], [{ name: 'fixture_greet' }]);
  assert.equal(await client.call('fixture_echo', { text: 'x' }), 'x');
  for (const name of ['echo', 'fixture_crash', 'other_echo']) {
    const answer = await client.post(client.tool(name));
    assert.equal(answer.json.error?.message, `Unknown tool: ${name}`);
  }
  const resources = await client.post(client.request('resources/list'));
  assert.deepEqual(resources.json.result?.['resources'], [{ uri: 'file:///a', name: 'file:///a' }]);
  harness.use(mcpBackend());
});

test('prefixMode never and conditional leave the names of a single target alone', async () => {
  for (const prefixMode of ['never', 'conditional'] as const) {
    harness.use(mcpBackend({ prefixMode }));
    assert.equal(await client.call('echo', { text: prefixMode }), prefixMode);
  }
});
