import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../until.testing.ts';
import type { StdioTarget } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import {
  catalog,
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
  rulesBy,
} from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';

const files = catalog({ name: 'files', tools: ['read', 'pid', 'seen', 'progress', 'hold'] });
const other = catalog({ name: 'other', tools: ['read'] });

let caller: Caller = { principal: undefined };
let harness: Harness;
before(async () => {
  harness = await startHarness({ caller: () => caller });
});
after(() => harness.close());

function clientOf(targets: readonly StdioTarget[]): RawClient {
  harness.use(mcpBackend({ targets, stateless: true }));
  return new RawClient(harness.url);
}

const nothingLeft = (): Promise<true> =>
  until('no session and no child is left', () => {
    const { sessions, children } = harness.runtime.view();
    return sessions.length === 0 && children === 0;
  });

test('each request stands alone: it needs no session id, and its child ends with it', async () => {
  const client = clientOf([files]);
  const pids = [await client.call('pid'), await client.call('pid')];
  assert.notEqual(pids[0], pids[1]);
  await nothingLeft();
});

test('initialize answers without a session id, and one that a client sends is ignored', async () => {
  const client = clientOf([files]);
  const { json, headers } = await client.initialize();
  assert.equal(json.result?.['protocolVersion'], '2025-11-25');
  assert.equal(headers.get('mcp-session-id'), null);
  client.sessionId = 'whatever';
  assert.equal(await client.call('read'), 'files: read');
  const receipt = await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  assert.equal(receipt.status, 202);
  const withoutId = await client.post({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'read' } });
  assert.equal(withoutId.status, 400);
  assert.match(withoutId.text, /tools\/call without an id/);
  await nothingLeft();
});

test('GET and DELETE are refused with 405', async () => {
  clientOf([files]);
  for (const method of ['GET', 'DELETE']) {
    const { status, headers } = await fetch(harness.url, {
      method,
      headers: { accept: 'text/event-stream' },
    });
    assert.deepEqual([status, headers.get('allow')], [405, 'POST']);
  }
});

test('a server gets an initialize without capabilities, and hears that its client is ready', async () => {
  const seen = JSON.parse(await clientOf([files]).call('seen')) as Message[];
  assert.deepEqual(
    seen.map(({ method }) => method),
    ['initialize', 'notifications/initialized', 'tools/call'],
  );
  assert.deepEqual(seen[0]?.params?.['capabilities'], {});
});

test('of several targets, a call starts only the one that owns the tool', async () => {
  const dead = stdioTarget({ name: 'dead', cmd: '/nowhere/program' });
  const client = clientOf([files, other, dead]);
  assert.equal(await client.call('other_read'), 'other: read');
  const { json } = await client.post(client.request('tools/list'));
  assert.match(json.error!.message, /target "dead"/);
  await nothingLeft();
});

test('progress comes on the stream of its call', async () => {
  const client = clientOf([files]);
  const { events } = await client.post(client.tool('progress', {}, { _meta: { progressToken: 7 } }));
  assert.deepEqual(events[0]?.params, { progressToken: 7, progress: 1, message: 'files' });
  assert.ok(events[1]?.result);
});

test('a client that leaves takes its child along', async () => {
  const client = clientOf([files]);
  const leave = new AbortController();
  const pending = client.fetch(client.tool('hold'), {}, leave.signal);
  await until('the call is in flight', () => harness.runtime.view().sessions[0]?.targets[0]?.pending === 1);
  leave.abort();
  await assert.rejects(pending);
  await nothingLeft();
});

test('rules hold as they do in a session', async () => {
  caller = { principal: 'ada', ...rulesBy(({ name }) => name === 'read') };
  try {
    const client = clientOf([files]);
    const { json } = await client.post(client.request('tools/list'));
    assert.deepEqual(
      (json.result?.['tools'] as { name: string }[]).map(({ name }) => name),
      ['read'],
    );
    await assert.rejects(client.call('pid'), /Unknown tool: pid/);
  } finally {
    caller = { principal: undefined };
  }
});

test('a server over HTTP gets a session of its own for each request, which ends with it', async (t) => {
  const remote = await startRemote(t);
  harness.use(mcpBackend({ targets: [remoteTarget(remote.url)], stateless: true }));
  const client = new RawClient(harness.url);
  for (const text of ['a', 'b']) assert.equal(await client.call('echo', { text }), text);
  await until('both sessions are ended', () => remote.of('DELETE').length === 2);
});

test('a server that asks the client all the same is refused, and its call goes on', async () => {
  const client = clientOf([catalog({ name: 'asks', tools: ['sample'] })]);
  const events = await client.stream(client.tool('sample'), { accept: 'text/event-stream' });
  const first = await events.next();
  assert.equal(first?.method, undefined);
  assert.match(JSON.stringify(first?.result), /the client has no session/);
  await nothingLeft();
});

test('the gateway answers the ping of a server during a call', async (t) => {
  const server = await startRemote(t);
  server.tools['work'] = (x) => {
    x.stream().event({ jsonrpc: '2.0', id: 'p', method: 'ping' });
    void until('the ping is answered', () => server.seen.find(({ message }) => message.id === 'p')).then(
      ({ message }) => {
        x.event(x.result(JSON.stringify(message.result)));
        x.end();
      },
    );
  };
  harness.use(mcpBackend({ targets: [remoteTarget(server.url)], stateless: true }));
  assert.equal(await new RawClient(harness.url).call('work'), '{}');
});
