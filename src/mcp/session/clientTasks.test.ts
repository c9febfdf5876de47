/** The tasks that a client makes for requests of servers belong to the server that asked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackend, remoteTarget, startHarness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import { RemoteServer } from '../remoteServer.testing.ts';
import { until } from '../../until.testing.ts';

test('a server cannot ask for a task that the client of several servers made for another one', async (t) => {
  const servers = { one: await RemoteServer.start(), two: await RemoteServer.start() };
  const targets = Object.entries(servers).map(([name, { url }]) => remoteTarget(url, { name }));
  const harness = await startHarness({ backend: mcpBackend({ targets }) });
  t.after(async () => {
    await harness.close();
    for (const server of Object.values(servers)) await server.close();
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  const events = await client.get();
  await until('the gateway hears both', () => Object.values(servers).every(({ news }) => news.size === 1));

  const say = (server: RemoteServer, id: number, method: string, params: object): void =>
    [...server.news][0]!.event({ jsonrpc: '2.0', id, method, params });
  const answerOf = async (server: RemoteServer, id: number): Promise<Message> => {
    const find = (): Message | undefined =>
      server.seen.find(({ message }) => message.method === undefined && message.id === id)?.message;
    await until(`the answer ${id}`, () => find() !== undefined);
    return find()!;
  };
  /** The next question that the client hears, which it answers. */
  const answer = async (method: string, result: object): Promise<void> => {
    const asked = await events.next();
    assert.equal(asked?.method, method);
    await client.post({ jsonrpc: '2.0', id: asked.id, result });
  };

  for (const [server, taskId] of [
    [servers.one, 'of one'],
    [servers.two, 'of two'],
  ] as const) {
    say(server, 1, 'elicitation/create', { message: 'secret?', task: {} });
    await answer('elicitation/create', { task: { taskId, status: 'working' } });
  }
  for (const [id, method] of [
    [2, 'tasks/get'],
    [3, 'tasks/result'],
    [4, 'tasks/cancel'],
  ] as const) {
    say(servers.two, id, method, { taskId: 'of one' });
    assert.equal((await answerOf(servers.two, id)).error?.message, 'Unknown task');
  }
  say(servers.two, 5, 'tasks/result', { taskId: 'of two' });
  await answer('tasks/result', { action: 'accept' });
  assert.deepEqual((await answerOf(servers.two, 5)).result, { action: 'accept' });
  say(servers.two, 6, 'tasks/list', {});
  await answer('tasks/list', { tasks: [{ taskId: 'of one' }, { taskId: 'of two' }], nextCursor: 'x' });
  assert.deepEqual((await answerOf(servers.two, 6)).result, {
    tasks: [{ taskId: 'of two' }],
    nextCursor: 'x',
  });
  await events.cancel();
});
