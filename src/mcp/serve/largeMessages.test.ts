import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { startHarness, type Harness } from '../harness.testing.ts';
import { memberOf, stringValue, type Span } from '../json/envelope.ts';
import { RawClient } from '../rawClient.testing.ts';
import { readPost } from './readPost.ts';

let harness: Harness;
let client: RawClient;
before(async () => {
  harness = await startHarness({ limits: { maxJsonNodes: 50_000 } });
  client = new RawClient(harness.url);
  await client.initialize();
});
after(() => harness.close());

const call = (argument: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":${argument}}}}`;

for (const [name, bomb] of [
  ['lists', `${'['.repeat(900_000)}${']'.repeat(900_000)}`],
  ['objects', `${'{"a":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
  ['a few hundred lists', `${'['.repeat(300)}${']'.repeat(300)}`],
] as const)
  test(`${name} within each other are refused by the limit, which the error names`, async () => {
    const answer = await client.post(call(bomb));
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.json, {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'invalid request: nested deeper than 128 (limits.maxJsonDepth)' },
    });
    assert.equal(await client.call('echo', { text: 'on' }), 'on');
  });

test('a message of too many values is refused by the limit, which the error names', async () => {
  for (const values of [`[${'{},'.repeat(600_000)}1]`, `[${'1,'.repeat(60_000)}1]`]) {
    const answer = await client.post(call(values));
    assert.equal(answer.status, 413);
    assert.deepEqual(answer.json.error, {
      code: -32600,
      message: 'message too large: more than 50000 values (limits.maxJsonNodes)',
    });
  }
});

test('a large message passes as it was written, whatever it is made of', async () => {
  const text = `é\u2028\u2029\u0085"\\${'x𝄞\u2028 \t\r\n'.repeat(100_000)}`;
  assert.equal(await client.call('echo', { text }), text);
  const pretty = JSON.stringify(client.tool('echo', { text: 'a'.repeat(400_000) }), null, 2);
  const { json } = await client.post(pretty.replaceAll('\n', '\r\n'));
  assert.equal((json.result!['content'] as { text: string }[])[0]!.text.length, 400_000);
});

test('a large body that is not JSON, or not UTF-8, is a parse error', async () => {
  const long = 'x'.repeat(500_000);
  for (const body of [
    `{"a":"${long}"`,
    `{"a":"${long}"}}`,
    `"${long}\n"`,
    call(`"${long}" 1`),
    '['.repeat(1_800_000),
  ]) {
    const answer = await client.post(body);
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error?.code, -32700);
  }
  const bytes = Buffer.from(call(`"${long}"`));
  bytes[300_000] = 0xff;
  await assert.rejects(async () => readPost(bytes, wide), /not UTF-8/);
});

const wide = { maxDepth: 128, maxNodes: 200_000 };

test('the members that the gateway asks for are found while a large message is read', async () => {
  const pad = `"${'\\"'.repeat(200_000)}"`;
  const meta = '{"progressToken":"é","io.modelcontextprotocol/related-task":{"taskId":"t"}}';
  const body = Buffer.from(
    `{"x":${pad},"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"pad":${pad},"name":"a","_meta":${meta}}}`,
  );
  const { first } = await readPost(body, wide);
  const { text, body: params } = first!;
  assert.deepEqual(params?.members?.has('name'), true);
  const at = (within: Span | undefined, name: string): Span | undefined => {
    const place = memberOf(text, within, name);
    assert.ok(place !== 'ambiguous');
    return place;
  };
  assert.equal(stringValue(text, at(params, 'name')), 'a');
  assert.equal(stringValue(text, at(at(params, '_meta'), 'progressToken')), 'é');
  const related = at(at(params, '_meta'), 'io.modelcontextprotocol/related-task');
  assert.equal(stringValue(text, at(related, 'taskId')), 't');
  // Others are searched for.
  assert.equal(text.slice(at(params, 'pad')!.start, at(params, 'pad')!.end), pad);
});

for (const [what, large] of [
  ['a member twice', `{"name":"echo","pad":PAD,"name":"crash"}`],
  ['a member in two spellings', `{"pad":PAD,"name":"echo","NAME":"crash"}`],
] as const)
  test(`a large message with ${what} is refused`, async () => {
    const params = large.replace('PAD', `"${'x'.repeat(400_000)}"`);
    const answer = await client.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
    assert.equal(answer.json.error?.message, 'invalid request: a member is repeated');
  });

test('an overlong name or method is refused', async () => {
  const long = `"${'x'.repeat(1_100_000)}"`;
  const named = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${long}}}`;
  const answer = await client.post(named);
  assert.equal(answer.json.error?.message, 'invalid request: the name is not a string, or too long');
  const { json } = await client.post(`{"jsonrpc":"2.0","id":1,"method":${long}}`);
  assert.equal(json.error?.message, 'invalid request: not a JSON-RPC 2.0 message');
});

test('a large batch is cut into its messages, and refused where there are too many of them', async () => {
  const one = (id: number, text: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text } },
    });
  const batch = (messages: string[]): Buffer => Buffer.from(`[ ${messages.join(' ,\n')} ]`);
  const many = Array.from({ length: 256 }, (_, id) => one(id, 'é\u2028'.repeat(500)));
  const post = await readPost(batch(many), wide);
  assert.equal(post.requests, 256);
  assert.deepEqual(
    post.messages.map(({ text }) => text),
    many.map((text) => text.replaceAll('\u2028', String.raw`\u2028`)),
  );
  await assert.rejects(async () => readPost(batch([...many, one(256, '')]), wide), /more than 256 messages/);
  await assert.rejects(
    async () => readPost(batch([...many.slice(1), '1']), wide),
    /not a JSON-RPC 2.0 message/,
  );
});

test('while large messages are read, other work runs after each piece', async () => {
  const body = Buffer.from(call(`"${'x'.repeat(8_000_000)}"`));
  let turns = 0;
  let reading = true;
  const turn = (): void => {
    turns++;
    if (reading) setImmediate(turn);
  };
  setImmediate(turn);
  const posts = await Promise.all([readPost(body, wide), readPost(body, wide)]);
  reading = false;
  assert.equal(posts[0].first?.method, 'tools/call');
  // Two messages of 31 pieces, checked and then searched for members; one piece a turn, not one of each message.
  assert.ok(turns >= 120, `${turns} turns`);
});

test('a large message that is refused early is read no further', async () => {
  const bomb = Buffer.from(call('['.repeat(8_000_000) + ']'.repeat(3)));
  let turns = 0;
  let reading = true;
  const turn = (): void => {
    turns++;
    if (reading) setImmediate(turn);
  };
  setImmediate(turn);
  await assert.rejects(
    async () => readPost(bomb, wide),
    (error) => error instanceof GatewayError && error.code === 'mcp_invalid_request',
  );
  reading = false;
  assert.ok(turns <= 2, `${turns} turns`);
});
