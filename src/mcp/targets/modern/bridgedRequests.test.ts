/** Requests of clients that begin with `initialize`, as a modern server gets them, and its answers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { catalog, mcpBackend, remoteTarget, startHarness } from '../../harness.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { modernTarget, startModern } from '../../modernServer.testing.ts';
import { answer, asks, calling, modernStage, question } from './scriptedServer.testing.ts';

test('the client’s _meta keeps its own members, and none that only the gateway writes', async (t) => {
  const { server, open } = await modernStage(t);
  const client = await open();
  await calling(client, 'echo', {
    arguments: { text: 'x' },
    _meta: {
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'io.modelcontextprotocol/clientCapabilities': { everything: {} },
      'io.modelcontextprotocol/logLevel': 'debug',
    },
  });
  const { _meta: meta } = server.of('tools/call')[0]!.message.params!;
  assert.deepEqual(meta, {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { sampling: {}, elicitation: {}, roots: {} },
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  });
});

test('a request whose _meta is no object is refused by the gateway', async (t) => {
  const { server, open } = await modernStage(t);
  const client = await open();
  const { json } = await client.post(client.request('prompts/list', { _meta: [] }));
  assert.equal(json.error?.code, -32602);
  assert.equal(server.of('prompts/list').length, 0);
});

test('a call with a task is answered without one, and what only tasks need is not declared', async (t) => {
  const { server, harness } = await modernStage(t);
  server.methods['server/discover'] = (x) =>
    answer(x, {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {}, 'com.example/x': {} } },
    });
  const client = new RawClient(harness.url);
  const { json } = await client.initialize('2025-11-25', {
    tasks: { list: {} },
    extensions: { 'io.modelcontextprotocol/tasks': {}, 'io.modelcontextprotocol/ui': {} },
    roots: {},
  });
  assert.deepEqual(json.result!['capabilities'], { tools: {}, extensions: { 'com.example/x': {} } });
  const { result } = await calling(client, 'echo', { arguments: { text: 'x' }, task: { ttl: 1_000 } });
  assert.deepEqual(result!['content'], [{ type: 'text', text: 'x' }]);
  const { params } = server.of('tools/call')[0]!.message;
  assert.equal('task' in params!, false);
  assert.deepEqual(
    (params!['_meta'] as Record<string, unknown>)['io.modelcontextprotocol/clientCapabilities'],
    { extensions: { 'io.modelcontextprotocol/ui': {} }, roots: {} },
  );
});

test('tools whose annotations break the rules are not listed, and the log says so', async (t) => {
  const { server, open, warnings } = await modernStage(t);
  const tool = (name: string, property: object) => ({
    name,
    inputSchema: { type: 'object', properties: { a: property } },
  });
  const annotated = (value: unknown, type = 'string') => ({ type, 'x-mcp-header': value });
  server.methods['tools/list'] = (x) =>
    answer(x, {
      tools: [
        tool('fine', annotated('A')),
        tool('spaces', annotated('A B')),
        tool('empty', annotated('')),
        tool('number', annotated('A', 'number')),
        tool('list', { type: 'array', items: annotated('A') }),
        tool('nested', { type: 'object', properties: { b: annotated('B', 'boolean') } }),
        { name: 'twice', inputSchema: { properties: { a: annotated('X'), b: annotated('x') } } },
      ],
      ttlMs: 0,
    });
  const client = await open();
  const { json } = await client.post(client.request('tools/list'));
  assert.deepEqual(
    (json.result!['tools'] as { name: string }[]).map(({ name }) => name),
    ['fine', 'nested'],
  );
  assert.match(warnings(), /lists the tool spaces with an x-mcp-header that breaks the rules/);
  server.tools['nested'] = (x) => answer(x, { content: [] });
  await calling(client, 'nested', { arguments: { a: { b: true } } });
  assert.equal(server.of('tools/call')[0]!.headers['mcp-param-b'], 'true');
});

test('errors that only the modern era has are told in codes of the older one', async (t) => {
  const { server, open } = await modernStage(t);
  for (const [name, code] of [
    ['lacking', -32021],
    ['version', -32022],
    ['mismatch', -32020],
    ['own', -32050],
  ] as const)
    server.tools[name] = (x) =>
      x.json({ jsonrpc: '2.0', id: x.id, error: { code, message: name, data: { kept: 1 } } }, 400);
  const client = await open();
  const codes: unknown[] = [];
  for (const name of ['lacking', 'version', 'mismatch', 'own']) {
    const { error } = await calling(client, name);
    assert.deepEqual([error!.message, error!.data], [name, { kept: 1 }]);
    codes.push(error!.code);
  }
  assert.deepEqual(codes, [-32602, -32603, -32603, -32050]);
  // A mismatch of headers is tried once more, with the tools listed anew.
  assert.equal(server.of('tools/call').length, 5);
  assert.equal(server.of('tools/list').length, 1);
});

test('a call that takes too long ends at the server with its stream, and without a message', async (t) => {
  const { server, open } = await modernStage(t, { callTimeoutMs: 50 });
  const { promise: left, resolve } = Promise.withResolvers<void>();
  server.tools['slow'] = (x) => void x.left.then(resolve);
  const client = await open();
  assert.match((await calling(client, 'slow')).error!.message, /did not answer within 50 ms/);
  await left;
  assert.equal(server.of('notifications/cancelled').length, 0);
});

test('notifications of the client that the modern era does not have stay at the gateway', async (t) => {
  const { server, open } = await modernStage(t);
  const client = await open();
  for (const method of ['initialized', 'roots/list_changed', 'progress', 'message'])
    await client.post({ jsonrpc: '2.0', method: `notifications/${method}`, params: { progressToken: 1 } });
  await client.call('echo', { text: 'x' });
  assert.deepEqual(
    server.seen.filter(({ message }) => message.id === undefined),
    [],
  );
});

test('a session goes on at another process, which knows what the client can do', async (t) => {
  const { server, harness } = await modernStage(t, {}, { runtime: { keyHolders: 'others' } });
  const there = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
    runtime: { keyHolders: 'others' },
  });
  t.after(() => there.close());
  server.tools['ask'] = (x) =>
    x.seen.message.params!['inputResponses'] === undefined
      ? asks(x, { inputRequests: question })
      : answer(x, { content: [{ type: 'text', text: 'done' }] });
  const client = new RawClient(harness.url);
  await client.initialize('2025-06-18', { elicitation: {}, experimental: { é: 'x'.repeat(600) } });
  const moved = new RawClient(there.url);
  moved.sessionId = client.sessionId;
  assert.equal(await moved.call('echo', { text: 'there' }), 'there');
  const events = await moved.stream(moved.tool('ask'));
  const asked = await events.next();
  assert.equal(asked?.method, 'elicitation/create');
  await moved.post({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: {} } });
  assert.match(JSON.stringify(await events.next()), /done/);
  assert.equal(await client.call('echo', { text: 'here' }), 'here');
  const [copy] = there.runtime.view().sessions;
  assert.deepEqual([copy?.protocolVersion, copy?.targets[0]?.era], ['2025-06-18', 'modern']);
  const ids = server.seen.flatMap(({ message: { id, method } }) =>
    method === 'tools/call' ? (id ?? []) : [],
  );
  assert.equal(new Set(ids).size, ids.length, 'the server sees no id twice');
});

test('a legacy client uses a legacy and a modern server behind one endpoint', async (t) => {
  const modern = await startModern();
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [
        catalog({ name: 'old', tools: ['echo', 'first'] }),
        remoteTarget(modern.url, { name: 'new' }),
      ],
      prefixMode: 'always',
    }),
  });
  t.after(async () => {
    await harness.close();
    await modern.close();
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  const { json } = await client.post(client.request('tools/list'));
  const names = (json.result!['tools'] as { name: string }[]).map(({ name }) => name);
  for (const name of ['old_first', 'new_echo', 'new_region']) assert.ok(names.includes(name), name);
  assert.equal(await client.call('new_echo', { text: 'hi' }), 'hi');
  const region = JSON.parse(await client.call('new_region', { region: 'eu' })) as { header: string };
  assert.equal(region.header, 'eu');
  const events = await client.stream(client.tool('new_ask-name'));
  const asked = await events.next();
  assert.equal(asked?.method, 'elicitation/create');
  await client.post({ jsonrpc: '2.0', id: asked.id, result: { action: 'accept', content: { name: 'Ada' } } });
  assert.match(JSON.stringify(await events.next()), /Ada/);
  // A changed list is read again.
  await until('the server is listened to', () => modern.streams.size === 1);
  assert.equal(await client.call('new_add', { name: 'later' }), 'added');
  await until('the new tool is listed', async () => {
    const again = await client.post(client.request('tools/list'));
    return again.text.includes('new_later');
  });
  const views = harness.runtime.view().sessions[0]!.targets;
  assert.deepEqual(
    views.map(({ name, era }) => [name, era]),
    [
      ['old', undefined],
      ['new', 'modern'],
    ],
  );
});

test('an idle session loses its modern child, and the next one knows what the client wanted', async (t) => {
  let now = 0;
  const harness = await startHarness({
    backend: mcpBackend({ targets: [modernTarget()] }),
    runtime: { now: () => now, sessionTtlMs: 1_000, sessionResumableMs: 10_000 },
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const pid = await client.call('pid');
  await client.post(client.request('resources/subscribe', { uri: 'test://a' }));
  await client.post(client.request('logging/setLevel', { level: 'error' }));
  now = 1_000;
  harness.runtime.tick();
  await until('the child is gone', () => harness.runtime.view().children === 0);
  const { events } = await client.post(client.tool('log'));
  assert.ok(events.some(({ method }) => method === 'notifications/message'));
  assert.notEqual(await client.call('pid'), pid);
  const stream = await client.get();
  await client.call('touch', { uri: 'test://a' });
  for (let heard = await stream.next(); heard?.method !== 'notifications/resources/updated';)
    heard = await stream.next();
  await stream.cancel();
});

test('all pages of a modern server reach a legacy client', async (t) => {
  const { server, open } = await modernStage(t);
  server.methods['tools/list'] = (x) => {
    const cursor = x.seen.message.params!['cursor'];
    const name = cursor === undefined ? 'one' : 'two';
    answer(x, {
      tools: [{ name, inputSchema: { type: 'object' } }],
      ...(cursor === undefined && { nextCursor: 'second' }),
      ttlMs: 5,
      cacheScope: 'public',
    });
  };
  const client = await open();
  const first = (await client.post(client.request('tools/list'))).json.result!;
  assert.deepEqual(Object.keys(first), ['tools', 'nextCursor']);
  const second = (await client.post(client.request('tools/list', { cursor: first['nextCursor'] }))).json
    .result!;
  assert.match(JSON.stringify(second), /"two"/);
});
