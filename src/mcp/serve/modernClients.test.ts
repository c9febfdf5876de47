/** Clients of revision 2026-07-28 in front of servers that begin with `initialize`. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startEverything } from '../everythingServer.testing.ts';
import {
  everything,
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
  rulesBy,
} from '../harness.testing.ts';
import { parkedMs } from '../modern/parkedCalls.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { modernTarget } from '../modernServer.testing.ts';
import type { Caller } from '../contract.ts';
import type { Message } from '../rawClient.testing.ts';
import { startRemote, type Incoming } from '../remoteServer.testing.ts';
import { until } from '../../until.testing.ts';

const remote = await startEverything();
const alice = { principal: 'alice' };
const stdio = stdioTarget({ name: 'everything', args: [everything, 'stdio'] });
const caller = (): { principal: string } => alice;
const places = {
  stdio: await startHarness({ caller, backend: mcpBackend({ targets: [stdio] }) }),
  'Streamable HTTP': await startHarness({
    caller,
    backend: mcpBackend({ targets: [remoteTarget(remote.url)] }),
  }),
};
const federated = await startHarness({
  caller,
  backend: mcpBackend({ targets: [stdio, remoteTarget(remote.url, { name: 'remote' })] }),
});
after(async () => {
  for (const harness of [...Object.values(places), federated]) await harness.close();
  await remote.close();
});

const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };

async function connect(
  { url }: Harness,
  mode: 'auto' | { pin: string } = { pin: '2026-07-28' },
  prepare: (client: Client) => void = () => undefined,
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home', name: 'home' }] }));
  prepare(client);
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

const textOf = (result: unknown): string =>
  (result as { content: { text?: string }[] }).content.map(({ text }) => text ?? '').join('\n');

for (const [place, harness] of Object.entries(places)) {
  test(`a modern client finds, lists and uses the tools, prompts and resources of a legacy server over ${place}`, async () => {
    const client = await connect(harness);
    assert.match(client.getServerVersion()?.name ?? '', /everything/);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'echo'));
    const echo = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
    assert.match(textOf(echo), /hello/);
    const { prompts } = await client.listPrompts();
    const prompt = await client.getPrompt({ name: prompts[0]!.name });
    assert.ok(prompt.messages.length > 0);
    const { resources } = await client.listResources();
    const read = await client.readResource({ uri: resources[0]!.uri });
    assert.equal(read.contents.length, 1);
    await client.close();
  });

  test(`a modern client answers the questions of a legacy server over ${place}`, async () => {
    const client = await connect(harness, undefined, (one) => {
      one.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
      one.setRequestHandler('sampling/createMessage', () => ({
        role: 'assistant',
        content: { type: 'text', text: 'sampled answer' },
        model: 'm',
      }));
    });
    const { tools } = await client.listTools();
    const sampling = tools.find(({ name }) => /sampling/i.test(name) && !/async|task/i.test(name));
    assert.ok(sampling !== undefined);
    const sampled = await client.callTool({ name: sampling.name, arguments: { prompt: 'p', maxTokens: 10 } });
    assert.match(textOf(sampled), /sampled answer/);
    const elicitation = tools.find(({ name }) => /elicitation/i.test(name) && !/url|async/i.test(name));
    assert.ok(elicitation !== undefined);
    const elicited = await client.callTool({ name: elicitation.name, arguments: {} });
    assert.match(textOf(elicited), /Ada/);
    await client.close();
  });

  test(`a modern client hears the progress of a call over ${place}`, async () => {
    const client = await connect(harness);
    const { tools } = await client.listTools();
    const long = tools.find(({ name }) => /long-?running/i.test(name));
    assert.ok(long !== undefined);
    const heard: number[] = [];
    await client.callTool(
      { name: long.name, arguments: { duration: 0.3, steps: 3 } },
      // The client itself tells of its rounds, without a total.
      { onprogress: ({ progress, total }) => void (total !== undefined && heard.push(progress)) },
    );
    // The client forgets a round with its response, before it has looked at progress that came just before; the
    // server's question for the roots makes two rounds.
    assert.ok(heard.length > 0);
    assert.deepEqual(
      heard,
      [1, 2, 3].filter((step) => heard.includes(step)),
    );
    await client.close();
  });

  test(`a modern client calls a tool that is a task only over ${place}`, async () => {
    let asked = 0;
    const client = await connect(harness, undefined, (one) => {
      one.setRequestHandler('elicitation/create', () => {
        asked++;
        return { action: 'accept', content: { interpretation: 'technical' } };
      });
    });
    await client.listTools();
    const research = async (ambiguous: boolean): Promise<string> =>
      textOf(
        await client.callTool({
          name: 'simulate-research-query',
          arguments: { topic: 'bridges', ambiguous },
        }),
      );
    const reports = await Promise.all([research(false), research(true)]);
    for (const report of reports) assert.match(report, /bridges/);
    assert.equal(asked, 1);
    await client.close();
  });

  test(`an automatic client chooses the modern revision over ${place}`, async () => {
    const client = await connect(harness, 'auto');
    assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
    await client.close();
  });

  test(`the gateway holds a single session for the caller over ${place}`, () => {
    const { sessions } = harness.runtime.view();
    assert.equal(sessions.length, 1);
  });
}

test('a modern client hears of changed resources, and of nothing else', async () => {
  const harness = places.stdio;
  const client = await connect(harness);
  const { tools } = await client.listTools();
  const toggle = tools.find(({ name }) => /subscriber|resource-updates/i.test(name));
  assert.ok(toggle !== undefined);
  const { resources } = await client.listResources();
  const { uri } = resources[0]!;
  const heard: string[] = [];
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.push(params.uri),
  );
  const subscription = await client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
  assert.deepEqual(subscription.honoredFilter.resourceSubscriptions, [uri]);
  await client.callTool({ name: toggle.name, arguments: {} });
  await until('the update came', () => heard.includes(uri));
  await client.callTool({ name: toggle.name, arguments: {} });
  await subscription.close();
  await until('the stream is gone', () => harness.runtime.view().sessions[0]?.streams === 0);
  await client.close();
});

test('a modern client gets the log messages that its request asks for', async () => {
  const harness = places.stdio;
  const client = await connect(harness);
  const { tools } = await client.listTools();
  const toggle = tools.find(({ name }) => /logging/i.test(name));
  assert.ok(toggle !== undefined);
  const long = tools.find(({ name }) => /long-?running/i.test(name))!;
  const logged = async (level?: string): Promise<number> => {
    const { text } = await raw(
      harness,
      'tools/call',
      { name: long.name, arguments: { duration: 6, steps: 1 } },
      level,
    );
    return text.split('notifications/message').length - 1;
  };
  await client.callTool({ name: toggle.name, arguments: {} });
  assert.ok((await logged('debug')) > 0);
  assert.equal(await logged(), 0);
  await client.callTool({ name: toggle.name, arguments: {} });
  await client.close();
});

test('a client that hangs up takes its call back', async () => {
  const harness = places.stdio;
  const client = await connect(harness);
  const { tools } = await client.listTools();
  const long = tools.find(({ name }) => /long-?running/i.test(name))!;
  const abort = new AbortController();
  const call = client.callTool(
    { name: long.name, arguments: { duration: 60, steps: 2 } },
    { signal: abort.signal },
  );
  const pending = (): number => harness.runtime.view().sessions[0]?.targets[0]?.pending ?? 0;
  await until('the call is under way', () => pending() === 1);
  abort.abort();
  await assert.rejects(call);
  await until('the server was told', () => pending() === 0);
  await client.close();
});

/** The pids of the servers that answer an anonymous client, one request after the other. */
async function pidsOf(harness: Harness, requests: number): Promise<ReadonlySet<string>> {
  const pids = new Set<string>();
  for (let i = 0; i < requests; i++) {
    const { body } = await post(harness, 'tools/call', { name: 'pid', arguments: {} });
    pids.add(textOf(body.result));
  }
  return pids;
}

test('anonymous callers share no session with a legacy server, and nothing is left of theirs', async () => {
  const harness = await startHarness({ backend: mcpBackend({ targets: [stdioTarget()] }) });
  assert.equal((await pidsOf(harness, 3)).size, 3);
  await until('no session is left', () => harness.runtime.view().sessions.length === 0);
  await until('no child is left', () => harness.runtime.view().children === 0);
  await harness.close();
});

test('anonymous callers share a modern server, which keeps nothing between requests', async () => {
  const harness = await startHarness({ backend: mcpBackend({ targets: [modernTarget()] }) });
  assert.equal((await pidsOf(harness, 3)).size, 1);
  assert.equal(harness.runtime.view().sessions.length, 1);
  await harness.close();
});

test('a modern client uses a federation', async () => {
  const client = await connect(federated);
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'everything_echo'));
  const echo = await client.callTool({ name: 'remote_echo', arguments: { message: 'far' } });
  assert.match(textOf(echo), /far/);
  await client.close();
});

/** Sends one request of the modern era. */
async function raw(
  { url }: Harness,
  method: string,
  params: object,
  level?: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const name = (params as { name?: string }).name;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 7,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': capabilities,
          ...(level !== undefined && { 'io.modelcontextprotocol/logLevel': level }),
        },
      },
    }),
  });
  return { status: response.status, text: await response.text() };
}

interface Answer {
  readonly status: number;
  readonly body: { result?: Record<string, unknown>; error?: { code: number } };
}

async function post(
  harness: Harness,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { status, text } = await raw(harness, method, params, undefined, headers);
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  return { status, body: JSON.parse(data) as Answer['body'] };
}

test('the answer to a question is good for its own request only, and once', async () => {
  const harness = places.stdio;
  const { body: list } = await post(harness, 'tools/list', {});
  const tools = list.result!['tools'] as { name: string }[];
  const { name } = tools.find((tool) => /elicitation/i.test(tool.name) && !/url|async/i.test(tool.name))!;
  const asked = await post(harness, 'tools/call', { name, arguments: {} });
  assert.equal(asked.body.result!['resultType'], 'input_required');
  const requestState = asked.body.result!['requestState'] as string;
  const [key] = Object.keys(asked.body.result!['inputRequests'] as object);
  const inputResponses = { [key!]: { action: 'accept', content: { name: 'Grace' } } };
  const other = await post(harness, 'tools/call', {
    name,
    arguments: { other: 1 },
    inputResponses,
    requestState,
  });
  assert.equal(other.body.error?.code, -32602);
  const again = await post(harness, 'tools/call', { name, arguments: {}, inputResponses, requestState });
  assert.equal(again.body.result!['resultType'], 'complete');
  assert.match(textOf(again.body.result), /Grace/);
  const twice = await post(harness, 'tools/call', { name, arguments: {}, inputResponses, requestState });
  assert.equal(twice.body.error?.code, -32602);
});

test('the state of a question is of no use to another caller, nor after the rules hide the tool', async () => {
  let hidden = false;
  const harness = await startHarness({
    caller: (request) => ({
      principal: request.header('x-user') ?? 'alice',
      ...rulesBy(({ name }) => !hidden || !/elicitation/i.test(name)),
    }),
    backend: mcpBackend({ targets: [stdio] }),
  });
  const { body: list } = await post(harness, 'tools/list', {});
  const tools = list.result!['tools'] as { name: string }[];
  const { name } = tools.find((tool) => /elicitation/i.test(tool.name) && !/url|async/i.test(tool.name))!;
  const ask = async (): Promise<object> => {
    const { body } = await post(harness, 'tools/call', { name, arguments: {} });
    const { requestState, inputRequests } = body.result as { requestState: string; inputRequests: object };
    const [key] = Object.keys(inputRequests);
    return {
      requestState,
      inputResponses: { [key!]: { action: 'accept', content: { name: 'Mallory' } } },
    };
  };
  const first = await ask();
  const stolen = await post(harness, 'tools/call', { name, arguments: {}, ...first }, { 'x-user': 'bob' });
  assert.equal(stolen.body.error?.code, -32602);
  hidden = true;
  const late = await post(harness, 'tools/call', { name, arguments: {}, ...first });
  assert.equal(late.body.error?.code, -32602);
  assert.equal(harness.annotations.at(-1)?.get('mcp.refusal'), 'item rule');
  const pending = harness.runtime.view().sessions.flatMap(({ targets }) => targets.map((one) => one.pending));
  assert.ok(
    pending.every((calls) => calls === 0),
    'the call was taken back',
  );
  await harness.close();
});

test('headers that disagree with the body are refused', async () => {
  const harness = places.stdio;
  const wrong = await post(harness, 'tools/call', { name: 'echo', arguments: {} }, { 'mcp-name': 'other' });
  assert.deepEqual([wrong.status, wrong.body.error?.code], [400, -32020]);
  const method = await post(harness, 'tools/list', {}, { 'mcp-method': 'tools/call' });
  assert.deepEqual([method.status, method.body.error?.code], [400, -32020]);
  const encoded = `=?base64?${Buffer.from('echo').toString('base64')}?=`;
  const right = await post(
    harness,
    'tools/call',
    { name: 'echo', arguments: { message: 'x' } },
    { 'mcp-name': encoded },
  );
  assert.equal(right.status, 200);
});

test('a method of the legacy era is unknown to the modern one', async () => {
  const { status, body } = await post(places.stdio, 'ping', {});
  assert.deepEqual([status, body.error?.code], [404, -32601]);
});

test('GET and DELETE of the modern era are refused', async () => {
  for (const method of ['GET', 'DELETE']) {
    const { status } = await fetch(places.stdio.url, {
      method,
      headers: { 'mcp-protocol-version': '2026-07-28', accept: 'text/event-stream' },
    });
    assert.equal(status, 405);
  }
});

test('more clients of one caller than a session of the legacy era may have calls are served together', async (t) => {
  const server = await startRemote(t);
  const held: (() => void)[] = [];
  server.tools['hold'] = (x) => void held.push(() => x.json(x.result('released')));
  const harness = await startHarness({
    caller,
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
  });
  t.after(() => harness.close());
  const calls = Array.from({ length: 200 }, () =>
    post(harness, 'tools/call', { name: 'hold', arguments: {} }),
  );
  await until('all calls are at the server', () => held.length === 200);
  for (const release of held) release();
  for (const { body } of await Promise.all(calls)) assert.equal(textOf(body.result), 'released');
});

test('a client that hangs up takes back the task that the gateway has made of its call', async (t) => {
  const server = await startRemote(t);
  const seen: string[] = [];
  const task = { taskId: 'task-1', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttl: null };
  server.listed = () => [
    { name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
    { name: 'short', inputSchema: { type: 'object' } },
  ];
  server.tools['long'] = (x) => {
    seen.push(`call ${JSON.stringify(x.seen.message.params?.['task'])}`);
    x.json({ jsonrpc: '2.0', id: x.id, result: { task } });
  };
  server.tools['short'] = (x) => x.json(x.result(JSON.stringify(x.seen.message.params?.['task'] ?? null)));
  server.methods['tasks/result'] = (x) =>
    void seen.push(`result of ${String(x.seen.message.params?.['taskId'])}`);
  server.methods['tasks/cancel'] = (x) => {
    seen.push(`cancel ${String(x.seen.message.params?.['taskId'])}`);
    x.json({ jsonrpc: '2.0', id: x.id, result: { ...task, status: 'cancelled' } });
  };
  const harness = await startHarness({
    caller,
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
  });
  t.after(() => harness.close());
  const client = new RawModernClient(harness.url, capabilities);
  await client.post('tools/list');
  const { json } = await client.post('tools/call', { name: 'short' });
  assert.equal(textOf(json.result), 'null');
  const abort = new AbortController();
  const call = client.stream('tools/call', { name: 'long' }, abort.signal);
  await until('the gateway waits for the result', () => seen.length === 2);
  abort.abort();
  await assert.rejects(call);
  await until('the task is taken back', () => seen.length === 3);
  assert.deepEqual(seen, ['call {}', 'result of task-1', 'cancel task-1']);
});

test('the time of a tool also limits the wait for the result of its task', async (t) => {
  const server = await startRemote(t);
  const task = { taskId: 'task-1', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttl: null };
  server.listed = () => [
    { name: 'long', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
  ];
  server.tools['long'] = (x) => x.json({ jsonrpc: '2.0', id: x.id, result: { task } });
  server.methods['tasks/result'] = () => undefined;
  const ofPolicy: Partial<Caller> = {
    callTime: ({ name }, { method }) =>
      name === 'long' && method === 'tools/call' ? { ms: 301 } : undefined,
  };
  for (const [of, toolTimeoutsMs] of [
    [{}, { long: 301 }],
    [ofPolicy, {}],
  ] as const) {
    const target = remoteTarget(server.url, { callTimeoutMs: 60_000, toolTimeoutsMs });
    const harness = await startHarness({
      caller: () => ({ ...alice, ...of }),
      backend: mcpBackend({ targets: [target] }),
    });
    t.after(() => harness.close());
    const client = new RawModernClient(harness.url, capabilities);
    await client.post('tools/list');
    const { json } = await client.post('tools/call', { name: 'long' });
    assert.match(json.error?.message ?? '', /301/);
  }
});

test('the server is told that a call is cancelled when its client does not answer a question in time', async (t) => {
  let now = Date.now();
  const harness = await startHarness({
    caller,
    backend: mcpBackend({ targets: [stdioTarget()] }),
    runtime: { now: () => now },
  });
  t.after(() => harness.close());
  const asked = await post(harness, 'tools/call', { name: 'elicit' });
  const { inputRequests, requestState } = asked.body.result as {
    inputRequests: object;
    requestState: string;
  };
  const cancelled = async (): Promise<unknown[]> => {
    const { body } = await post(harness, 'tools/call', { name: 'state' });
    const { notifications } = JSON.parse(textOf(body.result)) as { notifications: { method: string }[] };
    return notifications.filter(({ method }) => method === 'notifications/cancelled');
  };
  now += parkedMs - 1;
  harness.runtime.tick();
  assert.deepEqual(await cancelled(), []);
  now += 1;
  harness.runtime.tick();
  assert.equal((await cancelled()).length, 1);
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'decline' } };
  const late = await post(harness, 'tools/call', { name: 'elicit', inputResponses, requestState });
  assert.equal(late.body.error?.code, -32602);
});

test('a client can answer a question while the calls of its caller are full', async (t) => {
  const harness = await startHarness({
    caller,
    backend: mcpBackend({ targets: [stdioTarget()] }),
    limits: { maxMcpCallsPerPrincipal: 1 },
  });
  t.after(() => harness.close());
  const asked = await post(harness, 'tools/call', { name: 'elicit' });
  const { inputRequests, requestState } = asked.body.result as {
    inputRequests: object;
    requestState: string;
  };
  assert.equal((await post(harness, 'tools/call', { name: 'pid' })).status, 429);
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'decline' } };
  const answered = await post(harness, 'tools/call', { name: 'elicit', inputResponses, requestState });
  assert.equal(answered.body.result?.['resultType'], 'complete');
  assert.equal((await post(harness, 'tools/call', { name: 'pid' })).status, 200);
});

test('progress that comes while the client answers a question goes with its next round, the newest of it', async (t) => {
  const server = await startRemote(t);
  let call: Incoming | undefined;
  let token: unknown;
  const ask = (id: string, method: string, params?: object): void =>
    call!.event({ jsonrpc: '2.0', id, method, ...(params && { params }) });
  const progress = (step: number): void =>
    call!.event({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: token, progress: step },
    });
  server.tools['work'] = (x) => {
    call = x.stream();
    token = (x.seen.message.params?.['_meta'] as { progressToken: unknown }).progressToken;
    progress(1);
    ask('q', 'elicitation/create', {
      message: 'go on?',
      requestedSchema: { type: 'object', properties: {} },
    });
  };
  const harness = await startHarness({
    caller,
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
  });
  t.after(() => harness.close());
  const client = new RawModernClient(harness.url, capabilities);
  const params = (progressToken: string) => ({ name: 'work', arguments: {}, _meta: { progressToken } });
  const stepsOf = (messages: readonly Message[]) =>
    messages
      .filter(({ method }) => method === 'notifications/progress')
      .map(({ params: said }) => [said?.['progressToken'], said?.['progress']]);

  const first = await (await client.stream('tools/call', params('one'))).rest();
  assert.deepEqual(stepsOf(first), [['one', 1]]);
  const { requestState, inputRequests } = first.at(-1)!.result as {
    requestState: string;
    inputRequests: object;
  };
  for (let step = 2; step <= 20; step++) progress(step);
  // The client has not asked for log messages, so they take the place of nothing.
  for (let line = 0; line < 20; line++)
    call!.event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: line } });
  // The gateway answers this for the client: what came before has arrived.
  ask('p', 'ping');
  await until('the ping is answered', () => server.seen.some(({ message }) => message.id === 'p'));
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { action: 'accept', content: {} } };
  const second = await client.stream('tools/call', { ...params('two'), inputResponses, requestState });
  await until('the answer arrives', () => server.seen.some(({ message }) => message.id === 'q'));
  progress(21);
  call!.event(call!.result('done'));
  call!.end();
  const rest = await second.rest();
  assert.deepEqual(
    stepsOf(rest),
    Array.from({ length: 17 }, (_, index) => ['two', index + 5]),
  );
  assert.equal(textOf(rest.at(-1)!.result), 'done');
});

test('the gateway answers the ping of a server while no client waits for anything', async (t) => {
  const server = await startRemote(t);
  const harness = await startHarness({
    caller,
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
  });
  t.after(() => harness.close());
  await new RawModernClient(harness.url).post('tools/call', { name: 'echo', arguments: { text: 'x' } });
  const [stream] = await until('the stream of the server is open', () =>
    server.news.size === 0 ? undefined : [...server.news],
  );
  stream!.event({ jsonrpc: '2.0', id: 'p', method: 'ping' });
  const answer = await until('the ping is answered', () =>
    server.seen.find(({ message }) => message.id === 'p'),
  );
  assert.deepEqual(answer.message.result, {});
});
