import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller, StepUp } from '../contract.ts';
import { catalog, mcpBackend, remoteTarget, startHarness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';

const files = catalog({ name: 'files', tools: ['read', 'write'] });
const other = catalog({ name: 'other', tools: ['read'] });
const stepUp: StepUp = {
  scopes: ['files:write'],
  challenge: 'Bearer scope="files:write"',
  isAnonymous: false,
};

/** A caller that lacks a scope for calls of `write`; the rules may be explained. */
const callerWith = (refusal: object) => (): Caller => ({
  principal: 'ada',
  refusalOf: ({ name }, call) =>
    name === 'write' && call !== undefined ? { policy: 'test', rule: 'write', ...refusal } : undefined,
});

test('a call without its scopes gets 403 with a challenge, alone and with several targets', async (t) => {
  const harness = await startHarness({
    caller: callerWith({ stepUp }),
    backend: mcpBackend({ targets: [files] }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const { text } = await client.post(client.request('tools/list'));
  assert.match(text, /"write"/);
  const refused = await client.post(client.tool('write'));
  assert.equal(refused.status, 403);
  assert.equal(refused.headers.get('www-authenticate'), stepUp.challenge);
  assert.equal(refused.json.error?.code, 403);
  assert.match(refused.text, /"requiredScopes":\["files:write"\]/);
  assert.equal(harness.annotations.at(-1)?.get('rule'), 'write');
  assert.ok((await client.post(client.tool('read'))).json.result, 'the session goes on');
  const modern = await new RawModernClient(harness.url).post('tools/call', { name: 'write', arguments: {} });
  assert.deepEqual([modern.status, modern.headers.get('www-authenticate')], [403, stepUp.challenge]);
  harness.use(mcpBackend({ targets: [files, other] }));
  const federated = new RawClient(harness.url);
  await federated.initialize();
  assert.equal((await federated.post(federated.tool('files_write'))).status, 403);
});

test('a call in a batch gets its scopes in a JSON-RPC error, and the other calls go on', async (t) => {
  const harness = await startHarness({
    caller: callerWith({ stepUp }),
    backend: mcpBackend({ targets: [files] }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize('2025-03-26');
  const { status, text } = await client.post([client.tool('write'), client.tool('read')]);
  assert.equal(status, 200);
  assert.match(
    text,
    /"code":403,"message":"insufficient scope","data":\{"requiredScopes":\["files:write"\]\}/,
  );
  assert.match(text, /"result"/);
});

test('a caller without a token gets 401 for a call that needs scopes', async (t) => {
  const anonymous = { stepUp: { ...stepUp, isAnonymous: true } };
  const harness = await startHarness({
    caller: callerWith(anonymous),
    backend: mcpBackend({ targets: [files] }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  assert.equal((await client.post(client.tool('write'))).status, 401);
});

test('an explained refusal has an application code and the message of the rule', async (t) => {
  const harness = await startHarness({
    caller: callerWith({ message: 'ask the owner' }),
    backend: mcpBackend({ targets: [files] }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const { status, json } = await client.post(client.tool('write'));
  assert.deepEqual([status, json.error?.code, json.error?.message], [200, 403, 'ask the owner']);
});

test('contents that a caller may not read are withheld, though lists show their resource', async (t) => {
  const remote = await startRemote(t);
  const uri = 'file:///b';
  remote.methods['resources/read'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, result: { contents: [{ uri, text: 'withheld' }] } });
  const harness = await startHarness({
    caller: () => ({
      principal: 'ada',
      refusalOf: ({ name }, call) =>
        call !== undefined && name === uri ? { policy: 'test', rule: 'b', stepUp } : undefined,
    }),
    backend: mcpBackend({ targets: [remoteTarget(remote.url)] }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  const { text } = await client.post(client.request('resources/read', { uri: 'file:///a' }));
  assert.doesNotMatch(text, /withheld/);
  assert.match(text, /insufficient scope/);
  assert.equal(harness.annotations.at(-1)?.get('rule'), 'b');
});
