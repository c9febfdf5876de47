/** Questions of a modern server to a client that begins with `initialize`: rubbish, endless rounds, and ends. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import type { Incoming } from '../../remoteServer.testing.ts';
import { answer, asks, calling, modernStage, question, toolError } from './scriptedServer.testing.ts';

const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`q${i}`, question.name]));

for (const [what, result, message] of [
  ['a list', { inputRequests: [question.name] }, /inputRequests that are no object/],
  ['a text', { inputRequests: 'name' }, /inputRequests that are no object/],
  ['null', { inputRequests: null }, /inputRequests that are no object/],
  ['an entry without a method', { inputRequests: { a: {} } }, /input request that is none \(a\)/],
  ['an entry that is null', { inputRequests: { a: null } }, /input request that is none/],
  ['another method', { inputRequests: { a: { method: 'tools/call', params: {} } } }, /is none \(a\)/],
  ['no params', { inputRequests: { a: { method: 'elicitation/create' } } }, /is none \(a\)/],
  ['params that are a list', { inputRequests: { a: { method: 'roots/list', params: [] } } }, /is none \(a\)/],
  ['too many questions', { inputRequests: many }, /more than 32 questions/],
  ['nothing', {}, /asked the client for nothing/],
  ['a state that is a number', { requestState: 7 }, /requestState that is no string/],
  [
    'a state that is an object',
    { inputRequests: question, requestState: {} },
    /requestState that is no string/,
  ],
  [
    'a capability that the client does not have',
    { inputRequests: { a: { method: 'sampling/createMessage', params: {} } } },
    /asked for sampling\/createMessage, which the client did not declare/,
  ],
  [
    'a URL, and the client knows forms',
    { inputRequests: { a: { method: 'elicitation/create', params: { mode: 'url' } } } },
    /with a URL, which the client did not declare/,
  ],
] as const)
  test(`a server that asks with ${what} fails the call, and the session goes on`, async (t) => {
    const { server, harness, warnings } = await modernStage(t);
    server.tools['ask'] = (x) => asks(x, result);
    const client = new RawClient(harness.url);
    await client.initialize('2025-11-25', { elicitation: {} });
    assert.match(toolError(await calling(client, 'ask')), message);
    assert.match(warnings(), /Target broke a rule of revision 2026-07-28/);
    assert.equal(await client.call('echo', { text: 'on' }), 'on');
    assert.equal(server.of('tools/call').length, 2);
  });

test('a result of an unknown type fails the call', async (t) => {
  const { server, open } = await modernStage(t);
  server.tools['task'] = (x) => answer(x, { resultType: 'task', taskId: '1' });
  server.tools['twice'] = (x) =>
    x.json(
      `{"jsonrpc":"2.0","id":${String(x.id)},"result":{"resultType":"complete","resultType":"complete"}}`,
    );
  server.methods['tools/list'] = (x) => asks(x, { inputRequests: question });
  const client = await open();
  assert.match(toolError(await calling(client, 'task')), /a result of the type "task"/);
  assert.match(toolError(await calling(client, 'twice')), /a result with two types/);
  const { json } = await client.post(client.request('tools/list'));
  assert.deepEqual([json.error?.code, json.result], [-32603, undefined]);
});

test('questions without end are cut after ten rounds', async (t) => {
  const { server, open } = await modernStage(t);
  server.tools['ask'] = (x) => asks(x, { inputRequests: question });
  const client = await open();
  const events = await client.stream(client.tool('ask'));
  for (let round = 0; round < 10; round++) {
    const asked = await events.next();
    assert.equal(asked?.method, 'elicitation/create');
    await client.post({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: {} } });
  }
  assert.match(toolError((await events.next())!), /after 10 rounds/);
  assert.equal(server.of('tools/call').length, 11);
  assert.equal(new Set(server.of('tools/call').map(({ message }) => message.id)).size, 11);
});

test('rounds without questions are counted, too', async (t) => {
  const { server, open } = await modernStage(t);
  server.tools['busy'] = (x) => asks(x, { requestState: 'again' });
  const client = await open();
  assert.match(toolError(await calling(client, 'busy')), /after 10 rounds/);
  assert.equal(server.of('tools/call').length, 11);
});

test('a further round repeats the request, with the answers and the state of the last one', async (t) => {
  const { server, open } = await modernStage(t);
  // Lone surrogates and needless escapes, which a reader may write in another way.
  const state = String.raw`"\ud83d \/ \u0041 é"`;
  server.tools['ask'] = (x) => {
    const { inputResponses, requestState } = x.seen.message.params!;
    if (requestState === 'second')
      answer(x, { content: [{ type: 'text', text: JSON.stringify(inputResponses) }] });
    else if (requestState !== undefined) asks(x, { inputRequests: question, requestState: 'second' });
    else {
      const asking = `{"resultType":"input_required","inputRequests":${JSON.stringify(question)},"requestState":${state}}`;
      x.json(`{"jsonrpc":"2.0","id":${String(x.id)},"result":${asking}}`);
    }
  };
  const client = await open();
  const events = await client.stream(
    client.tool('ask', { a: [1.0, 'é'] }, { _meta: { mine: 1, progressToken: 'p' } }),
  );
  for (const name of ['Ada', 'Alan']) {
    const asked = await events.next();
    await client.post({ jsonrpc: '2.0', id: asked!.id, result: { action: 'accept', content: { name } } });
  }
  const done = await events.next();
  assert.match(JSON.stringify(done), /Alan/);
  const [first, second, third] = server.of('tools/call').map(({ message }) => message.params!);
  assert.deepEqual(second, {
    ...first,
    _meta: {
      ...(first!['_meta'] as object),
      progressToken: (second!['_meta'] as { progressToken: number }).progressToken,
    },
    inputResponses: { name: { action: 'accept', content: { name: 'Ada' } } },
    requestState: JSON.parse(state) as string,
  });
  assert.deepEqual(third!['inputResponses'], { name: { action: 'accept', content: { name: 'Alan' } } });
  assert.equal(third!['requestState'], 'second');
});

test('a huge question reaches the client whole', async (t) => {
  const { server, open } = await modernStage(t);
  const message = 'é'.repeat(1_000_000);
  server.tools['ask'] = (x) =>
    x.seen.message.params!['inputResponses'] === undefined
      ? asks(x, {
          inputRequests: { big: { method: 'elicitation/create', params: { message, requestedSchema: {} } } },
        })
      : answer(x, { content: [{ type: 'text', text: 'done' }] });
  const client = await open();
  const events = await client.stream(client.tool('ask'));
  const asked = await events.next();
  assert.equal(asked?.params?.['message'], message);
  await client.post({ jsonrpc: '2.0', id: asked.id, result: { action: 'decline' } });
  assert.match(JSON.stringify(await events.next()), /done/);
});

test('answers that are too large to keep fail the call, and nothing of them stays', async (t) => {
  const { server, open, target } = await modernStage(t);
  const three = { a: question.name, b: question.name, c: question.name };
  server.tools['ask'] = (x) => asks(x, { inputRequests: three, requestState: 's'.repeat(1_000) });
  const client = await open();
  for (let call = 0; call < 3; call++) {
    const events = await client.stream(client.tool('ask'));
    const asked = [await events.next(), await events.next(), await events.next()];
    for (const { id } of asked.slice(0, 2) as { id: string }[])
      await client.post({
        jsonrpc: '2.0',
        id,
        result: { action: 'accept', content: { x: 'x'.repeat(8_400_000) } },
      });
    assert.equal((await events.next())?.method, 'notifications/cancelled');
    assert.match(toolError((await events.next())!), /more than the gateway keeps/);
    assert.equal(target().pending, 0);
  }
  assert.equal(server.of('tools/call').length, 3);
});

test('keys of questions may be any text', async (t) => {
  const { server, open } = await modernStage(t);
  const keys = ['__proto__', 'constructor', '', 'a"b\\', 'é'];
  server.tools['ask'] = (x) => {
    const { inputResponses } = x.seen.message.params!;
    if (inputResponses !== undefined) {
      answer(x, { content: [{ type: 'text', text: JSON.stringify(Object.keys(inputResponses ?? {})) }] });
      return;
    }
    const requests = keys.map((key) => `${JSON.stringify(key)}:${JSON.stringify(question.name)}`).join(',');
    const asking = `{"resultType":"input_required","inputRequests":{${requests}}}`;
    x.json(`{"jsonrpc":"2.0","id":${String(x.id)},"result":${asking}}`);
  };
  const client = await open();
  const events = await client.stream(client.tool('ask'));
  for (let i = 0; i < keys.length; i++) {
    const asked = await events.next();
    await client.post({ jsonrpc: '2.0', id: asked!.id, result: { action: 'accept' } });
  }
  const done = await events.next();
  const { text } = (done!.result!['content'] as { text: string }[])[0]!;
  assert.deepEqual(JSON.parse(text), keys);
});

test('a client that does not answer in time loses the call, and the question', async (t) => {
  const { server, open } = await modernStage(t, { callTimeoutMs: 50 }, { limits: { maxMcpCallTimeMs: 100 } });
  server.tools['ask'] = (x) => asks(x, { inputRequests: question });
  const client = await open();
  const events = await client.stream(client.tool('ask'));
  const asked = await events.next();
  const withdrawn = await events.next();
  assert.deepEqual(
    [withdrawn?.method, withdrawn?.params?.['requestId']],
    ['notifications/cancelled', asked?.id],
  );
  assert.match((await events.next())!.error!.message, /did not answer within/);
  // The answer comes too late.
  await client.post({ jsonrpc: '2.0', id: asked!.id, result: { action: 'accept', content: {} } });
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
  assert.equal(server.of('tools/call').length, 2);
});

test('a client that cancels a call takes its questions back', async (t) => {
  const { server, open, target } = await modernStage(t);
  server.tools['ask'] = (x) => asks(x, { inputRequests: question });
  const client = await open();
  const request = client.tool('ask') as { id: number };
  const events = await client.stream(request);
  const asked = await events.next();
  assert.equal(target().pending, 1);
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: request.id } });
  assert.deepEqual((await events.next())?.params?.['requestId'], asked?.id);
  await client.post({ jsonrpc: '2.0', id: asked!.id, result: { action: 'accept', content: {} } });
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
  assert.equal(target().pending, 0);
  // The server has answered the call: there is nothing to cancel there.
  assert.equal(server.of('notifications/cancelled').length, 0);
});

test('a session that ends while a call waits for its client leaves nothing behind', async (t) => {
  const { server, harness, open } = await modernStage(t);
  server.tools['ask'] = (x) => asks(x, { inputRequests: question });
  const client = await open();
  const events = await client.stream(client.tool('ask'));
  await events.next();
  assert.equal(await client.delete(), 204);
  await until('the session is over', () => harness.runtime.view().sessions.length === 0);
  const rest = await events.rest();
  assert.match(JSON.stringify(rest.at(-1)), /has been stopped/);
  assert.deepEqual(server.deleted, []);
});

test('a call whose server takes back its connection fails, and is not resumed with GET', async (t) => {
  const { server, open } = await modernStage(t);
  server.tools['cut'] = (x) => {
    x.stream();
    x.event(
      { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } },
      { id: 'e1' },
    );
    setImmediate(() => x.cut());
  };
  const client = await open();
  const { error } = await calling(client, 'cut');
  assert.match(error!.message, /broke its stream off before it answered/);
  assert.equal(server.of('GET').length, 0);
});

test('a request of the server on a stream is no request to the client', async (t) => {
  const { server, open, warnings } = await modernStage(t);
  server.tools['old'] = (x: Incoming) => {
    x.stream();
    x.event({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
    x.event({ ...x.result('done') });
    x.end();
  };
  const client = await open();
  const { events, json } = await client.post(client.tool('old'));
  assert.deepEqual(
    [json, ...events].filter(({ method }) => method !== undefined),
    [],
  );
  assert.match(warnings(), /sent the request roots\/list/);
});
