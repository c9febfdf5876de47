import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller, ItemCall, McpItem, PlainValue } from '../contract.ts';
import { catalog, mcpBackend, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';

const files = catalog({ name: 'files', tools: ['read', 'hidden'] });
const other = catalog({ name: 'other', tools: ['read'] });

interface Judged {
  readonly item: McpItem;
  readonly call: ItemCall | undefined;
  readonly args: { readonly value: PlainValue } | { readonly fault: string } | undefined;
}

/** A caller that may not use `secret` as `path`, and sees no `hidden`. */
function stage(): { judged: Judged[]; caller: () => Caller } {
  const judged: Judged[] = [];
  const refusalOf: NonNullable<Caller['refusalOf']> = (item, call) => {
    const args = call?.readArguments?.({ names: new Set(['path']), spend: () => true });
    judged.push({ item, call, args });
    if (item.name === 'hidden') return { policy: 'test', rule: 'hidden' };
    if (args === undefined) return undefined;
    if ('fault' in args) return { policy: 'test', rule: 'arguments', fault: args.fault };
    const path = args.value instanceof Map ? (args.value as Map<string, PlainValue>).get('path') : undefined;
    return path === 'secret' ? { policy: 'test', rule: 'secret' } : undefined;
  };
  return { judged, caller: () => ({ principal: 'ada', refusalOf }) };
}

async function harnessOf(backend = mcpBackend({ targets: [files] })): Promise<[Harness, Judged[]]> {
  const { judged, caller } = stage();
  return [await startHarness({ caller, backend }), judged];
}

const calls = (judged: readonly Judged[]): readonly unknown[] =>
  judged.flatMap(({ item, call, args }) => (call === undefined ? [] : [[item.name, call.method, args]]));
const argumentsOf = (entries: object): object => ({ value: new Map(Object.entries(entries)) });

test('rules judge the arguments of each call, and no arguments of a list', async (t) => {
  const [harness, judged] = await harnessOf();
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  await client.post(client.request('tools/list'));
  assert.deepEqual(calls(judged), []);
  assert.ok(judged.length > 0);
  assert.ok((await client.post(client.tool('read', { path: 'a' }))).json.result);
  const secret = await client.post(client.tool('read', { path: 'secret' }));
  assert.equal(secret.json.error?.message, 'Unknown tool: read');
  assert.deepEqual(calls(judged), [
    ['read', 'tools/call', argumentsOf({ path: 'a' })],
    ['read', 'tools/call', argumentsOf({ path: 'secret' })],
  ]);
  assert.equal(judged.at(-1)?.call?.sessionId, client.sessionId);
  await client.post(client.request('tools/call', { name: 'read' }));
  assert.deepEqual(judged.at(-1)?.args, argumentsOf({}));
});

test('rules judge arguments in batches, with several targets and in revision 2026-07-28', async (t) => {
  const [harness, judged] = await harnessOf();
  t.after(() => harness.close());
  const batches = new RawClient(harness.url);
  await batches.initialize('2025-03-26');
  await batches.post([batches.tool('read', { path: 'a' }), batches.tool('read', { path: 'secret' })]);
  assert.deepEqual(calls(judged), [
    ['read', 'tools/call', argumentsOf({ path: 'a' })],
    ['read', 'tools/call', argumentsOf({ path: 'secret' })],
  ]);
  const modern = new RawModernClient(harness.url);
  const refused = await modern.post('tools/call', { name: 'read', arguments: { path: 'secret' } });
  assert.match(refused.text, /Unknown tool: read/);
  assert.equal(judged.at(-1)?.call?.sessionId, undefined);
  harness.use(mcpBackend({ targets: [files, other] }));
  const federated = new RawClient(harness.url);
  await federated.initialize();
  const { json } = await federated.post(federated.tool('files_read', { path: 'secret' }));
  assert.equal(json.error?.message, 'Unknown tool: files_read');
  assert.deepEqual(judged.at(-1)?.item, { kind: 'tool', target: 'files', name: 'read' });
  assert.deepEqual(judged.at(-1)?.args, argumentsOf({ path: 'secret' }));
});

test('arguments with several readings are refused before a server sees them', async (t) => {
  const [harness] = await harnessOf();
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const answerTo = async (name: string, params: string): Promise<unknown> => {
    const { json } = await client.post(
      `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"${name}",${params}}}`,
    );
    return [json.error?.code, json.error?.message];
  };
  for (const [params, fault] of [
    ['"arguments":{"path":"a","path":"secret"}', 'the member "path" is repeated'],
    ['"arguments":{"Path":"secret"}', 'the member "Path" differs from "path" in case only'],
    ['"arguments":{"path":"a"},"Arguments":{"path":"secret"}', 'arguments are repeated'],
    ['"arguments":["path"]', 'arguments are not an object'],
    ['"arguments":null', 'arguments are not an object'],
  ] as const) {
    assert.deepEqual(await answerTo('read', params), [-32602, `invalid params: ${fault}`], params);
    assert.equal(harness.annotations.at(-1)?.get('rule'), 'arguments');
    assert.deepEqual(await answerTo('hidden', params), [-32602, 'Unknown tool: hidden'], params);
  }
});
