import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { GatewayError } from '../errors.ts';
import { startHarness, type Harness } from './harness.testing.ts';
import { RawClient } from './rawClient.testing.ts';
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

test('while large messages are read, others have their turn after each piece', async () => {
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
  // Two messages of 31 pieces; one piece a turn, not one of each message.
  assert.ok(turns >= 60, `${turns} turns`);
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
