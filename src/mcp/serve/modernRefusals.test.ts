/** Refusals that clients of revision 2026-07-28 get in front of servers that begin with `initialize`. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import type { Answered, Message } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { stage } from '../remote.testing.ts';
import type { RemoteServer } from '../remoteServer.testing.ts';

/** A client in front of a server over HTTP. */
async function legacyStage(t: TestContext) {
  const { server, harness } = await stage(t);
  server.stateful = false;
  server.methods['server/discover'] = (x) => x.status(400);
  const client = (capabilities: object = {}, headers: Record<string, string> = {}) =>
    new RawModernClient(harness.url, capabilities, headers);
  return { server, client };
}

const messageOf = ({ json, events }: Answered): Message => events.at(-1) ?? json;

/** A tool that asks the client, and answers with what `answer` makes of the client's answer. */
function addAsking(server: RemoteServer, method: string, params: object, answer: (said: Message) => object) {
  server.tools['ask'] = async (x) => {
    x.stream().event({ jsonrpc: '2.0', id: 'q', method, params });
    const said = (): Message | undefined =>
      server.seen
        .map(({ message }) => message)
        .find(({ id, method: other }) => id === 'q' && other === undefined);
    await until('the client has answered', () => said() !== undefined);
    x.event({ jsonrpc: '2.0', id: x.id, ...answer(said()!) });
    x.end();
  };
}

const failed = () => ({ result: { isError: true, content: [{ type: 'text', text: 'I need a model' }] } });
const ask = { name: 'ask', arguments: {} };

test('a tool that fails because the client cannot be asked is refused with the missing capability', async (t) => {
  const { server, client } = await legacyStage(t);
  addAsking(server, 'sampling/createMessage', { messages: [], maxTokens: 1 }, failed);
  const answer = await client({ roots: {} }).post('tools/call', ask);
  assert.equal(answer.status, 400);
  const { error } = messageOf(answer);
  assert.equal(error?.code, -32021);
  assert.deepEqual(error.data, { requiredCapabilities: { sampling: {} } });
  assert.match(error.message, /sampling; the server said: I need a model/);
});

test('an error of a server that wanted to open a URL names the mode that the client lacks', async (t) => {
  const { server, client } = await legacyStage(t);
  const params = { mode: 'url', message: 'Open it', url: 'https://example.com', elicitationId: '1' };
  addAsking(server, 'elicitation/create', params, () => ({ error: { code: -32603, message: 'no consent' } }));
  const { error } = messageOf(await client({ elicitation: { form: {} } }).post('tools/call', ask));
  assert.equal(error?.code, -32021);
  assert.deepEqual(error.data, { requiredCapabilities: { elicitation: { url: {} } } });
  assert.match(error.message, /-32603 no consent/);
});

test('a tool that does without the answer of the client succeeds', async (t) => {
  const { server, client } = await legacyStage(t);
  addAsking(server, 'roots/list', {}, ({ error }) => ({
    result: { content: [{ type: 'text', text: `the client said ${String(error?.code)}` }] },
  }));
  const { result } = messageOf(await client().post('tools/call', ask));
  assert.deepEqual(result?.['content'], [{ type: 'text', text: 'the client said -32601' }]);
});

test('a tool that fails after the client has answered keeps its own words', async (t) => {
  const { server, client } = await legacyStage(t);
  server.tools['fail'] = (x) => x.json({ jsonrpc: '2.0', id: x.id, ...failed() });
  const { result } = messageOf(await client().post('tools/call', { name: 'fail', arguments: {} }));
  assert.equal(result?.['isError'], true);
});

test('headers of parameters are checked for anonymous callers, whose requests have sessions of their own', async (t) => {
  const { server, client } = await legacyStage(t);
  const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
  const tools = [{ name: 'echo', inputSchema: { type: 'object', properties } }];
  server.listed = () => tools;
  const call = { name: 'echo', arguments: { region: 'eu', text: 'x' } };
  await client().post('tools/list');
  const wrong = await client({}, { 'mcp-param-region': 'us' }).post('tools/call', call);
  assert.deepEqual([wrong.status, messageOf(wrong).error?.code], [400, -32020]);
  const right = await client({}, { 'mcp-param-region': 'eu' }).post('tools/call', call);
  assert.equal(right.status, 200);
  assert.equal(server.of('initialize').length, 2);
});
