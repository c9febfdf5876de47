/** News of tasks (tasks extension of revision 2026-07-28) on the streams of `subscriptions/listen`. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import { mcpBackend, remoteTarget, stdioTarget, type HarnessOptions, rulesBy } from '../harness.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { stage } from '../remote.testing.ts';
import type { Message } from '../rawClient.testing.ts';
import { answer, event, filterOf, modernStage } from '../targets/modern/scriptedServer.testing.ts';

const extensions = { 'io.modelcontextprotocol/tasks': {} };
const link = { type: 'resource_link', name: 'report', uri: 'test://report' };
const done = (taskId: string) => ({ taskId, status: 'completed', result: { content: [link] } });
const byHeader: HarnessOptions = {
  caller: (request) => ({ principal: request.header('x-user') ?? 'alice' }),
};

/** A server whose tool `work` makes one task after the other: `t1`, `t2`, … */
async function taskStage(t: TestContext, options: HarnessOptions = byHeader) {
  const made = await modernStage(t, {}, options);
  const { server, harness } = made;
  server.methods['server/discover'] = (x) =>
    answer(x, {
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true }, extensions },
      ttlMs: 0,
      cacheScope: 'private',
    });
  let last = 0;
  server.tools['work'] = (x) => answer(x, { resultType: 'task', taskId: `t${++last}`, status: 'working' });
  server.methods['tasks/get'] = (x) => answer(x, done(String(x.seen.message.params!['taskId'])));
  const client = (user = 'alice', capabilities: object = { extensions }) =>
    new RawModernClient(harness.url, capabilities, { 'x-user': user });
  return { ...made, client };
}

/** Calls `work`. @returns the task as the client calls it */
async function newTask(client: RawModernClient, name = 'work'): Promise<string> {
  const { result } = last(await client.post('tools/call', { name, arguments: {} }));
  assert.equal(result?.['resultType'], 'task');
  return String(result['taskId']);
}

const last = ({ json, events }: { json: Message; events: readonly Message[] }): Message =>
  events.at(-1) ?? json;

test('a client hears of the tasks that it listens for, under its own names', async (t) => {
  const { client, streams } = await taskStage(t);
  const alice = client();
  const [first, second] = [await newTask(alice), await newTask(alice)];
  const { events, honoured } = await alice.listen({ taskIds: [first, 'unknown'] });
  assert.deepEqual(honoured, { taskIds: [first] });
  const [stream] = [...streams].filter((one) => 'toolsListChanged' in filterOf(one));
  assert.deepEqual(filterOf(stream!), { toolsListChanged: true, taskIds: ['t1'] });
  for (const id of ['t2', 't9', 't1']) event(stream!, 'notifications/tasks', done(id));
  const { method, params } = (await events.next())!;
  assert.equal(method, 'notifications/tasks');
  assert.deepEqual({ ...params, _meta: undefined }, { ...done(first), _meta: undefined });
  assert.notEqual(first, second);
  await events.cancel();
  await until('the server is asked for the task no more', () => streams.size === 0);
});

test('two streams listen for the same task, and the last one ends the news', async (t) => {
  const { client, streams, harness } = await taskStage(t);
  const alice = client();
  const task = await newTask(alice);
  const first = await alice.listen({ taskIds: [task], toolsListChanged: true });
  const second = await alice.listen({ taskIds: [task] });
  await first.events.cancel();
  await until(
    'one stream of the first client is left',
    () => harness.runtime.view().sessions[0]?.streams === 1,
  );
  for (const stream of streams) event(stream, 'notifications/tasks', done('t1'));
  assert.equal((await second.events.next())?.params?.['taskId'], task);
  await second.events.cancel();
  await until('the stream of the server is closed', () => streams.size === 0);
});

test('a caller cannot listen for the task of another one', async (t) => {
  const { client, server } = await taskStage(t);
  const task = await newTask(client());
  const { events, honoured } = await client('bob').listen({ taskIds: [task] });
  assert.deepEqual(honoured, {});
  assert.equal((await events.next())?.result?.['resultType'], 'complete');
  const filters = server.of('subscriptions/listen').map(({ message }) => message.params?.['notifications']);
  assert.equal(JSON.stringify(filters).includes('taskIds'), false);
});

test('a caller cannot listen for a task whose tool the rules hide by now', async (t) => {
  let hidden = false;
  const options = { caller: () => ({ principal: 'alice', ...rulesBy(() => !hidden) }) };
  const { client } = await taskStage(t, options);
  const alice = client();
  const task = await newTask(alice);
  const { honoured, events } = await alice.listen({ taskIds: [task] });
  assert.deepEqual(honoured, { taskIds: [task] });
  await events.cancel();
  hidden = true;
  assert.deepEqual((await alice.listen({ taskIds: [task] })).honoured, {});
});

test('a client under rules hears of a finished read without its contents, which rules have not judged', async (t) => {
  const options = { caller: () => ({ principal: 'alice', ...rulesBy(({ name }) => name !== 'file:///x') }) };
  const { client, server, streams } = await taskStage(t, options);
  server.methods['resources/read'] = (x) =>
    answer(x, { resultType: 'task', taskId: 'read-1', status: 'working' });
  const alice = client();
  const task = last(await alice.post('resources/read', { uri: 'file:///dir' })).result?.['taskId'];
  const { events } = await alice.listen({ taskIds: [task] });
  const [stream] = [...streams].filter((one) => 'toolsListChanged' in filterOf(one));
  const contents = [{ uri: 'file:///x', text: 'hidden' }];
  event(stream!, 'notifications/tasks', { taskId: 'read-1', status: 'completed', result: { contents } });
  event(stream!, 'notifications/tasks', { taskId: 'read-1', status: 'completed' });
  assert.deepEqual(
    { ...(await events.next())?.params, _meta: undefined },
    { taskId: task, status: 'completed', _meta: undefined },
  );
  await events.cancel();
});

test('a task that the server does not watch is left out of the acknowledgement', async (t) => {
  const { client, server } = await taskStage(t);
  const alice = client();
  const task = await newTask(alice);
  server.methods['subscriptions/listen'] = (x) => {
    x.stream();
    event(x, 'notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: true } });
  };
  const { honoured, events } = await alice.listen({ taskIds: [task], toolsListChanged: true });
  assert.deepEqual(honoured, { toolsListChanged: true });
  await events.cancel();
});

test('a client without the tasks extension cannot listen for tasks', async (t) => {
  const { client } = await taskStage(t);
  const task = await newTask(client());
  const notifications = { taskIds: [task] };
  const { status, json } = await client('alice', {}).post('subscriptions/listen', { notifications });
  assert.deepEqual([status, json.error?.code], [400, -32021]);
  assert.deepEqual(json.error?.data, { requiredCapabilities: { extensions } });
});

test('a filter whose tasks are no list of texts is refused', async (t) => {
  const { client } = await taskStage(t);
  for (const taskIds of ['t1', [1], Array.from({ length: 257 }, (_, i) => `t${i}`)]) {
    const { json } = await client().post('subscriptions/listen', { notifications: { taskIds } });
    assert.equal(json.error?.code, -32602);
  }
});

test('tasks are left out of the acknowledgement in front of a legacy server', async (t) => {
  const { server, harness } = await stage(t, {}, byHeader);
  server.stateful = false;
  server.methods['server/discover'] = (x) => x.status(400);
  const client = new RawModernClient(harness.url, { extensions });
  assert.deepEqual((await client.listen({ taskIds: ['t1'] })).honoured, {});
});

test('news of a task of one server of several has the URIs that the client knows', async (t) => {
  const { client, server, harness, streams } = await taskStage(t);
  harness.use(mcpBackend({ targets: [remoteTarget(server.url, { name: 'worker' }), stdioTarget()] }));
  const alice = client();
  const taskId = await newTask(alice, 'worker_work');
  const { events, honoured } = await alice.listen({ taskIds: [taskId] });
  assert.deepEqual(honoured, { taskIds: [taskId] });
  for (const stream of streams) event(stream, 'notifications/tasks', done('t1'));
  const told = (await events.next())?.params;
  const asked = last(await alice.post('tasks/get', { taskId })).result;
  assert.deepEqual(told?.['result'], asked?.['result']);
  const { content } = told!['result'] as { content: { uri: string }[] };
  assert.notEqual(content[0]!.uri, link.uri);
  await events.cancel();
});
