/** HTTP+SSE (MCP 2024-11-05) for clients. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import { alive } from '../alive.testing.ts';
import {
  mcpBackend,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
  rulesBy,
} from '../harness.testing.ts';
import { Events, type Message } from '../rawClient.testing.ts';

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
};

/** A client that has its event stream open. */
class OldClient {
  readonly events: Events;
  /** As the event `endpoint` names it. */
  readonly endpoint: URL;
  private readonly headers: Record<string, string>;
  private readonly abort: AbortController;

  private constructor(
    events: Events,
    endpoint: URL,
    headers: Record<string, string>,
    abort: AbortController,
  ) {
    this.events = events;
    this.endpoint = endpoint;
    this.headers = headers;
    this.abort = abort;
  }

  static async open(
    harness: Harness,
    path = '/sse',
    headers: Record<string, string> = {},
  ): Promise<OldClient> {
    const abort = new AbortController();
    const url = new URL(path, harness.url);
    const { signal } = abort;
    const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers }, signal });
    assert.equal(response.status, 200);
    const events = new Events(response.body!);
    const block = (await events.nextBlock()) ?? '';
    const [, endpoint] = /^event: endpoint\ndata: (.*)$/.exec(block) ?? [];
    assert.ok(endpoint !== undefined, block);
    return new OldClient(events, new URL(endpoint, url), headers, abort);
  }

  send(message: object | string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...this.headers, ...headers },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });
  }

  /** Sends a message that the gateway takes. */
  async tell(message: object): Promise<void> {
    const response = await this.send(message);
    assert.deepEqual([response.status, await response.text()], [202, 'Accepted']);
  }

  /** Sends a request; the response is the next message of the stream. */
  async ask(message: object): Promise<Message | undefined> {
    await this.tell(message);
    return await this.events.next();
  }

  async begin(): Promise<this> {
    assert.ok((await this.ask(initialize))?.result);
    await this.tell({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return this;
  }

  /** Calls a tool and answers the text of its result. */
  async call(name: string, args: object = {}): Promise<string> {
    const answer = await this.ask(this.tool(name, args));
    return (answer?.result?.['content'] as { text: string }[])[0]!.text;
  }

  tool(name: string, args: object = {}, id: number | string = 'call'): object {
    return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
  }

  leave(): void {
    this.abort.abort();
  }

  /** Resolves when the gateway has ended the stream. */
  async ended(): Promise<void> {
    while ((await this.events.nextBlock()) !== undefined);
  }
}

async function start(t: TestContext, options: HarnessOptions = {}): Promise<Harness> {
  const harness = await startHarness(options);
  t.after(() => harness.close());
  return harness;
}

const errorOf = async (response: Response): Promise<[status: number, code: number | undefined]> => [
  response.status,
  ((await response.json()) as Message).error?.code,
];

test('a session is one stream: POSTs get a receipt, and the answers come as events', async (t) => {
  const harness = await start(t);
  const client = await OldClient.open(harness);
  await client.begin();
  assert.equal(client.endpoint.pathname, '/sse');
  assert.equal(await client.call('echo', { text: 'two\nlines' }), 'two\nlines');
  const [session] = harness.runtime.view().sessions;
  assert.equal(session?.streams, 1);
  assert.equal(session?.protocolVersion, '2025-11-25');
  assert.ok(
    !client.events.raw.includes('data: \n'),
    'no event without data, which the revision does not know',
  );
  client.leave();
});

test('messages of servers come on the same stream, and the answers of the client by POST', async (t) => {
  const client = await (await OldClient.open(await start(t))).begin();
  await client.tell(client.tool('roots'));
  const asked = await client.events.next();
  assert.ok(asked?.method !== undefined && asked.id !== undefined);
  await client.tell({ jsonrpc: '2.0', id: asked.id, result: { roots: [] } });
  assert.ok((await client.events.next())?.result);
  await client.tell(client.tool('log'));
  assert.equal((await client.events.next())?.method, 'notifications/message');
  assert.ok((await client.events.next())?.result);
  client.leave();
});

test('several targets share the one stream', async (t) => {
  const targets = ['one', 'two'].map((name) => stdioTarget({ name }));
  const harness = await start(t, { backend: mcpBackend({ targets }) });
  const client = await (await OldClient.open(harness)).begin();
  assert.notEqual(await client.call('one_pid'), await client.call('two_pid'));
  client.leave();
  await until('both children are gone', () => harness.runtime.view().children === 0);
});

test('the session and its child end when the client closes the stream', async (t) => {
  const harness = await start(t);
  const client = await (await OldClient.open(harness)).begin();
  const pid = Number(await client.call('pid'));
  assert.ok(alive(pid));
  client.leave();
  await until('the session is ended', () => harness.runtime.view().sessions.length === 0);
  await until('the child is gone', () => !alive(pid) && harness.runtime.view().children === 0);
  assert.deepEqual(await errorOf(await client.send(client.tool('echo'))), [404, -32001]);
});

test('a session belongs to the principal that opened the stream, and to its backend', async (t) => {
  const harness = await start(t, {
    caller: (request) => ({ principal: request.header('x-user') ?? 'nobody' }),
  });
  const client = await OldClient.open(harness, '/sse', { 'x-user': 'alice' });
  await client.begin();
  assert.deepEqual(await errorOf(await client.send(client.tool('echo'), { 'x-user': 'bob' })), [404, -32001]);
  const other = new URL(client.endpoint);
  other.searchParams.set('sessionId', 'made-up');
  const made = await fetch(other, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': 'alice' },
    body: JSON.stringify(client.tool('echo')),
  });
  assert.deepEqual(await errorOf(made), [404, -32001]);
  harness.use(mcpBackend({ key: 'another' }));
  assert.deepEqual(await errorOf(await client.send(client.tool('echo'))), [404, -32001]);
  client.leave();
});

test('a session of Streamable HTTP has no stream of HTTP+SSE, and both share the path', async (t) => {
  const harness = await start(t);
  const url = new URL('/sse', harness.url);
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const opened = await fetch(url, { method: 'POST', headers, body: JSON.stringify(initialize) });
  assert.equal(opened.status, 200);
  await opened.text();
  const id = opened.headers.get('mcp-session-id')!;
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const named = await fetch(`${url.href}?sessionId=${id}`, { method: 'POST', headers, body: ping });
  assert.deepEqual(await errorOf(named), [404, -32001]);
  const usual = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'mcp-session-id': id },
    body: ping,
  });
  assert.equal(usual.status, 200);
  await usual.text();
  const elsewhere = await fetch(new URL('/other', harness.url), { headers: { accept: 'text/event-stream' } });
  assert.deepEqual(await errorOf(elsewhere), [400, -32000]);
});

test('initialize comes first, and once', async (t) => {
  const client = await OldClient.open(await start(t));
  const early = await client.send(client.tool('echo'));
  assert.deepEqual(await errorOf(early), [400, -32600]);
  await client.begin();
  assert.deepEqual(await errorOf(await client.send(initialize)), [400, -32600]);
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
  client.leave();
});

test('a POST that cannot be read is refused, and the stream goes on', async (t) => {
  const harness = await start(t, { limits: { maxMcpRequestBytes: 2_000 } });
  const client = await (await OldClient.open(harness)).begin();
  for (const [body, headers, expected] of [
    ['{', {}, [400, -32700]],
    ['{"jsonrpc":"2.0"}', {}, [400, -32600]],
    ['{}', { 'content-type': 'text/plain' }, [415, -32000]],
    [JSON.stringify(client.tool('echo')), { 'mcp-protocol-version': '1999-01-01' }, [400, -32022]],
    [JSON.stringify(client.tool('echo', { text: 'x'.repeat(3_000) })), {}, [413, -32600]],
  ] as const)
    assert.deepEqual(await errorOf(await client.send(body, headers)), expected, body.slice(0, 40));
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
  client.leave();
});

test('the rules of the caller of each POST apply to its messages', async (t) => {
  const harness = await start(t, {
    caller: (request) => ({
      principal: 'alice',
      ...rulesBy(({ name }) => name === 'echo' || request.header('x-all') !== undefined),
    }),
  });
  const client = await (await OldClient.open(harness)).begin();
  assert.equal((await client.ask(client.tool('pid')))?.error?.message, 'Unknown tool: pid');
  assert.equal(harness.annotations.at(-1)?.get('rule'), 'test rule');
  const allowed = await client.send(client.tool('pid'), { 'x-all': 'yes' });
  await allowed.text();
  assert.ok((await client.events.next())?.result);
  client.leave();
});

test('a call without its scopes gets them in a JSON-RPC error on the stream', async (t) => {
  const stepUp = { scopes: ['files:write'], challenge: 'Bearer scope="files:write"', isAnonymous: false };
  const harness = await start(t, {
    caller: () => ({
      principal: 'alice',
      refusalOf: ({ name }, call) =>
        name === 'pid' && call !== undefined ? { policy: 'test', rule: 'pid', stepUp } : undefined,
    }),
  });
  const client = await (await OldClient.open(harness)).begin();
  const { error } = (await client.ask(client.tool('pid')))!;
  assert.deepEqual(error, {
    code: 403,
    message: 'insufficient scope',
    data: { requiredScopes: ['files:write'] },
  });
  assert.equal(await client.call('echo', { text: 'on' }), 'on');
  client.leave();
});

test('a server that does not start ends the stream, after the error', async (t) => {
  const { targets, ...backend } = mcpBackend();
  const broken = { ...targets[0]!, cmd: '/nonexistent/program' };
  const harness = await start(t, { backend: { ...backend, targets: [broken] } });
  const client = await OldClient.open(harness);
  assert.match((await client.ask(initialize))?.error?.message ?? '', /target "fixture"/);
  await client.ended();
  assert.equal(harness.runtime.view().sessions.length, 0);
});

test('a silent stream gets a comment now and then', async (t) => {
  const harness = await start(t);
  const client = await (await OldClient.open(harness)).begin();
  await client.call('echo', { text: 'x' });
  harness.runtime.tick(performance.now() + 15_000);
  assert.equal(await client.events.nextBlock(), ': keep-alive');
  client.leave();
});

test('a stream ends with the token that opened it, after the answers that are under way', async (t) => {
  let clock = 1_000_000;
  const harness = await start(t, {
    caller: () => ({ principal: 'alice', expiresAt: 1_000_020 }),
    runtime: { now: () => clock },
  });
  const client = await (await OldClient.open(harness)).begin();
  await client.tell(client.tool('hold', {}, 'held'));
  await client.call('echo', { text: 'before' });
  clock = 1_000_020;
  await until('no message is taken', async () => {
    const { status } = await client.send(client.tool('echo'));
    return status === 404;
  });
  // The end of the backend fails the call.
  harness.runtime.retire(new Set());
  const rest = await client.events.rest();
  assert.equal(rest.at(-1)?.id, 'held');
  assert.match(rest.at(-1)?.error?.message ?? '', /has been stopped/);
});

test('the end of the gateway ends streams when their calls are done', async (t) => {
  const harness = await start(t);
  const idle = await (await OldClient.open(harness)).begin();
  const busy = await (await OldClient.open(harness)).begin();
  await busy.tell(busy.tool('slow', { text: 'a long answer' }));
  harness.runtime.drain();
  await idle.ended();
  const rest = await busy.events.rest();
  assert.deepEqual(rest.at(-1)?.result?.['content'], [{ type: 'text', text: 'a long answer' }]);
});

test('streams count against the budget of their caller', async (t) => {
  const harness = await start(t, { limits: { maxMcpStreamsPerPrincipal: 1 } });
  const client = await OldClient.open(harness);
  const refused = await fetch(new URL('/sse', harness.url), { headers: { accept: 'text/event-stream' } });
  assert.equal(refused.status, 429);
  await refused.text();
  assert.equal(harness.runtime.view().sessions.length, 1);
  client.leave();
});

test('the query of the stream stays in the endpoint, since it may hold a credential', async (t) => {
  const harness = await start(t);
  const client = await OldClient.open(harness, '/sse?key=secret&sessionId=old');
  assert.equal(client.endpoint.searchParams.get('key'), 'secret');
  assert.deepEqual(client.endpoint.searchParams.getAll('sessionId').includes('old'), false);
  await client.begin();
  client.leave();
});

test('a page of another site cannot open a stream on this machine', async (t) => {
  const harness = await start(t);
  const headers = { accept: 'text/event-stream', origin: 'http://evil.example' };
  const refused = await fetch(new URL('/sse', harness.url), { headers });
  assert.equal(refused.status, 403);
  await refused.text();
  const wrong = await fetch(new URL('/sse', harness.url), { headers: { accept: 'application/json' } });
  assert.equal(wrong.status, 406);
  await wrong.text();
});
