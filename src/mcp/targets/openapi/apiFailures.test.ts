import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { jsonReply, petstoreText } from './api.testing.ts';
import { ask, call, stage } from './apiStage.testing.ts';

test('a status of failure is a result that the model can read, and shows no credential', async (t) => {
  const options = { headers: () => [['authorization', 'Bearer gateway-secret']] as const };
  const { api, client: open } = await stage(t, petstoreText, {}, options);
  const client = await open();
  await client.listTools();
  api.answer = ({ headers }) => ({
    ...jsonReply({ message: 'no such pet', seen: headers.authorization }, 404),
  });
  const missing = await call(client, 'getPet', { path: { petId: 1 } });
  assert.equal(missing.isError, true);
  assert.equal(missing.content[0]?.text, 'HTTP 404 Not Found\n\n{"message":"no such pet","seen":"…"}');
  assert.equal(api.seen[0]?.headers.authorization, 'Bearer gateway-secret');
  api.answer = () => ({ status: 302, headers: { location: '/elsewhere' } });
  assert.deepEqual(await call(client, 'listPets'), {
    content: [{ type: 'text', text: 'HTTP 302 Found\nLocation: /elsewhere' }],
    isError: true,
  });
  assert.equal(api.seen.length, 2);
  api.answer = () => ({ status: 500, body: 'x'.repeat(100_000) });
  const long = await call(client, 'listPets');
  assert.equal(long.content[0]?.text, `HTTP 500 Internal Server Error\n\n${'x'.repeat(16_384)}…`);
});

test('a success without the promised object says so, since strict clients refuse it otherwise', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  await client.listTools();
  api.answer = () => ({ status: 201 });
  const created = await call(client, 'createPet', { body: { name: 'Rex' } });
  assert.equal(created.isError, true);
  assert.match(created.content[0]!.text, /^HTTP 201 Created: the API did its part/);
});

test('wrong arguments are a result that the model can read, and no request', async (t) => {
  const { api, client: open } = await stage(t);
  const client = await open();
  const { content, isError } = await call(client, 'getPet', { path: { petId: '../admin' } });
  assert.equal(isError, true);
  assert.match(content[0]!.text, /^Invalid arguments: path: /);
  assert.equal(api.seen.length, 0);
});

test('messages that an API cannot answer get the errors of the protocol', async (t) => {
  const { harness, raw } = await stage(t);
  const client = await raw();
  const codeOf = async (method: string, params: object = {}): Promise<number | undefined> =>
    (await ask(client, method, params)).error?.code;
  assert.equal(await codeOf('tools/call', { name: 'nothing' }), -32602);
  assert.equal(await codeOf('tools/list', { cursor: 'x' }), -32602);
  assert.equal(await codeOf('prompts/list'), -32601);
  assert.equal(await codeOf('logging/setLevel', { level: 'debug' }), -32601);
  assert.equal(await codeOf('ping'), undefined);
  assert.equal(harness.runtime.view().sessions[0]?.targets[0]?.state, 'ready');
});

test('a cancelled call ends its request', async (t) => {
  const { api, raw } = await stage(t);
  const client = await raw();
  api.answer = () => ({ silent: true });
  const answer = ask(client, 'tools/call', { name: 'listPets' }, 77);
  await until('the request', () => api.seen.length === 1);
  await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } });
  await until('the end of the request', () => api.aborted() === 1);
  await answer;
});

test('a call that takes too long fails, and its request ends', async (t) => {
  const { api, raw } = await stage(t, petstoreText, { callTimeoutMs: 50 });
  const client = await raw();
  api.answer = () => ({ silent: true });
  const { error } = await ask(client, 'tools/call', { name: 'listPets' });
  assert.equal(error?.message, 'target "shop" did not answer within 50 ms');
  await until('the end of the request', () => api.aborted() === 1);
});

test('an API that cannot be reached fails the call and not the session', async (t) => {
  const { api, raw, harness } = await stage(t);
  const client = await raw();
  await api[Symbol.asyncDispose]();
  const { error } = await ask(client, 'tools/call', { name: 'listPets' });
  assert.match(error?.message ?? '', /target "shop" cannot be reached/);
  assert.match(harness.runtime.view().sessions[0]?.targets[0]?.lastError ?? '', /cannot be reached/);
  assert.equal((await ask(client, 'ping')).error, undefined);
});

test('an answer that is too large fails the call', async (t) => {
  const { api, raw } = await stage(t, petstoreText, {}, { limits: { maxMcpMessageBytes: 10_000 } });
  const client = await raw();
  api.answer = () => jsonReply('x'.repeat(20_000));
  const declared = await ask(client, 'tools/call', { name: 'listPets' });
  assert.match(declared.error?.message ?? '', /more than limits\.maxMcpMessageBytes/);
  // Text and structured content together are too large.
  api.answer = () => jsonReply({ id: 1, name: 'x'.repeat(9_000) });
  const doubled = await ask(client, 'tools/call', { name: 'getPet', arguments: { path: { petId: 1 } } });
  assert.match(doubled.error?.message ?? '', /larger than limits\.maxMcpMessageBytes/);
});

test('an answer that stops halfway fails the call after limits.bodyTimeout', async (t) => {
  const { api, raw, harness } = await stage(t);
  const client = await raw();
  api.answer = () => ({ headers: { 'content-type': 'application/json' }, body: '[1,', unfinished: true });
  const answer = ask(client, 'tools/call', { name: 'listPets' });
  await until('the end of waiting', async () => {
    // Time passes for the session only: its clock is told, not waited for.
    harness.runtime.tick(performance.now() + harness.limits.bodyTimeoutMs + 1_000);
    return api.aborted() === 1;
  });
  assert.equal((await answer).error?.message, 'target "shop" did not answer in time');
});

test('a coding that was not asked for fails the call', async (t) => {
  const { api, raw } = await stage(t);
  const client = await raw();
  api.answer = () => ({ headers: { 'content-encoding': 'gzip' }, body: 'x' });
  const { error } = await ask(client, 'tools/call', { name: 'listPets' });
  assert.match(error?.message ?? '', /content-encoding gzip/);
  assert.equal(api.seen[0]?.headers['accept-encoding'], 'identity');
});
