import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { startHarness, type Harness } from '../../harness.testing.ts';
import { RawClient, type Answered } from '../../rawClient.testing.ts';
import { stage } from '../../remote.testing.ts';
import { until } from '../../../until.testing.ts';

const open: Harness[] = [];
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

/** The error that the client got, in whatever form the answer came. */
const said = ({ json, events }: Answered): string => (events.at(-1) ?? json).error?.message ?? '';

/** Answers that break JSON-RPC 2.0 §5, and what the client hears of them. `$ID` is the id of the call. */
const broken: readonly (readonly [line: string, message: RegExp])[] = [
  ['{"jsonrpc":"2.0","id":$ID}', /neither result nor error/],
  ['{"id":$ID}', /neither result nor error/],
  ['{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"x"}}', /both result and error/],
  ['{"jsonrpc":"2.0","id":$ID,"result":{},"id":$ID}', /the member "id" twice/],
  ['{"jsonrpc":"2.0","id":$ID,"id":999,"result":{}}', /the member "id" twice/],
  ['{"jsonrpc":"2.0","id":$ID,"ID":999,"result":{}}', /the member "id" twice/],
  ['{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}', /the member "result" twice/],
  ['{"jsonrpc":"2.0","id":"$ID","result":{}}', /its id as a string/],
  ['{"id":$ID,"result":{}}', /without jsonrpc/],
  ['{"jsonrpc":"1.0","id":$ID,"result":{}}', /no response/],
  ['{"jsonrpc":"2.0","id":$ID,"method":"x","result":{}}', /both a method and an answer/],
  ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', /without the id of the call/],
  ['{"jsonrpc":"2.0","result":{}}', /without the id of the call/],
  ['{"jsonrpc":"2.0","id":$ID,"result":{"a":[}}', /broken JSON/],
  ['{"jsonrpc":"2.0","id":$ID,"result":{"a":"x', /broken JSON/],
  ['[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":$ID}]', /neither result nor error/],
  // A message this long is not parsed, only scanned.
  [`{"jsonrpc":"2.0","id":$ID,"result":{"a":"${'x'.repeat(70_000)}"},"error":{}}`, /both result and error/],
];

for (const [line, message] of broken)
  test(`a stdio server that answers ${line.slice(0, 70)} fails its call at once, and the session goes on`, async () => {
    const harness = await startHarness();
    open.push(harness);
    const client = new RawClient(harness.url);
    await client.initialize();
    const answer = said(await client.post(client.tool('raw', { line })));
    assert.match(answer, message);
    assert.match(answer, /^target "fixture" answered/);
    assert.equal(await client.call('echo', { text: 'on' }), 'on');
    assert.equal(harness.runtime.view().sessions[0]!.targets[0]!.pending, 0);
  });

for (const [line, message] of broken)
  test(`a server over the network that sends ${line.slice(0, 70)} fails its call at once`, async (t) => {
    const { server, open: connect, target } = await stage(t);
    const text = (id: unknown): string => line.replaceAll('$ID', String(id));
    server.tools['json'] = (x) => x.json(text(x.id));
    // The stream stays open: nothing else ends the call.
    server.tools['event'] = (x) => void x.stream().response.write(`data: ${text(x.id)}\n\n`);
    const client = await connect();
    assert.match(said(await client.post(client.tool('json'))), /^target "remote" answered/);
    assert.match(said(await client.post(client.tool('event'))), message);
    assert.equal(await client.call('echo', { text: 'on' }), 'on');
    assert.equal(target().pending, 0);
  });

test('a JSON log line on stdout fails no call, though its id is the one of a call', async () => {
  const harness = await startHarness();
  open.push(harness);
  const client = new RawClient(harness.url);
  await client.initialize();
  const call = client.post(client.tool('raw', { line: '{"level":"info","id":$ID,"msg":"at work"}' }));
  await until('the line was read', () => harness.log.some(({ fields }) => fields['why'] === 'not_message'));
  assert.equal(harness.runtime.view().sessions[0]!.targets[0]!.pending, 1);
  harness.runtime.retire(new Set());
  await call;
});

test('a server whose initialize is answered by nonsense leaves no session, and the client hears why', async (t) => {
  const { server, harness } = await stage(t);
  server.methods['initialize'] = (x) => x.json({ jsonrpc: '2.0', id: String(x.id), result: {} });
  const { json } = await new RawClient(harness.url).initialize();
  assert.match(json.error?.message ?? '', /its id as a string/);
  assert.equal(harness.runtime.view().sessions.length, 0);
});
