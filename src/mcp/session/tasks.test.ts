/** Tasks belong to the principal and to the item that made them, also where all share one identity at the server. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { catalog, mcpBackend, remoteTarget, startHarness, rulesBy } from '../harness.testing.ts';
import { RawClient, type Events, type Message } from '../rawClient.testing.ts';
import { stage, type Stage } from '../remote.testing.ts';
import type { Incoming, RemoteServer } from '../remoteServer.testing.ts';
import { SessionSeal } from './sessionId.ts';
import { TaskRegistry, type TaskOwner } from './taskRegistry.ts';
import { until } from '../../until.testing.ts';

const related = 'io.modelcontextprotocol/related-task';

/** The tools that each caller may not use. */
const hidden = new Map<string, ReadonlySet<string>>();

/** A server that knows one client, the gateway: it tells everybody of every task. */
function serveTasks(server: RemoteServer): string[] {
  const tasks: string[] = [];
  const answer = (x: Incoming, result: object): void => x.json({ jsonrpc: '2.0', id: x.id, result });
  const named = (x: Incoming): unknown => x.seen.message.params?.['taskId'];
  server.methods['tools/call'] = (x) => {
    const { params } = x.seen.message;
    if (params?.['task'] === undefined)
      return answer(x, { content: [], _meta: { [related]: { taskId: tasks[0] } } });
    tasks.push(`${String(params['name'])}-${tasks.length + 1}`);
    return answer(x, { task: { taskId: tasks.at(-1), status: 'working' } });
  };
  server.methods['tasks/list'] = (x) =>
    answer(x, { tasks: tasks.map((taskId) => ({ taskId, status: 'working' })) });
  for (const method of ['tasks/get', 'tasks/cancel'])
    server.methods[method] = (x) => answer(x, { taskId: named(x), status: 'working' });
  server.methods['tasks/result'] = (x) =>
    answer(x, { content: [{ type: 'text', text: 'paid' }], _meta: { [related]: { taskId: named(x) } } });
  return tasks;
}

interface Scene extends Stage {
  readonly tasks: readonly string[];
  user(name: string): Promise<RawClient>;
}

async function scene(t: TestContext): Promise<Scene> {
  hidden.clear();
  const set = await stage(
    t,
    {},
    {
      caller: (request) => {
        const user = request.header('x-user');
        const rules = rulesBy(({ name }) => hidden.get(user ?? '')?.has(name) !== true);
        return { principal: user === 'nobody' ? undefined : user, ...(hidden.size > 0 && rules) };
      },
    },
  );
  const user = async (name: string): Promise<RawClient> => {
    const client = new RawClient(set.harness.url, { 'x-user': name });
    await client.initialize();
    return client;
  };
  return { ...set, tasks: serveTasks(set.server), user };
}

async function begin(client: RawClient, name: string): Promise<string> {
  const { json } = await client.post(client.tool(name, {}, { task: {} }));
  return (json.result?.['task'] as { taskId: string }).taskId;
}

const ask = async (client: RawClient, method: string, params?: object): Promise<Message> =>
  (await client.post(client.request(method, params))).json;

async function listed(client: RawClient): Promise<string[]> {
  const { result } = await ask(client, 'tasks/list');
  return (result?.['tasks'] as { taskId: string }[]).map(({ taskId }) => taskId);
}

const unknownTask = { code: -32602, message: 'Unknown task' };
const methods = ['tasks/get', 'tasks/result', 'tasks/cancel'] as const;

test('a task is unknown to every other principal, by the handle and by the server’s own id', async (t) => {
  const { server, tasks, user } = await scene(t);
  const alice = await user('alice');
  const bob = await user('bob');
  const handle = await begin(alice, 'payroll');
  assert.deepEqual(tasks, ['payroll-1']);
  assert.notEqual(handle, 'payroll-1');
  for (const method of methods) {
    for (const taskId of [handle, 'payroll-1', ` ${handle}`, `${handle}=`, ''])
      assert.deepEqual((await ask(bob, method, { taskId })).error, unknownTask);
    assert.deepEqual((await ask(alice, method, { taskId: 'payroll-1' })).error, unknownTask);
    for (const params of [{}, { taskId: [handle] }, { TaskId: handle }])
      assert.deepEqual((await ask(alice, method, params)).error, unknownTask);
    assert.equal(server.of(method).length, 0);
  }
  for (const method of ['tasks/get', 'tasks/cancel'])
    assert.deepEqual((await ask(alice, method, { taskId: handle })).result, {
      taskId: handle,
      status: 'working',
    });
  const result = { content: [{ type: 'text', text: 'paid' }], _meta: { [related]: { taskId: handle } } };
  assert.deepEqual((await ask(alice, 'tasks/result', { taskId: handle })).result, result);
  assert.deepEqual(
    methods.map((method) => server.of(method)[0]?.message.params),
    methods.map(() => ({ taskId: 'payroll-1' })),
  );
});

test('a list of tasks has the caller’s own, and the handles are those that the caller knows', async (t) => {
  const { user } = await scene(t);
  const alice = await user('alice');
  const bob = await user('bob');
  const made = [await begin(alice, 'a'), await begin(bob, 'b'), await begin(alice, 'c')];
  assert.deepEqual(await listed(alice), [made[0], made[2]]);
  assert.deepEqual(await listed(bob), [made[1]]);
  // They are the principal's, whatever the session.
  assert.deepEqual(await listed(await user('alice')), [made[0], made[2]]);
  assert.deepEqual(await listed(await user('carol')), []);
  const first = await user('nobody');
  const own = await begin(first, 'd');
  assert.deepEqual(await listed(first), [own]);
  assert.deepEqual(await listed(await user('nobody')), [], 'anonymous callers are not one person');
});

test('a task is as hidden as the tool that made it', async (t) => {
  const { server, user } = await scene(t);
  const alice = await user('alice');
  const handle = await begin(alice, 'payroll');
  const other = await begin(alice, 'echo');
  hidden.set('alice', new Set(['payroll']));
  assert.deepEqual((await ask(alice, 'tasks/result', { taskId: handle })).error, unknownTask);
  assert.deepEqual(await listed(alice), [other]);
  assert.equal(server.of('tasks/result').length, 0);
  hidden.set('alice', new Set());
  assert.deepEqual(await listed(alice), [handle, other]);
});

test('the result of a read that runs as a task lacks the contents that the rules hide', async (t) => {
  const { server, user } = await scene(t);
  const contents = ['file:///dir/a', 'file:///secret/x'].map((uri) => ({ uri, text: uri }));
  const task = { taskId: 'read-1', status: 'completed' };
  const answers: Record<string, object> = {
    'resources/read': { task },
    'tasks/result': { contents, _meta: { [related]: { taskId: 'read-1' } } },
    'tasks/get': { ...task, result: { contents } },
  };
  for (const method of Object.keys(answers))
    server.methods[method] = (x) => x.json({ jsonrpc: '2.0', id: x.id, result: answers[method] });
  hidden.set('alice', new Set(['file:///secret/x']));
  const alice = await user('alice');
  const read = async (uri: string): Promise<string> => {
    const { result } = await ask(alice, 'resources/read', { uri, task: {} });
    return (result?.['task'] as { taskId: string }).taskId;
  };
  const taskId = await read('file:///dir');
  const shown = contents.slice(0, 1);
  assert.deepEqual((await ask(alice, 'tasks/result', { taskId })).result, {
    contents: shown,
    _meta: { [related]: { taskId } },
  });
  assert.deepEqual((await ask(alice, 'tasks/get', { taskId })).result?.['result'], { contents: shown });
  hidden.set('alice', new Set(contents.map(({ uri }) => uri)));
  const nothing = { code: -32602, message: 'Unknown resource: file:///dir' };
  for (const method of ['tasks/result', 'tasks/get'])
    assert.deepEqual((await ask(alice, method, { taskId })).error, nothing, method);
});

test('completions of a task are refused under rules, which cannot judge them', async (t) => {
  const { server, user } = await scene(t);
  const answer = (method: string, result: object): void => {
    server.methods[method] = (x) => x.json({ jsonrpc: '2.0', id: x.id, result });
  };
  answer('completion/complete', { task: { taskId: 'complete-1', status: 'completed' } });
  answer('tasks/result', { completion: { values: ['secret'] } });
  hidden.set('alice', new Set(['file:///secret']));
  const alice = await user('alice');
  const { result } = await ask(alice, 'completion/complete', {
    ref: { type: 'ref/resource', uri: 'file:///x/{name}' },
    argument: { name: 'name', value: '' },
    task: {},
  });
  const { taskId } = result?.['task'] as { taskId: string };
  assert.match((await ask(alice, 'tasks/result', { taskId })).error?.message ?? '', /Unknown resource/);
});

test('a notification about a task reaches only its principal, under the handle', async (t) => {
  const { server, user } = await scene(t);
  const clients = [await user('alice'), await user('bob')] as const;
  const handle = await begin(clients[0], 'payroll');
  const other = await begin(clients[1], 'echo');
  const streams: Events[] = [];
  for (const client of clients) streams.push(await client.get());
  await until('the gateway hears the server for both', () => server.news.size === 2);
  const say = (method: string, params: object): void => {
    for (const each of server.news) each.event({ jsonrpc: '2.0', method, params });
  };
  for (const taskId of ['payroll-1', 'echo-2', 'stranger-3']) {
    say('notifications/tasks/status', { taskId, status: 'completed' });
    say('notifications/message', { data: taskId, _meta: { [related]: { taskId } } });
  }
  say('notifications/message', { data: 'end' });
  for (const [i, [taskId, data]] of [
    [handle, 'payroll-1'],
    [other, 'echo-2'],
  ].entries()) {
    assert.deepEqual((await streams[i]!.next())?.params, { taskId, status: 'completed' });
    assert.deepEqual((await streams[i]!.next())?.params, { data, _meta: { [related]: { taskId } } });
    assert.deepEqual((await streams[i]!.next())?.params, { data: 'end' });
    await streams[i]!.cancel();
  }
});

test('news of a task that comes before the response that makes it waits for that response', async (t) => {
  const { server, user } = await scene(t);
  const [alice, bob] = [await user('alice'), await user('bob')];
  const stream = await bob.get();
  await until('the gateway hears the server', () => server.news.size === 1);
  const status = (taskId: string, statusMessage: string): object => ({
    jsonrpc: '2.0',
    method: 'notifications/tasks/status',
    params: { taskId, statusMessage },
  });
  server.methods['tools/call'] = (x) => {
    x.stream();
    x.event(status('other-1', 'of nobody'));
    for (let nth = 1; nth <= 20; nth++) {
      x.event(status('early-1', `step ${nth}`));
      for (const each of server.news) each.event(status('early-1', `step ${nth}`));
    }
    x.event({ jsonrpc: '2.0', id: x.id, result: { task: { taskId: 'early-1', status: 'working' } } });
    x.end();
  };
  const { events } = await alice.post(alice.tool('early', {}, { task: {} }));
  const { taskId } = events.at(-1)?.result?.['task'] as { taskId: string };
  assert.notEqual(taskId, 'early-1');
  const steps = Array.from({ length: 16 }, (_, nth) => `step ${nth + 5}`);
  assert.deepEqual(
    events.slice(0, -1).map(({ params }) => params),
    steps.map((statusMessage) => ({ taskId, statusMessage })),
    'the oldest news goes first',
  );
  for (const each of server.news)
    each.event({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'end' } });
  assert.deepEqual((await stream.next())?.params, { data: 'end' }, 'another caller hears of nothing');
  await stream.cancel();
});

test('a message of the client is related to the caller’s tasks only', async (t) => {
  const { server, user } = await scene(t);
  const alice = await user('alice');
  const bob = await user('bob');
  const handle = await begin(alice, 'payroll');
  const meta = (taskId: unknown): object => ({ _meta: { [related]: { taskId } } });
  const before = server.of('tools/call').length;
  for (const taskId of [handle, 'payroll-1', 5, undefined]) {
    assert.deepEqual((await bob.post(bob.tool('echo', {}, meta(taskId)))).json.error, unknownTask);
    const params = { progressToken: 1, progress: 1, ...meta(taskId) };
    await bob.post({ jsonrpc: '2.0', method: 'notifications/progress', params });
  }
  await bob.post({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: 'payroll-1' } });
  await alice.post(alice.tool('echo', {}, meta(handle)));
  const [call, ...more] = server.of('tools/call').slice(before);
  assert.deepEqual([call?.message.params?.['_meta'], more], [{ [related]: { taskId: 'payroll-1' } }, []]);
  assert.equal(server.of('notifications/progress').length, 0);
  assert.equal(server.of('notifications/tasks/status').length, 0);
  // The server relates its answer to a task of somebody else: that one's id stays with the gateway.
  const answer = await bob.post(bob.tool('echo'));
  assert.deepEqual(answer.json.result?.['_meta'], { [related]: { taskId: 'unknown' } });
});

test('a question of the server about a task is asked under the handle, and answered under the server’s id', async (t) => {
  const { server, user } = await scene(t);
  const alice = await user('alice');
  const handle = await begin(alice, 'payroll');
  const events = await alice.get();
  await until('the gateway hears the server', () => server.news.size === 1);
  const [news] = server.news;
  const question = (id: number, taskId: string): void =>
    news!.event({
      jsonrpc: '2.0',
      id,
      method: 'elicitation/create',
      params: { _meta: { [related]: { taskId } } },
    });
  question(1, 'stranger-9');
  question(2, 'payroll-1');
  const asked = await events.next();
  assert.deepEqual(asked?.params, { _meta: { [related]: { taskId: handle } } });
  const answers = (): readonly Message[] =>
    server.seen.flatMap(({ method, message }) =>
      method === 'POST' && message.method === undefined && message.id !== undefined ? [message] : [],
    );
  await alice.post({ jsonrpc: '2.0', id: asked!.id, result: { action: 'decline', ...asked!.params } });
  await until('both were answered', () => answers().length === 2);
  assert.deepEqual(answers(), [
    { jsonrpc: '2.0', id: 1, error: unknownTask },
    { jsonrpc: '2.0', id: 2, result: { action: 'decline', _meta: { [related]: { taskId: 'payroll-1' } } } },
  ]);
  await events.cancel();
});

test('a task that the client makes for the server keeps its id', async (t) => {
  const { server, user } = await scene(t);
  const alice = await user('alice');
  const events = await alice.get();
  await until('the gateway hears the server', () => server.news.size === 1);
  const [news] = server.news;
  news!.event({ jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: { task: {} } });
  const asked = await events.next();
  await alice.post({
    jsonrpc: '2.0',
    id: asked!.id,
    result: { task: { taskId: 'mine', status: 'working' } },
  });
  await alice.post({ jsonrpc: '2.0', method: 'notifications/tasks/status', params: { taskId: 'mine' } });
  news!.event({ jsonrpc: '2.0', id: 2, method: 'tasks/result', params: { taskId: 'mine' } });
  const again = await events.next();
  assert.deepEqual(again?.params, { taskId: 'mine' });
  const result = { content: {}, _meta: { [related]: { taskId: 'mine' } } };
  await alice.post({ jsonrpc: '2.0', id: again!.id, result });
  const sent = (): readonly Message[] =>
    server.seen.flatMap(({ method, message }) => (method === 'POST' && message.id === 2 ? [message] : []));
  await until('the result came', () => sent().some((message) => message.result !== undefined));
  assert.deepEqual(sent().at(-1)?.result, result);
  assert.deepEqual(server.of('notifications/tasks/status')[0]?.message.params, { taskId: 'mine' });
  await events.cancel();
});

test('another process with the session key knows a task by its handle', async (t) => {
  const { server, user } = await scene(t);
  const handle = await begin(await user('alice'), 'payroll');
  const other = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
    caller: (request) => ({ principal: request.header('x-user') }),
  });
  t.after(() => other.close());
  const there = new RawClient(other.url, { 'x-user': 'alice' });
  await there.initialize();
  assert.deepEqual(await listed(there), [], 'it has not heard of the task yet');
  assert.equal((await ask(there, 'tasks/get', { taskId: handle })).result?.['taskId'], handle);
  assert.deepEqual(await listed(there), [handle]);
});

for (const others of [[], [catalog({ name: 'other', tools: ['read'] })]])
  test(`requests without a session know a task of one target among ${others.length + 1}`, async (t) => {
    const { harness, server, user } = await scene(t);
    harness.use(mcpBackend({ targets: [...others, remoteTarget(server.url)], stateless: true }));
    const alice = new RawClient(harness.url, { 'x-user': 'alice' });
    const handle = await begin(alice, others.length === 0 ? 'payroll' : 'remote_payroll');
    for (const method of methods) {
      const { result } = await ask(alice, method, { taskId: handle });
      assert.ok(JSON.stringify(result).includes(handle), method);
    }
    assert.deepEqual((await ask(await user('mallory'), 'tasks/get', { taskId: handle })).error, unknownTask);
  });

test('an id that fits into no handle fails the call that made it', async (t) => {
  const { server, user } = await scene(t);
  const alice = await user('alice');
  for (const taskId of ['x'.repeat(600), 5, ['a']]) {
    server.methods['tools/call'] = (x) => x.json({ jsonrpc: '2.0', id: x.id, result: { task: { taskId } } });
    const { json } = await alice.post(alice.tool('a', {}, { task: {} }));
    assert.equal(json.error?.message, 'target "remote" answered with a task id that cannot be used');
  }
});

test('remembered tasks are bounded for each owner', () => {
  const book = new TaskRegistry(new SessionSeal());
  const owner = (principal: string, server = 's'): TaskOwner => ({ server, principal, session: 'x' });
  const small = book.bind(owner('small'), 'task', { kind: 'tool', name: 'a' });
  for (let i = 0; i < 300; i++) book.bind(owner('large'), `task-${i}`, undefined);
  assert.equal(book.remembered, 257);
  assert.equal(book.find(owner('large'), 'task-0'), undefined);
  for (let i = 0; i < 10_000; i++) book.bind(owner('large', `server-${i % 40}`), `task-${i}`, undefined);
  assert.equal(book.remembered, 4_096);
  assert.deepEqual(book.find(owner('small'), 'task'), small);
  assert.equal(book.find(owner('small', 'other'), 'task'), undefined);
  assert.equal(book.open(owner('small', 'other'), small!.handle), undefined);
  assert.deepEqual(book.open(owner('small'), small!.handle), small);
  assert.equal(new TaskRegistry(new SessionSeal()).open(owner('small'), small!.handle), undefined);
});
