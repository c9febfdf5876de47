/** The errors that a client gets when a server over the network fails, and the details that only the log has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, remoteTarget, startHarness } from '../../harness.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { stage } from '../../remote.testing.ts';
import { RemoteServer, type Incoming } from '../../remoteServer.testing.ts';
import { until } from '../../../until.testing.ts';

test('a server that cannot be reached is an error that names the target; only the log names the address', async (t) => {
  // No other test can get this port, as it could get one that a server has just left.
  const url = 'http://127.0.0.1:1/mcp';
  const harness = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(url, { name: 'far' })] }),
  });
  t.after(() => harness.close());
  const answer = await new RawClient(harness.url).initialize();
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('mcp-session-id'), null);
  assert.deepEqual(answer.json.error, { code: -32603, message: 'target "far" cannot be reached' });
  assert.match(JSON.stringify(harness.log), /upstream_connect_failed: 127\.0\.0\.1:\d+: ECONNREFUSED/);
  assert.equal(harness.runtime.view().sessions.length, 0);
});

test('a server that goes away and comes back loses no session over it', async (t) => {
  const { server, open, harness } = await stage(t);
  const client = await open();
  const { port } = server;
  const { sessions } = server;
  await server.close();
  await until('the kept connections are gone', () => harness.connections() === 0);
  const failed = await client.post(client.tool('echo', { text: 'x' }));
  assert.equal(failed.json.error?.message, 'target "remote" cannot be reached');
  const back = await RemoteServer.start(port);
  t.after(() => back.close());
  for (const session of sessions) back.sessions.add(session);
  assert.equal(await client.call('echo', { text: 'back' }), 'back');
  assert.equal(harness.runtime.view().sessions[0]?.targets[0]?.restarts, 0);
});

const refusals: readonly (readonly [number, Record<string, string>, RegExp])[] = [
  [
    401,
    { 'www-authenticate': 'Bearer error="invalid_token"' },
    /does not take the credentials of the gateway/,
  ],
  [403, {}, /does not allow the gateway to do this/],
  [302, { location: 'https://elsewhere.example/' }, /answered with status 302/],
  [500, {}, /answered with status 500/],
  [503, { 'content-type': 'application/json' }, /answered with status 503/],
  [202, {}, /answered with something that is no MCP message/],
  [200, { 'content-type': 'text/html' }, /answered with something that is no MCP message/],
  [
    200,
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    /something that is no MCP message/,
  ],
  [200, { 'content-type': 'application/json' }, /answered with something that is no response/],
];
test('the Retry-After of a server that has too many requests reaches the client', async (t) => {
  const { server, open } = await stage(t);
  const later = new Date(Date.now() + 3_600_000).toUTCString();
  const client = await open();
  for (const [value, expected] of [
    ['17', /^17$/],
    [later, /^3(599|600)$/],
    ['soon', /^$/],
  ] as const) {
    server.tools['busy'] = (x) => x.status(429, { 'retry-after': value }, 'slow down');
    const answer = await client.post(client.tool('busy'));
    assert.equal(answer.status, 429);
    assert.match(answer.headers.get('retry-after') ?? '', expected);
    assert.equal(answer.json.error?.message, 'target "remote" has too many requests');
    assert.notEqual(answer.json.id, null);
  }
});

for (const [status, headers, message] of refusals)
  test(`status ${status} with ${JSON.stringify(headers)} fails the call and nothing else`, async (t) => {
    const { server, open, warnings } = await stage(t);
    server.tools['fail'] = (x) => x.status(status, headers, '<p>a secret of the inside</p>');
    const client = await open();
    const answer = await client.post(client.tool('fail'));
    assert.equal(answer.status, 200);
    assert.equal(answer.json.error?.code, -32603);
    assert.match(answer.json.error.message, message);
    assert.doesNotMatch(answer.text, /secret|elsewhere|invalid_token/);
    assert.equal(answer.headers.get('www-authenticate'), null);
    for (const value of [headers['www-authenticate'], headers['location']])
      if (value !== undefined) assert.ok(warnings().includes(JSON.stringify(value).slice(1, -1)), warnings());
    assert.equal(await client.call('echo', { text: 'on' }), 'on');
  });

test('a server that echoes its request does not put a credential into the log', async (t) => {
  const headers = () => [
    ['authorization', 'Bearer top-secret-1'] as const,
    ['cookie', 'k=top-secret-2'] as const,
  ];
  const { server, open, warnings } = await stage(t, {}, { headers });
  server.tools['fail'] = (x) => {
    const { authorization, cookie } = x.seen.headers;
    x.status(500, { 'www-authenticate': `Bearer ${authorization}` }, `you sent: ${authorization}, ${cookie}`);
  };
  const client = await open();
  assert.match((await client.post(client.tool('fail'))).json.error!.message, /status 500/);
  assert.match(warnings(), /you sent/);
  assert.doesNotMatch(warnings(), /top-secret/);
});

test('an error of the protocol passes, whatever status it has', async (t) => {
  const { server, open } = await stage(t);
  const error = { code: -32602, message: 'no such thing', data: { x: 1 } };
  server.tools['fail'] = (x) => x.json({ jsonrpc: '2.0', id: x.id, error }, 400);
  const client = await open();
  assert.deepEqual((await client.post(client.tool('fail'))).json.error, error);
});

test('a refusal of initialize ends the session before it begins', async (t) => {
  const { server, harness } = await stage(t);
  server.methods['initialize'] = (x) => x.status(401, { 'www-authenticate': 'Bearer scope="x"' });
  const answer = await new RawClient(harness.url).initialize();
  assert.match(answer.json.error!.message, /does not take the credentials/);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('www-authenticate'), null);
  assert.equal(harness.runtime.view().sessions.length, 0);
  assert.equal(server.of('DELETE').length, 0);
});

test('a session id that could not stand in a header is refused', async (t) => {
  const { server, harness } = await stage(t);
  server.methods['initialize'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, result: {} }, 200, { 'mcp-session-id': 'a b' });
  const answer = await new RawClient(harness.url).initialize();
  assert.match(answer.json.error!.message, /a session id that cannot be used/);
});

test('messages over the limit fail their call, as JSON and as events, and the session goes on', async (t) => {
  const { server, open } = await stage(t, {}, { limits: { maxMcpMessageBytes: 4_096 } });
  const long = 'x'.repeat(10_000);
  server.tools['json'] = (x) => x.json(x.result(long));
  server.tools['chunks'] = (x) => {
    x.response.writeHead(200, { 'content-type': 'application/json' });
    x.response.write(' ');
    x.response.end(JSON.stringify(x.result(long)));
  };
  server.tools['event'] = (x) => {
    x.stream().event(x.result(long));
    x.end();
  };
  const client = await open();
  for (const name of ['json', 'chunks', 'event']) {
    const { json } = await client.post(client.tool(name));
    assert.match(json.error!.message, /answered with a message that is too large/, name);
  }
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
});

test('events that are no messages are passed over', async (t) => {
  const { server, open, warnings } = await stage(t);
  server.tools['odd'] = (x) => {
    x.stream().response.write(': hello\n\nevent: ping\ndata: {}\n\ndata: not json\n\ndata: {"a":1}\n\n');
    x.event({ jsonrpc: '2.0', id: 4_711, result: {} });
    x.event(x.result('odd'));
    x.end();
  };
  const client = await open();
  assert.equal(await client.call('odd'), 'odd');
  assert.match(warnings(), /skipped: not an MCP message.*not json/);
});

test('a call that takes longer than the target may is given up, and the server is told', async (t) => {
  const { server, open, target } = await stage(t, { requestTimeoutMs: 1_000 });
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.tools['hold'] = (x) => resolve(x);
  const client = await open();
  const { json } = await client.post(client.tool('hold'));
  assert.equal(json.error?.message, 'target "remote" did not answer within 1000 ms');
  await (
    await held
  ).left;
  await until('the server was told', () => server.of('notifications/cancelled').length === 1);
  assert.equal(server.of('notifications/cancelled')[0]!.message.params?.['requestId'], (await held).id);
  assert.equal(target().pending, 0);
});

test('a server that does not answer initialize in time leaves no session', async (t) => {
  const { server, harness } = await stage(t, { requestTimeoutMs: 1_000 });
  server.methods['initialize'] = () => undefined;
  const { json } = await new RawClient(harness.url).initialize();
  assert.equal(json.error?.message, 'target "remote" did not answer initialize within 1000 ms');
  assert.equal(harness.runtime.view().sessions.length, 0);
});

test('an answer in JSON that stops half way is given up after the limit for bodies', async (t) => {
  const { server, open, harness } = await stage(t, {}, { limits: { bodyTimeoutMs: 20_000 } });
  const { promise: half, resolve } = Promise.withResolvers<void>();
  server.tools['half'] = (x) => {
    x.response.writeHead(200, { 'content-type': 'application/json' });
    x.response.write('{"jsonrpc"', () => resolve());
  };
  const client = await open();
  const call = client.post(client.tool('half'));
  await half;
  await until('the head has come', () => {
    harness.runtime.tick(performance.now() + 30_000);
    return harness.runtime.view().sessions[0]!.targets[0]!.pending === 0;
  });
  const answer = await call;
  assert.match((answer.events.at(-1) ?? answer.json).error!.message, /did not answer in time/);
});

test('a client with too many calls in flight is told so', async (t) => {
  const { server, open, target } = await stage(t);
  server.tools['hold'] = (x) => void x.stream();
  const client = await open();
  const held = Array.from({ length: 128 }, () => client.post(client.tool('hold')));
  await until('the calls are in flight', () => target().pending === 128);
  const { json } = await client.post(client.tool('echo', { text: 'x' }));
  assert.match(json.error!.message, /has too many calls waiting/);
  await client.delete();
  await Promise.all(held);
});

test('a stream that stays open behind its response is closed after a while', async (t) => {
  const { server, open, harness } = await stage(t);
  const { promise: held, resolve } = Promise.withResolvers<Incoming>();
  server.tools['linger'] = (x) => {
    x.stream().event(x.result('here'));
    resolve(x);
  };
  const client = await open();
  assert.equal(await client.call('linger'), 'here');
  harness.runtime.tick(performance.now() + 10_000);
  await (
    await held
  ).left;
});
