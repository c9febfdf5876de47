import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { labelOf, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import type { SessionView } from '../session/session.ts';
import { until } from '../../until.testing.ts';

let harness: Harness;
before(async () => {
  harness = await startHarness();
});
after(() => harness.close());

async function open(capabilities?: object): Promise<RawClient> {
  const client = new RawClient(harness.url);
  await client.initialize('2025-11-25', capabilities);
  return client;
}

const viewOf = (client: RawClient): SessionView =>
  harness.runtime.view().sessions.find((session) => session.label === labelOf(client.sessionId!))!;

const textOf = (message: Message | undefined): string =>
  (message?.result?.['content'] as { text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(message);

test('calls with the same id in different POSTs each get their own answer', async () => {
  const client = await open();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      client.post(client.request('tools/call', { name: 'slow', arguments: { text: `é${i}` } }, 1)),
    ),
  );
  assert.deepEqual(
    answers.map(({ json }) => [json.id, textOf(json)]),
    answers.map((_, i) => [1, `é${i}`]),
  );
});

test('an answer may overtake an older one', async () => {
  const client = await open();
  const slow = client.post(client.tool('hold'));
  await client.call('release');
  assert.equal(textOf((await slow).json), 'released');
});

test('progress comes on the stream of its call, under the client’s token, before the response', async () => {
  const client = await open();
  const events = (token: string | number): Promise<readonly Message[]> =>
    client
      .post(client.tool('progress', {}, { _meta: { progressToken: token } }))
      .then((answer) => answer.events);
  const all = await Promise.all([events('a'), events(7), events('a')]);
  for (const [i, token] of ['a', 7, 'a'].entries()) {
    assert.equal(all[i]!.length, 4);
    for (const [step, message] of all[i]!.slice(0, 3).entries())
      assert.deepEqual(message.params, { progressToken: token, progress: step + 1, total: 3 });
    assert.equal(textOf(all[i]![3]), 'done');
  }
});

test('the server sees ids and tokens of the gateway and everything else as it was sent', async () => {
  const client = await open();
  const rest = { _meta: { progressToken: 'tok', other: { deep: [1] } }, extra: 'é' };
  const answer = await client.post(client.tool('params', { a: 1 }, rest));
  const seen = JSON.parse(textOf(answer.json)) as {
    id: number;
    params: { _meta: { progressToken: unknown } };
  };
  assert.equal(seen.params._meta.progressToken, seen.id);
  assert.deepEqual(seen.params, {
    name: 'params',
    arguments: { a: 1 },
    ...rest,
    _meta: { ...rest._meta, progressToken: seen.id },
  });
});

test('a client that takes only JSON gets progress on its GET stream', async () => {
  const client = await open();
  const events = await client.get();
  const answer = await client.post(client.tool('progress', { steps: 1 }, { _meta: { progressToken: 'p' } }), {
    accept: 'application/json',
  });
  assert.equal(textOf(answer.json), 'done');
  assert.equal((await events.next())?.params?.['progressToken'], 'p');
  await events.cancel();
});

test('progress of a task comes after the response that created it, under the client’s token', async () => {
  const client = await open();
  const events = await client.get();
  const rest = { task: { ttl: 1_000 }, _meta: { progressToken: 'of-a-task' } };
  const answer = await client.post(client.tool('task', {}, rest));
  assert.ok(answer.json.result?.['task']);
  assert.deepEqual((await events.next())?.params, { progressToken: 'of-a-task', progress: 1 });
  await events.cancel();
});

test('a log line stands on the stream of the call in flight, before its response', async () => {
  const client = await open();
  const answer = await client.post(client.tool('log'));
  assert.deepEqual(
    answer.events.map((message) => message.method ?? 'response'),
    ['notifications/message', 'response'],
  );
});

test('list_changed goes on the GET stream, and the call stays plain JSON', async () => {
  const client = await open();
  const events = await client.get();
  const answer = await client.post(client.tool('changed'));
  assert.equal(textOf(answer.json), 'changed');
  assert.deepEqual(await events.next(), { jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await events.cancel();
});

test('a message without an open stream waits for the GET stream', async () => {
  const client = await open({ roots: {} });
  assert.equal(await client.call('askLater'), 'soon');
  await until('the question has arrived', () => viewOf(client).held > 0);
  const events = await client.get();
  const asked = await events.next();
  assert.equal(asked?.method, 'roots/list');
  await client.post({ jsonrpc: '2.0', id: asked.id, result: { roots: [] } });
  assert.deepEqual((await events.next())?.params?.['data'], { roots: [] });
  await events.cancel();
});

test('a question that waits goes on the next call of a client that never opens a GET stream', async () => {
  const client = await open({ roots: {} });
  await client.post(client.tool('askLater'));
  await until('the question has arrived', () => viewOf(client).held > 0);
  const answer = await client.post(client.tool('echo', { text: 'x' }));
  assert.deepEqual(
    answer.events.map((message) => message.method ?? textOf(message)),
    ['roots/list', 'x'],
  );
});

for (const [tool, method, result] of [
  [
    'sample',
    'sampling/createMessage',
    { role: 'assistant', content: { type: 'text', text: 'é' }, model: 'm' },
  ],
  ['elicit', 'elicitation/create', { action: 'accept', content: { name: 'Ada' } }],
  ['roots', 'roots/list', { roots: [{ uri: 'file:///x' }] }],
] as const)
  test(`${method} reaches the client on the stream of the call, and its answer the server`, async () => {
    const client = await open();
    const events = await client.stream(client.tool(tool));
    const asked = await events.next();
    assert.equal(asked?.method, method);
    const posted = await client.post({ jsonrpc: '2.0', id: asked.id, result });
    assert.equal(posted.status, 202);
    assert.deepEqual(JSON.parse(textOf(await events.next())), result);
    assert.equal(await events.next(), undefined);
  });

test('an error answer of the client reaches the server too', async () => {
  const client = await open();
  const events = await client.stream(client.tool('sample'));
  const asked = await events.next();
  await client.post({ jsonrpc: '2.0', id: asked?.id, error: { code: -1, message: 'user said no' } });
  assert.deepEqual(JSON.parse(textOf(await events.next())), { code: -1, message: 'user said no' });
});

test('a second answer to the same question is dropped', async () => {
  const client = await open();
  const events = await client.stream(client.tool('roots'));
  const asked = await events.next();
  const first = { jsonrpc: '2.0', id: asked?.id, result: { roots: [] } };
  assert.equal((await client.post(first)).status, 202);
  assert.equal((await client.post({ ...first, result: 'again' })).status, 202);
  assert.deepEqual(JSON.parse(textOf(await events.next())), { roots: [] });
  assert.equal(await client.call('echo', { text: 'fine' }), 'fine');
});

test('a question that the server takes back is called off under the client’s id for it', async () => {
  const client = await open();
  const answer = await client.post(client.tool('askAndWithdraw'));
  const [asked, withdrawn, response] = answer.events;
  assert.equal(asked?.method, 'roots/list');
  assert.deepEqual(withdrawn?.params, { requestId: asked.id, reason: 'changed my mind' });
  assert.equal(textOf(response), 'withdrawn');
});

test('a cancellation reaches the server under its own id and ends the POST without a response', async () => {
  const client = await open();
  const pending = client.post(client.request('tools/call', { name: 'hold' }, 'mine'));
  await until('the call is in flight', () => viewOf(client).targets[0]!.pending > 0);
  const cancelled = await client.post({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 'mine', reason: 'user' },
  });
  assert.equal(cancelled.status, 202);
  assert.deepEqual((await pending).events, []);
  const { notifications } = JSON.parse(await client.call('state')) as { notifications: Message[] };
  const seen = notifications.find((message) => message.method === 'notifications/cancelled');
  assert.equal(typeof seen?.params?.['requestId'], 'number');
  assert.equal(seen?.params?.['reason'], 'user');
  // The server answers late: nobody is confused.
  await client.call('release');
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
});

test('a cancelled call of a client that takes only JSON ends with an error', async () => {
  const client = await open();
  const pending = client.post(client.request('tools/call', { name: 'hold' }, 5), {
    accept: 'application/json',
  });
  await until('the call is in flight', () => viewOf(client).targets[0]!.pending > 0);
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
  assert.equal((await pending).json.error?.code, -32000);
});

test('a cancellation of nothing is ignored', async () => {
  const client = await open();
  for (const params of [{ requestId: 'none' }, {}, { requestId: null }])
    assert.equal(
      (await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params })).status,
      202,
    );
});

test('the newest GET stream gets each message once; after it closes, the one before it does', async () => {
  const client = await open();
  const first = await client.get();
  const second = await client.get();
  await client.call('changed');
  assert.equal((await second.next())?.method, 'notifications/tools/list_changed');
  await second.cancel();
  await until('the second is gone', () => viewOf(client).streams === 1);
  await client.call('changed');
  assert.equal((await first.next())?.method, 'notifications/tools/list_changed');
  assert.equal(first.raw.match(/list_changed/g)?.length, 1);
  await first.cancel();
});

test('more GET streams than four are refused with 409', async () => {
  const client = await open();
  const streams = [await client.get(), await client.get(), await client.get(), await client.get()];
  await assert.rejects(client.get(), /409/);
  for (const stream of streams) await stream.cancel();
});

test('a client that leaves in the middle of a stream does not disturb the session', async () => {
  const client = await open();
  const leave = new AbortController();
  const events = await client.stream(client.tool('sample'), {}, leave.signal);
  assert.equal((await events.next())?.method, 'sampling/createMessage');
  leave.abort();
  assert.equal(await client.call('echo', { text: 'still here' }), 'still here');
});

test('leaving is no cancellation: the server goes on with the call', async () => {
  const client = await open();
  const leave = new AbortController();
  const pending = client.fetch(client.tool('hold'), {}, leave.signal);
  await until('the call is in flight', () => viewOf(client).targets[0]!.pending > 0);
  leave.abort();
  await assert.rejects(pending);
  const { notifications } = JSON.parse(await client.call('state')) as { notifications: Message[] };
  assert.deepEqual(
    notifications.map((message) => message.method),
    ['notifications/initialized'],
  );
  assert.equal(await client.call('release'), 'done');
});

test('a batch of a server is taken apart', async () => {
  const client = await open();
  const answer = await client.post(client.tool('batch'));
  assert.deepEqual(
    answer.events.map((message) => message.method ?? textOf(message)),
    ['notifications/message', 'batched'],
  );
});
