import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { after, before, test } from 'node:test';
import { mcpBackend, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';

let harness: Harness;
let client: RawClient;
before(async () => {
  harness = await startHarness();
  client = new RawClient(harness.url);
  await client.initialize();
});
after(() => harness.close());

const fresh = (headers = {}): RawClient => new RawClient(harness.url, headers);

test('initialize answers JSON with a session id that is visible ASCII', async () => {
  const answer = await fresh().initialize();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.match(answer.headers.get('mcp-session-id') ?? '', /^[\x21-\x7e]{40,}$/);
  assert.equal(answer.json.result?.['protocolVersion'], '2025-11-25');
});

for (const version of ['2025-11-25', '2025-06-18', '2025-03-26'])
  test(`a session of revision ${version} is opened and used`, async () => {
    const one = fresh({ 'mcp-protocol-version': version });
    assert.equal((await one.initialize(version)).json.result?.['protocolVersion'], version);
    assert.equal(await one.call('echo', { text: version }), version);
  });

test('a response passes with every byte but the id', async () => {
  const answer = await client.post(
    '{ "method" : "tools/call",\n"params":{"name":"echo","arguments":{"text":"é\\u0000\\"id\\":1"}},\r\n "jsonrpc":"2.0", "id":"my-id"}',
  );
  assert.equal(
    answer.text,
    String.raw`{"jsonrpc":"2.0","id":"my-id","result":{"content":[{"type":"text","text":"é\u0000\"id\":1"}],"unknownField":{"kept":true}}}`,
  );
});

for (const id of ['"a"', '0', '-1', '1.0', '12345678901234567890', '1e3', '"\\u0041"', '""'])
  test(`the id ${id} comes back as it was written`, async () => {
    const answer = await client.post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assert.equal(answer.text, `{"jsonrpc":"2.0","id":${id},"result":{}}`);
  });

test('a notification and a response are taken with 202 and no body', async () => {
  for (const message of [
    { jsonrpc: '2.0', method: 'notifications/roots/list_changed' },
    { jsonrpc: '2.0', id: 99, result: {} },
  ]) {
    const answer = await client.post(message);
    assert.equal(answer.status, 202);
    assert.equal(answer.text, '');
  }
});

test('an unknown method is the server’s to refuse', async () => {
  const answer = await client.post(client.request('no/such'));
  assert.equal(answer.status, 200);
  assert.equal(answer.json.error?.code, -32601);
});

test('unknown fields of a list survive', async () => {
  const answer = await client.post(client.request('tools/list'));
  assert.match(answer.text, /"x-unknown":\[1,2,null\]/);
  assert.match(answer.text, /"nextCursor":"more"/);
});

for (const [why, body, code] of [
  ['no JSON', '{', -32700],
  ['nothing', '', -32700],
  ['JSON and more', '{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}', -32700],
  ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
  ['no message', '{"id":1}', -32600],
  ['an id twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32600],
  ['a deep bomb', '['.repeat(500_000), -32700],
  ['a deep list', '['.repeat(200_000) + ']'.repeat(200_000), -32600],
  ['a null id', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
] as const)
  test(`a body with ${why} gets 400 and JSON-RPC ${code}`, async () => {
    const answer = await client.post(body);
    assert.equal(answer.status, 400);
    assert.equal(answer.json.error?.code, code);
    assert.equal(answer.json.id, null);
  });

test('a body that is not UTF-8 is refused', async () => {
  const body = Buffer.concat([
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
    Buffer.of(0xff),
    Buffer.from('"}'),
  ]);
  const response = await fetch(harness.url, { method: 'POST', headers: client.headers(), body });
  assert.equal(response.status, 400);
  assert.equal(((await response.json()) as { error: { code: number } }).error.code, -32700);
});

test('a body over the limit gets 413 with a JSON-RPC error that has its size and the limit', async () => {
  const body = `"${'x'.repeat(17_000_000)}"`;
  const answer = await client.post(body);
  assert.equal(answer.status, 413);
  assert.equal(answer.json.id, null);
  assert.deepEqual(answer.json.error, {
    code: -32600,
    message: 'message too large: 17000002 bytes, of which the gateway takes 16777216',
  });
  const streamed = await fetch(harness.url, {
    method: 'POST',
    headers: client.headers(),
    body: new Blob([body]).stream(),
    duplex: 'half',
  } as RequestInit);
  assert.equal(streamed.status, 413);
  const { error } = (await streamed.json()) as { error: { message: string } };
  assert.match(
    error.message,
    /^message too large: more than 16777216 bytes, of which the gateway takes 16777216$/,
  );
});

test('a message as large as a server may send passes from the client, too', async () => {
  const text = 'x'.repeat(8_000_000);
  assert.equal(await client.call('echo', { text }), text);
});

test('a client that takes neither JSON nor events gets 406', async () => {
  assert.equal((await client.post(client.request('ping'), { accept: 'text/html' })).status, 406);
});

for (const accept of ['*/*', 'application/json', '', 'application/json, text/event-stream'])
  test(`Accept "${accept}" gets a JSON answer`, async () => {
    const answer = await client.post(client.request('ping'), { accept });
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.deepEqual(answer.json.result, {});
  });

test('a client that takes only events gets its response as one', async () => {
  const answer = await client.post(client.request('ping', undefined, 'p'), { accept: 'text/event-stream' });
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.equal(answer.headers.get('cache-control'), 'no-cache, no-transform');
  assert.deepEqual(answer.events, [{ jsonrpc: '2.0', id: 'p', result: {} }]);
});

test('another content type gets 415', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    assert.equal((await client.post(client.request('ping'), { 'content-type': type })).status, 415);
});

test('without a session id a message gets 400, with an unknown one 404, and both say so in JSON-RPC', async () => {
  const none = await fresh().post(client.request('ping', undefined, 'q'));
  assert.equal(none.status, 400);
  assert.equal(none.json.id, 'q');
  const unknown = await client.post(client.request('ping'), { 'mcp-session-id': 'nonsense' });
  assert.equal(unknown.status, 404);
  assert.equal(unknown.json.error?.code, -32001);
});

test('GET and DELETE without a session get 400, with an unknown one 404', async () => {
  for (const method of ['GET', 'DELETE']) {
    const accept = { accept: 'text/event-stream' };
    const none = await fetch(harness.url, { method, headers: accept });
    assert.equal(none.status, 400, method);
    const unknown = await fetch(harness.url, { method, headers: { ...accept, 'mcp-session-id': 'x' } });
    assert.equal(unknown.status, 404, method);
  }
});

test('a GET that takes no events gets 406', async () => {
  const response = await fetch(harness.url, { headers: client.headers({ accept: 'application/json' }) });
  assert.equal(response.status, 406);
});

for (const method of ['PUT', 'HEAD', 'PATCH', 'OPTIONS'])
  test(`${method} gets 405 with Allow`, async () => {
    const response = await fetch(harness.url, { method, headers: client.headers() });
    assert.equal(response.status, 405);
    assert.equal(response.headers.get('allow'), 'GET, POST, DELETE');
  });

test('DELETE ends the session; after it, it is unknown', async () => {
  const one = fresh();
  await one.initialize();
  assert.equal(await one.delete(), 204);
  assert.equal(await one.delete(), 404);
  assert.equal((await one.post(one.request('ping'))).status, 404);
});

test('an unsupported protocol version gets 400 with the supported ones', async () => {
  const answer = await client.post(client.request('ping', undefined, 5), {
    'mcp-protocol-version': '1999-01-01',
  });
  assert.equal(answer.status, 400);
  assert.equal(answer.json.id, 5);
  assert.equal(answer.json.error?.code, -32022);
  assert.deepEqual(answer.json.error.data, {
    supported: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
    requested: '1999-01-01',
  });
});

test('a second initialize in a session is refused', async () => {
  const answer = await client.post(client.request('initialize', {}));
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error?.code, -32600);
});

test('in a 2025-03-26 session a batch gets one list of responses', async () => {
  const one = fresh();
  await one.initialize('2025-03-26');
  const answer = await one.post([
    one.request('ping', undefined, 'a'),
    { jsonrpc: '2.0', method: 'notifications/x' },
    one.request('tools/call', { name: 'echo', arguments: { text: 'hi' } }, 'b'),
  ]);
  const list = JSON.parse(answer.text) as { id: string }[];
  assert.deepEqual(list.map((message) => message.id).sort(), ['a', 'b']);
  const quiet = await one.post([{ jsonrpc: '2.0', method: 'notifications/x' }]);
  assert.equal(quiet.status, 202);
  assert.equal((await one.post('[]')).status, 400);
  const initialize = await fresh().post([one.request('initialize', {})]);
  assert.equal(initialize.json.error?.code, -32600);
});

test('a batch that brings progress becomes a stream with every response', async () => {
  const one = fresh();
  await one.initialize('2025-03-26');
  const answer = await one.post([
    one.request('ping', undefined, 'a'),
    one.request(
      'tools/call',
      { name: 'progress', arguments: { steps: 1 }, _meta: { progressToken: 't' } },
      'b',
    ),
  ]);
  assert.deepEqual(
    answer.events.map((message) => message.id ?? message.method),
    ['a', 'notifications/progress', 'b'],
  );
});

/** `fetch` does not let a test lie about Host. */
function status(headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      harness.url,
      { method: 'POST', headers: { ...client.headers(), ...headers } },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify(client.request('ping')));
  });
}

test('a foreign Origin over loopback gets 403, a local one passes', async () => {
  assert.equal(await status({ origin: 'http://evil.example' }), 403);
  assert.equal(await status({ origin: 'http://evil.example', host: 'evil.example' }), 403);
  assert.equal(await status({ origin: 'http://localhost:6274' }), 200);
});

test('with dnsRebindingProtection a foreign Host is refused too', async () => {
  assert.equal(await status({ host: 'evil.example' }), 200);
  harness.use(mcpBackend({ dnsRebindingProtection: true }));
  assert.equal(await status({ host: 'evil.example' }), 403);
  assert.equal(await status({ host: 'localhost:1234' }), 200);
  harness.use(mcpBackend());
});

test('the access log learns method, item, target and a label of the session that is not its id', async () => {
  await client.call('echo', { text: 'x' });
  const notes = harness.annotations.at(-1)!;
  assert.equal(notes.get('mcp.method'), 'tools/call');
  assert.equal(notes.get('mcp.tool'), 'echo');
  assert.equal(notes.get('mcp.target'), 'fixture');
  assert.match(String(notes.get('mcp.session')), /^[0-9a-f]{12}$/);
  assert.ok(![...notes.values()].includes(client.sessionId!));
});

test('requests are counted by method, target and outcome, and made-up methods share a label', async () => {
  await client.post(client.request('made/up'));
  await client.call('echo', { text: 'x' });
  const metrics = harness.metrics();
  const requests = (method: string, outcome: string): number =>
    metrics.get(`mcp_requests_total{method="${method}",target="fixture",outcome="${outcome}"}`) ?? 0;
  assert.ok(requests('tools/call', 'ok') >= 1);
  assert.ok(requests('other', 'error') >= 1);
  assert.ok((metrics.get('mcp_sessions{}') ?? 0) >= 1);
  assert.ok((metrics.get('mcp_children{}') ?? 0) >= 1);
  assert.ok(
    (metrics.get('mcp_call_duration_seconds_bucket{method="tools/call",target="fixture",le="+Inf"}') ?? 0) >=
      1,
  );
});
