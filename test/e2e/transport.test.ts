/** Streamable HTTP as the specification has it, by bare requests through the running program. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import {
  answerOf,
  callsUnderWay,
  openSession,
  resultText,
  type Message,
  type RawSession,
} from './session.testing.ts';
import { inline, node, rogue, rogueBackends } from './stage.testing.ts';

let gateway: GatewayProcess;
before(async () => {
  const backends = (more: string): string =>
    `backends: [{ mcp: { targets: [{ name: target, stdio: ${inline({ cmd: node, args: [rogue] })} }]${more} } }]`;
  gateway = await startGateway(`
frontendPolicies: { http: { maxBufferSize: 100KiB } }
binds:
- port: 0
  listeners:
  - routes:
    - { name: local, matches: [{ path: { pathPrefix: /local } }], ${backends(', dnsRebindingProtection: true')} }
    - { name: all, ${backends('')} }
`);
});
after(() => gateway?.stop());

interface Posted {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly headers: Headers;
}

const json = 'application/json';
const events = 'text/event-stream';
const ping = { jsonrpc: '2.0', id: 5, method: 'ping' };

async function post(
  session: RawSession | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const response = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': json,
      accept: `${json}, ${events}`,
      ...(session === undefined ? {} : { 'mcp-session-id': session.id }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const type = response.headers.get('content-type') ?? '';
  return { status: response.status, type, text: await response.text(), headers: response.headers };
}

const initialize = (protocolVersion: string): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'e2e', version: '1' } },
});

const failure = ({ status, text }: Posted): readonly [number, number | undefined] => [
  status,
  (JSON.parse(text) as Message).error?.code,
];

describe('a session', () => {
  for (const revision of ['2025-03-26', '2025-06-18', '2025-11-25'])
    test(`speaks ${revision} from initialize to DELETE`, async () => {
      const opened = await post(undefined, initialize(revision));
      assert.equal(opened.status, 200);
      assert.equal(answerOf(opened.text).result?.['protocolVersion'], revision);
      const session = await openSession(`${gateway.url}/mcp`, undefined, { protocolVersion: revision });
      const called = await post(
        session,
        {
          jsonrpc: '2.0',
          id: 'a string',
          method: 'tools/call',
          params: { name: 'echo', arguments: { text: 'x' } },
        },
        { 'mcp-protocol-version': revision },
      );
      assert.equal(answerOf(called.text).id, 'a string');
      await session.close();
      const ended = await post(session, ping);
      assert.deepEqual(failure(ended), [404, -32001]);
      assert.equal((await session.send('DELETE')).status, 404);
      assert.equal((await session.send('GET')).status, 404);
    });

  test('answers in the form that the client takes', async () => {
    const session = await openSession(`${gateway.url}/mcp`);
    const progress = {
      jsonrpc: '2.0',
      id: 6,
      method: 'tools/call',
      params: { name: 'progress', arguments: { steps: 2 }, _meta: { progressToken: 'mine' } },
    };
    for (const [accept, type] of [
      [json, json],
      [events, events],
      ['*/*', json],
    ] as const) {
      const answer = await post(session, ping, { accept });
      assert.equal(answer.status, 200);
      assert.ok(answer.type.startsWith(type), `${accept}: ${answer.type}`);
      assert.deepEqual(answerOf(answer.text).result, {});
    }
    const streamed = await post(session, progress);
    assert.ok(streamed.type.startsWith(events), 'what comes before the answer needs a stream');
    assert.equal(streamed.text.split('"progressToken":"mine"').length - 1, 2);
    assert.equal(resultText(answerOf(streamed.text)), 'done');
    const plain = await post(session, progress, { accept: json });
    assert.equal(resultText(answerOf(plain.text)), 'done');
    assert.equal((await post(session, ping, { accept: 'text/html' })).status, 406);
    await session.close();
  });

  test('takes notifications with 202 and unknown methods with the answer of the server', async () => {
    const session = await openSession(`${gateway.url}/mcp`);
    const noted = await post(session, { jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    assert.deepEqual([noted.status, noted.text], [202, '']);
    const unknown = await post(session, { jsonrpc: '2.0', id: 7, method: 'no/such' });
    assert.deepEqual(failure(unknown), [200, -32601]);
    await session.close();
  });

  test('has batches in the one revision that has them', async () => {
    const batch = [ping, { ...ping, id: 6 }, { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }];
    const old = await openSession(`${gateway.url}/mcp`, undefined, { protocolVersion: '2025-03-26' });
    const answered = await post(old, batch, { accept: json });
    assert.equal(answered.status, 200);
    const ids = (JSON.parse(answered.text) as Message[]).map(({ id }) => id);
    assert.deepEqual(new Set(ids), new Set([5, 6]));
    assert.equal(ids.length, 2);
    await old.close();
    const recent = await openSession(`${gateway.url}/mcp`);
    assert.deepEqual(failure(await post(recent, batch)), [400, -32600]);
    await recent.close();
  });

  test('is named by an id that cannot be made up', async () => {
    const session = await openSession(`${gateway.url}/mcp`);
    assert.match(session.id, /^[\x21-\x7e]{40,}$/);
    const last = session.id.at(-1) === 'A' ? 'B' : 'A';
    for (const id of [session.id.slice(0, -1) + last, session.id.slice(1), 'x', `${session.id}x`]) {
      const answer = await post(undefined, ping, { 'mcp-session-id': id });
      assert.deepEqual(failure(answer), [404, -32001], id);
    }
    assert.deepEqual(failure(await post(undefined, ping)), [400, -32000]);
    await session.close();
  });

  test('that ends answers what is still under way', async () => {
    const session = await openSession(`${gateway.url}/mcp`);
    const hanging = session.call('hang');
    await callsUnderWay(gateway, 1);
    await session.close();
    assert.equal((await hanging).error?.code, -32603);
  });

  test('is unknown to another gateway, even one with the same key', async () => {
    const yaml = `
config: { session: { key: ${'cd'.repeat(32)} } }
binds:
- port: 0
  listeners:
  - routes:
    - { name: all, backends: ${rogueBackends} }
`;
    await using one = await startGateway(yaml);
    await using other = await startGateway(yaml);
    const session = await openSession(`${one.url}/mcp`);
    const answer = await ask(`${other.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': json, accept: json, 'mcp-session-id': session.id },
      body: inline(ping),
    });
    assert.equal(answer.status, 404, 'then its client initializes again');
    await session.close();
  });

  test('goes on when the client loses an answer, which it can ask for again', async () => {
    const session = await openSession(`${gateway.url}/mcp`);
    const leaving = new AbortController();
    const cut = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      signal: leaving.signal,
      // A client that names the event stream first wants one.
      headers: { 'content-type': json, accept: `${events}, ${json}`, 'mcp-session-id': session.id },
      body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'hold' } }),
    });
    const reader = (cut.body ?? new ReadableStream<Uint8Array>()).getReader();
    const first = Buffer.from((await reader.read()).value ?? []).toString();
    const [, eventId = ''] = /^id: ?(.+)$/m.exec(first) ?? [];
    assert.notEqual(eventId, '', first);
    leaving.abort();
    await session.call('release');
    const again = await fetch(`${gateway.url}/mcp`, {
      headers: { accept: events, 'mcp-session-id': session.id, 'last-event-id': eventId },
    });
    assert.equal(again.status, 200);
    let text = '';
    for await (const chunk of (again.body ?? []) as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (text.includes('released')) break;
    }
    assert.equal(answerOf(text).id, 9);
    await session.close();
  });
});

describe('a request that is none', () => {
  let session: RawSession;
  before(async () => {
    session = await openSession(`${gateway.url}/mcp`);
  });
  after(() => session?.close());

  test('is told what is wrong, in JSON-RPC where it can be', async () => {
    assert.deepEqual(failure(await post(session, '{"jsonrpc":')), [400, -32700]);
    assert.deepEqual(failure(await post(session, '')), [400, -32700]);
    assert.deepEqual(failure(await post(session, { id: 1 })), [400, -32600]);
    assert.deepEqual(failure(await post(session, '"text"')), [400, -32600]);
    assert.deepEqual(failure(await post(session, [])), [400, -32600]);
    assert.equal((await post(session, ping, { 'content-type': 'text/plain' })).status, 415);
    const version = await post(session, ping, { 'mcp-protocol-version': '1999-01-01' });
    assert.deepEqual(failure(version), [400, -32022]);
    assert.match(version.text, /"supported":\[.*"2025-11-25".*\],"requested":"1999-01-01"/);
    const big = await post(session, { ...ping, params: { filler: 'x'.repeat(200_000) } });
    assert.deepEqual(failure(big), [413, -32600]);
    assert.match(big.text, /of which the gateway takes 102400/);
    assert.equal((await post(session, ping)).status, 200, 'the session is as it was');
  });

  test('by another method is 405, and GET needs an event stream', async () => {
    for (const method of ['PUT', 'PATCH']) {
      const answer = await ask(`${gateway.url}/mcp`, { method, headers: { 'mcp-session-id': session.id } });
      assert.equal(answer.status, 405);
      assert.match(answer.headers.allow ?? '', /POST/);
    }
    const get = await ask(`${gateway.url}/mcp`, {
      headers: { 'mcp-session-id': session.id, accept: json },
    });
    assert.equal(get.status, 406);
  });

  test('from a page of a foreign site is refused on this machine', async () => {
    const from = (origin: string): Promise<Posted> => post(session, ping, { origin });
    assert.equal((await from('http://evil.example')).status, 403);
    assert.equal((await from('null')).status, 403);
    assert.equal((await from('http://localhost:6274')).status, 200);
    const rebound = await ask(`${gateway.url}/local`, {
      method: 'POST',
      headers: { host: 'evil.example', 'content-type': json },
      body: JSON.stringify(initialize('2025-11-25')),
    });
    assert.equal(rebound.status, 403);
  });
});
