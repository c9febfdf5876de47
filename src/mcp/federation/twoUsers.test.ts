/** Two users of a federated server whose ids and URIs are equal: neither sees anything of the other. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import { mcpBackend, remoteTarget, startHarness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import { RemoteServer, type Incoming } from '../remoteServer.testing.ts';

const users = ['ada', 'bob'] as const;
type User = (typeof users)[number];

interface Stage {
  /** The server that holds calls, makes tasks and has the resource. */
  readonly server: RemoteServer;
  readonly clients: Readonly<Record<User, RawClient>>;
  /** Calls of the tool `hold` that the server has not answered. */
  readonly held: Incoming[];
  /** The session of a user at the server. */
  sessionOf(user: User): string;
}

const sessionIn = ({ seen }: Incoming): string => String(seen.headers['mcp-session-id']);

async function start(t: TestContext): Promise<Stage> {
  const remotes = [await RemoteServer.start(), await RemoteServer.start()] as const;
  t.after(() => Promise.all(remotes.map((remote) => remote.close())));
  const [server, other] = remotes;
  const held: Incoming[] = [];
  server.tools['hold'] = (x) => void held.push(x);
  const answer = (x: Incoming, result: object): void => x.json({ jsonrpc: '2.0', id: x.id, result });
  // Each session has a task with the same id.
  server.tools['task'] = (x) => answer(x, { task: { taskId: 'task-1', status: 'working' } });
  server.methods['tasks/get'] = (x) =>
    answer(x, { taskId: x.seen.message.params?.['taskId'], status: 'working', statusMessage: sessionIn(x) });
  server.methods['initialize'] = (x) => {
    const id = `of-${String(x.seen.headers['x-user'])}`;
    server.sessions.add(id);
    const { protocolVersion } = x.seen.message.params as { protocolVersion: string };
    const capabilities = {
      tools: {},
      resources: { subscribe: true },
      tasks: { list: {}, requests: { tools: { call: {} } } },
    };
    const result = { protocolVersion, capabilities, serverInfo: { name: 'one', version: '1' } };
    x.json({ jsonrpc: '2.0', id: x.id, result }, 200, { 'mcp-session-id': id });
  };
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [remoteTarget(server.url, { name: 'one' }), remoteTarget(other.url, { name: 'other' })],
    }),
    caller: (request) => ({ principal: request.header('x-user') }),
    headers: (request) => [['x-user', request.header('x-user') ?? '']],
  });
  t.after(() => harness.close());
  const open = async (user: User): Promise<RawClient> => {
    const client = new RawClient(harness.url, { 'x-user': user });
    await client.initialize();
    return client;
  };
  return {
    server,
    clients: { ada: await open('ada'), bob: await open('bob') },
    held,
    sessionOf: (user) => `of-${user}`,
  };
}

const textOf = ({ result }: Message): string => (result!['content'] as { text: string }[])[0]!.text;

test('calls of two users with the same id get their own answers, and a cancellation ends its own call', async (t) => {
  const { server, clients, held, sessionOf } = await start(t);
  const call = { name: 'one_hold', arguments: {} };
  const post = async (user: User): Promise<Message> => {
    const { json, events } = await clients[user].post(clients[user].request('tools/call', call, 7));
    return events.at(-1) ?? json;
  };
  const heldOf = (user: User): Incoming | undefined => held.find((x) => sessionIn(x) === sessionOf(user));

  const answers = { ada: post('ada'), bob: post('bob') };
  await until('both calls are at the server', () => held.length === 2);
  for (const user of ['bob', 'ada'] as const) heldOf(user)!.json(heldOf(user)!.result(`for ${user}`));
  for (const user of users) {
    const answer = await answers[user];
    assert.equal(answer.id, 7);
    assert.equal(textOf(answer), `for ${user}`);
  }

  held.length = 0;
  const gone = post('ada');
  const stays = post('bob');
  await until('both calls are at the server', () => held.length === 2);
  await clients.ada.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
  await until('the server hears of it', () => server.of('notifications/cancelled').length === 1);
  assert.equal(server.of('notifications/cancelled')[0]!.headers['mcp-session-id'], sessionOf('ada'));
  const left = heldOf('bob')!;
  left.json(left.result('still here'));
  assert.equal(textOf(await stays), 'still here');
  await gone;
});

test('questions of a server to two users with the same id are answered by the user who was asked', async (t) => {
  const { server, clients, held, sessionOf } = await start(t);
  const opening = users.map((user) => clients[user].stream(clients[user].tool('one_hold')));
  await until('both calls are at the server', () => held.length === 2);
  for (const x of held)
    x.stream().event({
      jsonrpc: '2.0',
      id: 1,
      method: 'elicitation/create',
      params: { message: sessionIn(x), requestedSchema: { type: 'object', properties: {} } },
    });
  const streams = await Promise.all(opening);
  for (const [i, user] of users.entries()) {
    const question = await streams[i]!.next();
    assert.equal(question?.params?.['message'], sessionOf(user));
    const result = { action: 'accept', content: { from: user } };
    await clients[user].post({ jsonrpc: '2.0', id: question!.id!, result });
  }
  const answers = (): { session: unknown; from: unknown }[] =>
    server.seen.flatMap(({ headers, message: { id, method, result } }) =>
      id === 1 && method === undefined && result !== undefined
        ? [{ session: headers['mcp-session-id'], from: (result['content'] as { from: string }).from }]
        : [],
    );
  await until('both answers are at the server', () => answers().length === 2);
  assert.deepEqual(
    answers().toSorted((a, b) => String(a.from).localeCompare(String(b.from))),
    users.map((user) => ({ session: sessionOf(user), from: user })),
  );
  for (const x of held) {
    x.event(x.result('done'));
    x.end();
  }
  for (const events of streams) assert.equal(textOf((await events.rest()).at(-1)!), 'done');
});

test('tasks of two users with the same id at the server stay apart', async (t) => {
  const { server, clients, sessionOf } = await start(t);
  const ask = async (user: User, method: string, params: object): Promise<Message> => {
    const { json, events } = await clients[user].post(clients[user].request(method, params));
    return events.at(-1) ?? json;
  };
  const begin = async (user: User): Promise<string> => {
    const { result } = await ask(user, 'tools/call', { name: 'one_task', arguments: {}, task: {} });
    return (result!['task'] as { taskId: string }).taskId;
  };
  const handles = { ada: await begin('ada'), bob: await begin('bob') };
  assert.notEqual(handles.ada, handles.bob);
  for (const user of users) {
    const { result } = await ask(user, 'tasks/get', { taskId: handles[user] });
    assert.deepEqual(result, {
      taskId: handles[user],
      status: 'working',
      statusMessage: sessionOf(user),
    });
  }
  const asked = server.of('tasks/get').length;
  for (const taskId of [handles.ada, 'task-1'])
    assert.equal((await ask('bob', 'tasks/get', { taskId })).error?.code, -32602);
  assert.equal(server.of('tasks/get').length, asked);
});

test('news of a resource reaches the user whose session the server told, under the same URI for both', async (t) => {
  const { server, clients, sessionOf } = await start(t);
  const uri = 'one+file:///a';
  const streams = { ada: await clients.ada.get(), bob: await clients.bob.get() };
  for (const user of users) {
    await clients[user].post(clients[user].request('resources/subscribe', { uri }, 3));
    await clients[user].post(clients[user].request('resources/read', { uri }, 4));
  }
  for (const method of ['resources/subscribe', 'resources/read'])
    assert.deepEqual(
      server.of(method).map(({ headers, message }) => [headers['mcp-session-id'], message.params?.['uri']]),
      users.map((user) => [sessionOf(user), 'file:///a']),
    );
  await until('the gateway hears the server for both', () => server.news.size === 2);
  const tell = (user: User, params: object): void => {
    const news = [...server.news].find((x) => sessionIn(x) === sessionOf(user))!;
    news.event({ jsonrpc: '2.0', method: 'notifications/resources/updated', params });
  };
  tell('ada', { uri: 'file:///a', _meta: { to: 'ada' } });
  assert.deepEqual((await streams.ada.next())?.params, { uri, _meta: { to: 'ada' } });
  // It is the first that bob gets.
  tell('bob', { uri: 'file:///a', _meta: { to: 'bob' } });
  assert.deepEqual((await streams.bob.next())?.params, { uri, _meta: { to: 'bob' } });
  // Without a subscription the same URI says nothing to bob any more, and ada still hears of it.
  await clients.bob.post(clients.bob.request('resources/unsubscribe', { uri }, 3));
  assert.equal(server.of('resources/unsubscribe')[0]!.headers['mcp-session-id'], sessionOf('bob'));
  tell('ada', { uri: 'file:///a', _meta: { to: 'ada again' } });
  assert.deepEqual((await streams.ada.next())?.params, { uri, _meta: { to: 'ada again' } });
  for (const user of users) await streams[user].cancel();
});
