/** Every way in which a message can name an item, under rules about items. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { startHarness, type Harness, rulesBy } from '../harness.testing.ts';
import { itemOf, listShape } from './items.ts';
import { readEnvelope } from '../json/envelope.ts';
import { clientRequests } from '../messages/mcpMethods.ts';
import { RawClient } from '../rawClient.testing.ts';
import { stage } from '../remote.testing.ts';
import { until } from '../../until.testing.ts';

const hidden = new Set(['crash', 'file:///b', 'secret', 'file:///café', 'secret:///x']);
let ruled = true;
const rules = rulesBy(({ name }) => !hidden.has(name) && !name.startsWith('secret://'));
/** The way of all callers to a child. The gateway then looks at the connections of a session only where it has to. */
const oneWay = { reach: () => undefined, reachesAlike: true };
let harness: Harness;
let client: RawClient;
before(async () => {
  harness = await startHarness({
    caller: () => ({ principal: undefined, ...oneWay, ...(ruled ? rules : {}) }),
  });
  client = new RawClient(harness.url);
  await client.initialize();
});
after(() => harness.close());

interface State {
  readonly subscriptions: string[];
  readonly notifications: { readonly method: string }[];
}
const state = async (): Promise<State> => JSON.parse(await client.call('state')) as State;

for (const uri of [
  'file:///b',
  'FILE:///b',
  ' file:///b',
  'file:\n///b',
  'file:///./b',
  'file:///a/../b',
  'file:///a/%2e%2e/b',
  'file:///a%2f..%2fb',
  'file:/b',
  'file://localhost/b',
  'file:///%62',
  'file:///b#x',
  'file:////b',
])
  for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'])
    test(`${method} of ${JSON.stringify(uri)} answers as for a resource that does not exist`, async () => {
      const answer = await client.post(client.request(method, { uri }));
      const message = `Unknown resource: ${uri}`;
      assert.deepEqual([answer.status, answer.json.error], [200, { code: -32602, message }]);
    });

for (const [method, label, names] of [
  ['tools/call', 'tool', [' crash', 'crash\t', 'ｃrash', '\u3000crash']],
  ['prompts/get', 'prompt', ['secret ', 'ｓecret']],
] as const)
  for (const name of names)
    test(`${method} of ${JSON.stringify(name)} answers as for a ${label} that does not exist`, async () => {
      const answer = await client.post(client.request(method, { name }));
      assert.equal(answer.json.error?.message, `Unknown ${label}: ${name}`);
    });

test('an item that every reading allows reaches the server as the client wrote it', async () => {
  for (const uri of ['file:///a/../c', 'FILE:///a', ' file:///a', 'file:///a%20b#c']) {
    const answer = await client.post(client.request('resources/read', { uri }));
    assert.deepEqual(answer.json.result, { contents: [{ uri, text: 'body' }] }, uri);
  }
});

test('a request without an id reaches no server, whatever it asks for, and ends its whole batch', async () => {
  const old = new RawClient(harness.url);
  await old.initialize('2025-03-26');
  for (const method of [
    'tools/call',
    'resources/subscribe',
    'ping',
    'made/up',
    'Notifications/initialized',
  ]) {
    const message = { jsonrpc: '2.0', method, params: { name: 'echo', uri: 'file:///c' } };
    const answer = await client.post(message);
    assert.deepEqual(
      [answer.status, answer.json.error],
      [400, { code: -32600, message: `invalid request: ${method} without an id` }],
    );
    const batch = [old.request('resources/subscribe', { uri: 'file:///first' }), message];
    assert.equal((await old.post(batch)).status, 400);
  }
  assert.deepEqual(JSON.parse(await old.call('state')).subscriptions, []);
  assert.deepEqual((await state()).subscriptions, []);
});

test('the notifications of the revision reach the server, and others only where no rule is about items', async () => {
  const before = (await state()).notifications.length;
  const send = async (method: string): Promise<void> => {
    assert.equal((await client.post({ jsonrpc: '2.0', method, params: { requestId: 'none' } })).status, 202);
  };
  const known = ['notifications/progress', 'notifications/roots/list_changed'];
  for (const method of [...known, 'notifications/made/up', 'notifications/tools/call']) await send(method);
  const seen = async (): Promise<string[]> =>
    (await state()).notifications.slice(before).map(({ method }) => method);
  assert.deepEqual(await seen(), known);
  ruled = false;
  await send('notifications/made/up');
  ruled = true;
  assert.deepEqual(await seen(), [...known, 'notifications/made/up']);
});

test('a method that MCP does not know is not found under rules about items, and the server’s without', async () => {
  const ask = () => client.post(client.request('items/get', { name: 'crash' }, 'u'));
  const answer = await ask();
  const error = { code: -32601, message: 'Method not found' };
  assert.deepEqual([answer.status, answer.json], [200, { jsonrpc: '2.0', id: 'u', error }]);
  const denied = 'mcp_requests_total{method="other",target="fixture",outcome="denied"}';
  assert.equal(harness.metrics().get(denied), 1);
  ruled = false;
  assert.deepEqual((await ask()).json.error, error, 'the server says the same');
  ruled = true;
  assert.equal(
    harness.metrics().get('mcp_requests_total{method="other",target="fixture",outcome="error"}'),
    1,
  );
});

for (const [what, method, params] of [
  ['a reference of an unknown type', 'completion/complete', { ref: { type: 'ref/tool', name: 'crash' } }],
  ['a reference without a type', 'completion/complete', { ref: { name: 'secret' } }],
  ['no reference', 'completion/complete', {}],
  ['no name', 'tools/call', { tool: 'crash' }],
  ['no URI', 'resources/read', { URL: 'file:///b' }],
] as const)
  test(`${method} with ${what} is refused under rules about items`, async () => {
    const answer = await client.post(client.request(method, params));
    assert.deepEqual(answer.json.error, { code: -32600, message: 'invalid request: it names no item' });
  });

test('a completion neither asks for hidden resources by the values of a template nor tells of them', async (t) => {
  const secret = rulesBy(({ name }) => !/^demo:\/\/r\/dynamic(?:\/|$)/.test(name));
  const { server, open } = await stage(t, {}, { caller: () => ({ principal: undefined, ...secret }) });
  const values = ['static', 'dynamic', 'other'];
  server.methods['completion/complete'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, result: { completion: { values, total: 3, hasMore: false } } });
  const asking = await open();
  const ref = { type: 'ref/resource', uri: 'demo://r/{kind}/{id}' };
  const complete = (argument: object, known: object) =>
    asking.post(asking.request('completion/complete', { ref, argument, context: { arguments: known } }));
  const kinds = await complete({ name: 'kind', value: '' }, {});
  assert.deepEqual(kinds.json.result, {
    completion: { values: ['static', 'other'], total: 2, hasMore: false },
  });
  assert.deepEqual((await complete({ name: 'id', value: '' }, { kind: 'static' })).json.result, {
    completion: { values, total: 3, hasMore: false },
  });
  for (const kind of ['dynamic', './dynamic', '%64ynamic', 'x/../dynamic'])
    assert.equal(
      (await complete({ name: 'id', value: '' }, { kind })).json.error?.message,
      'Unknown resource: demo://r/{kind}/{id}',
    );
  assert.equal(server.of('completion/complete').length, 2);
});

test('contents that a server read under another URI are checked by that URI', async (t) => {
  const { server, open } = await stage(t, {}, { caller: () => ({ principal: undefined, ...rules }) });
  let uris = ['file:///a', 'file:///b', 'FILE:///b'];
  server.methods['resources/read'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, result: { contents: uris.map((uri) => ({ uri, text: uri })) } });
  const reading = await open();
  const read = () => reading.post(reading.request('resources/read', { uri: 'file:///a' }));
  assert.deepEqual((await read()).json.result, { contents: [{ uri: 'file:///a', text: 'file:///a' }] });
  uris = ['file:///b'];
  assert.equal((await read()).json.error?.message, 'Unknown resource: file:///a');
});

test('news of a hidden resource goes on no stream, at once or after it waited', async () => {
  const events = await client.get();
  const during = await client.post(client.tool('update', { uri: 'file:///b' }));
  assert.equal(during.events.length, 0, during.text);
  await client.call('updateLater', { uris: ['file:///b', 'FILE:///b', 'file:///x/../b', 'file:///a'] });
  assert.deepEqual((await events.next())?.params, { uri: 'file:///a' });
  // Messages that MCP does not know may name anything.
  await client.call('update', { method: 'notifications/made/up', uri: 'file:///b' });
  await client.call('updateLater', { uris: ['file:///c'] });
  assert.deepEqual((await events.next())?.params, { uri: 'file:///c' });
  await events.cancel();

  const held = new RawClient(harness.url);
  await held.initialize();
  // It waits while no rule hides it, and is judged for whoever comes to hear it.
  ruled = false;
  await held.call('updateLater', { uris: ['file:///b', 'file:///a'] });
  await until('both wait', () => harness.runtime.view().sessions.some((session) => session.held === 2));
  ruled = true;
  const late = await held.get();
  assert.deepEqual((await late.next())?.params, { uri: 'file:///a' });
  await late.cancel();
});

test('a resumed stream is filtered again by the current rules', async () => {
  ruled = false;
  const resuming = new RawClient(harness.url);
  await resuming.initialize();
  const first = await resuming.get();
  await resuming.call('updateLater', { uris: ['file:///first', 'file:///b', 'file:///a'] });
  assert.deepEqual((await first.next())?.params, { uri: 'file:///first' });
  const { lastId } = first;
  for (const uri of ['file:///b', 'file:///a']) assert.deepEqual((await first.next())?.params, { uri });
  await first.cancel();
  ruled = true;
  const again = await resuming.get({ 'last-event-id': lastId });
  assert.deepEqual((await again.next())?.params, { uri: 'file:///a' });
  await again.cancel();
});

test('subscriptions are judged before a restarted child hears of them again', async () => {
  const subscribed = new RawClient(harness.url);
  ruled = false;
  await subscribed.initialize();
  for (const uri of ['file:///a', 'file:///b', 'file:///x/../b', 'file:///c'])
    await subscribed.post(subscribed.request('resources/subscribe', { uri }));
  ruled = true;
  await subscribed.call('crash').catch(() => undefined);
  // Hidden now, so it did not crash; a tool that the rules do not know of does.
  await subscribed.call('die').catch(() => undefined);
  const kept = async (): Promise<string[]> =>
    (JSON.parse(await subscribed.call('state')) as State).subscriptions.toSorted();
  assert.deepEqual(await kept(), ['file:///a', 'file:///c']);
  // It is the same with nobody there while the child starts.
  const pid = Number(await subscribed.call('pid'));
  hidden.add('file:///c');
  process.kill(pid, 'SIGKILL');
  await until('the child was started again', () =>
    harness.runtime
      .view()
      .sessions.some(({ targets }) => targets[0]!.restarts === 2 && targets[0]!.state === 'ready'),
  );
  assert.deepEqual(await kept(), ['file:///a']);
  hidden.delete('file:///c');
});

test('subscriptions are judged before a server that forgot its session hears of them again', async (t) => {
  const secret = new Set<string>();
  const judged = rulesBy(({ name }) => !secret.has(name));
  const { server, open } = await stage(t, {}, { caller: () => ({ principal: undefined, ...judged }) });
  const subscribed = await open();
  for (const uri of ['file:///a', 'file:///b'])
    await subscribed.post(subscribed.request('resources/subscribe', { uri }));
  secret.add('file:///b');
  server.sessions.clear();
  assert.equal(await subscribed.call('echo', { text: 'again' }), 'again');
  const asked = server.of('resources/subscribe').map(({ message }) => message.params?.['uri']);
  assert.deepEqual(asked, ['file:///a', 'file:///b', 'file:///a']);
});

interface Page {
  readonly tools: readonly { readonly name: string }[];
  readonly nextCursor?: string;
}

test('a page of which nothing is left is filled from the pages behind it, 64 of them at most', async (t) => {
  let pages = 0;
  const only = rulesBy(({ name }) => name === 'open');
  const {
    server,
    open,
    harness: around,
  } = await stage(t, {}, { caller: () => ({ principal: undefined, ...only }) });
  server.methods['tools/list'] = (x) => {
    const at = Number(x.seen.message.params?.['cursor'] ?? 0);
    const result: Page = {
      tools: [{ name: at >= pages - 1 ? 'open' : `secret${at}` }],
      ...(at < pages ? { nextCursor: String(at + 1) } : {}),
    };
    x.json({ jsonrpc: '2.0', id: x.id, result });
  };
  const listing = await open();
  const list = async (params?: object): Promise<[asked: number, page: unknown, id: unknown]> => {
    const before = server.of('tools/list').length;
    const { json } = await listing.post(listing.request('tools/list', params, 'list'));
    return [server.of('tools/list').length - before, json.result, json.id];
  };
  pages = 5;
  const page: Page = { tools: [{ name: 'open' }], nextCursor: '5' };
  assert.deepEqual(await list(), [5, page, 'list']);
  assert.deepEqual(await list({}), [5, page, 'list']);
  assert.deepEqual(await list({ cursor: '2', _meta: { progressToken: 1 } }), [3, page, 'list']);
  assert.deepEqual(await list({ _meta: {} }), [5, page, 'list']);
  pages = 64;
  assert.deepEqual(await list(), [64, { tools: [{ name: 'open' }], nextCursor: '64' }, 'list']);
  pages = 100;
  assert.deepEqual(await list(), [64, { tools: [], nextCursor: '64' }, 'list']);
  assert.deepEqual(await list({ cursor: '64' }), [
    36,
    { tools: [{ name: 'open' }], nextCursor: '100' },
    'list',
  ]);
  const answered = 'mcp_requests_total{method="tools/list",target="remote",outcome="ok"}';
  assert.equal(around.metrics().get(answered), 7, 'pages that were hidden whole are no calls of the client');
});

test('a last page of which nothing is left is an empty one without a cursor', async (t) => {
  const none = rulesBy(() => false);
  const { server, open } = await stage(t, {}, { caller: () => ({ principal: undefined, ...none }) });
  server.methods['resources/list'] = (x) => {
    const first = x.seen.message.params?.['cursor'] === undefined;
    const result = { resources: [{ uri: 'file:///a' }], ...(first ? { nextCursor: 'ö"\n' } : {}) };
    x.json({ jsonrpc: '2.0', id: x.id, result });
  };
  const listing = await open();
  assert.deepEqual((await listing.post(listing.request('resources/list'))).json.result, { resources: [] });
  assert.equal(server.of('resources/list')[1]?.message.params?.['cursor'], 'ö"\n');
});

test('every request that MCP knows names no item, or is judged by the item that it names', () => {
  const nameless = new Set(['initialize', 'ping', 'logging/setLevel']);
  for (const method of clientRequests) {
    const message = readEnvelope(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{}}`);
    assert.ok(typeof message === 'object');
    const judged =
      itemOf(message) === 'unnamed' || listShape(method) !== undefined || method.startsWith('tasks/');
    assert.notEqual(judged, nameless.has(method), `${method} is new: does it name an item?`);
  }
});

test('only ItemRules asks the rules about an item, because it checks every reading of a name', () => {
  const room = new URL('../', import.meta.url);
  const asking = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter(
    (file) =>
      file.endsWith('.ts') &&
      !/\.(?:test|testing)\.ts$/.test(file) &&
      readFileSync(new URL(file, room), 'utf8').includes('caller.refusalOf'),
  );
  assert.deepEqual(asking.toSorted(), ['items/itemRules.ts']);
});
