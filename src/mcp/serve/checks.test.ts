/** Calls wait for the checks of policies, and count meanwhile. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Checked, McpCheck, McpChecks } from '../contract.ts';
import { startHarness, type Harness, type HarnessOptions } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { stage } from '../remote.testing.ts';
import { until } from '../../until.testing.ts';

/** A check that answers when the test says it. */
class HeldCheck {
  private readonly begun = Promise.withResolvers<void>();
  private readonly verdict = Promise.withResolvers<Checked>();

  readonly check: McpCheck = () => {
    this.begun.resolve();
    return this.verdict.promise;
  };

  get asked(): Promise<void> {
    return this.begun.promise;
  }

  passes(): void {
    this.verdict.resolve({});
  }
}

async function connect(
  t: TestContext,
  checks: Partial<McpChecks>,
  {
    limits = {},
    count,
  }: Pick<HarnessOptions, 'limits'> & { readonly count?: () => Promise<() => void> } = {},
): Promise<{ harness: Harness; client: RawClient }> {
  const harness = await startHarness({
    limits,
    caller: () => ({
      principal: 'ada',
      count,
      checksOf: (method) => ({ request: [], result: [], ...(method === 'tools/call' && checks) }),
    }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  return { harness, client };
}

test('a call counts for its caller until its result is checked', async (t) => {
  const held = new HeldCheck();
  let used = 0;
  const { client } = await connect(
    t,
    { result: [held.check] },
    {
      limits: { maxMcpCallsPerPrincipal: 1 },
      count: () => {
        used++;
        return Promise.resolve(() => used--);
      },
    },
  );
  const first = client.post(client.tool('echo', { text: 'first' }));
  await held.asked;
  assert.equal(used, 1);
  const second = await client.post(client.tool('echo', { text: 'second' }));
  assert.equal(second.status, 429, second.text);
  held.passes();
  assert.match((await first).text, /first/);
  assert.equal(used, 0);
  assert.equal(await client.call('echo', { text: 'third' }), 'third');
  assert.equal(used, 0);
});

test('a client can take a call back while its result is checked', async (t) => {
  const held = new HeldCheck();
  const { client } = await connect(t, { result: [held.check] });
  const call = client.post(client.tool('echo', { text: 'unwanted' }));
  await held.asked;
  await client.post({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: client.lastId },
  });
  assert.doesNotMatch((await call).text, /unwanted/);
  held.passes();
  assert.equal(await client.call('echo', { text: 'later' }), 'later');
});

test('a client that loses its stream during a check gets the response when it comes back', async (t) => {
  const held = new HeldCheck();
  // A counted call asks again whether its client has left.
  const count = (): Promise<() => void> => Promise.resolve(() => undefined);
  const { client, harness } = await connect(t, { request: [held.check] }, { count });
  const left = new AbortController();
  const accept = 'text/event-stream, application/json;q=0.1';
  const stream = await client.stream(client.tool('echo', { text: 'resumed' }), { accept }, left.signal);
  await stream.nextBlock();
  await held.asked;
  left.abort();
  await until('the gateway has noticed', () => !harness.runtime.view().sessions[0]!.attached);
  held.passes();
  const events = await client.get({ 'last-event-id': stream.lastId });
  assert.match(JSON.stringify(await events.next()), /resumed/);
});

test('a client that leaves a JSON response during a check of its request has no call', async (t) => {
  const held = new HeldCheck();
  const { client, harness } = await connect(t, { request: [held.check] });
  const left = new AbortController();
  const call = client.fetch(client.tool('echo', { text: 'unheard' }), {}, left.signal);
  await held.asked;
  left.abort();
  await assert.rejects(call);
  await until('the gateway has noticed', () => !harness.runtime.view().sessions[0]!.attached);
  held.passes();
  await client.post(client.request('ping'));
  const calls = 'mcp_requests_total{method="tools/call",target="fixture",outcome="ok"}';
  assert.equal(harness.metrics().get(calls), undefined);
});

test('a task with two results is an error of its server, since a check would see only one of them', async (t) => {
  const seen: unknown[] = [];
  const check: McpCheck = ({ json }) => {
    seen.push(json);
    return Promise.resolve({});
  };
  const { harness, server } = await stage(
    t,
    {},
    { caller: () => ({ principal: 'ada', checksOf: () => ({ request: [], result: [check] }) }) },
  );
  server.methods['tools/call'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, result: { task: { taskId: 'a', status: 'working' } } });
  let results = '"result":{"content":[]}';
  server.methods['tasks/get'] = (x) =>
    x.json(`{"jsonrpc":"2.0","id":${Number(x.id)},"result":{"taskId":"a","status":"completed",${results}}}`);
  const client = new RawClient(harness.url);
  await client.initialize();
  const made = await client.post(client.tool('echo', {}, { task: {} }));
  const { taskId } = made.json.result?.['task'] as { taskId: string };
  const get = async (): Promise<string> => (await client.post(client.request('tasks/get', { taskId }))).text;
  seen.length = 0;
  assert.match(await get(), /"completed"/);
  assert.deepEqual(seen, ['{"content":[]}']);
  for (const repeated of ['result', 'Result']) {
    results = `"${repeated}":{},"result":{"content":[{"type":"text","text":"secret"}]}`;
    const text = await get();
    assert.match(text, /answered with the member \\"result\\" twice/);
    assert.doesNotMatch(text, /secret/);
  }
  assert.equal(seen.length, 1);
});

test('a request or a result with a member twice is refused, since a check may read another one', async (t) => {
  const seen: unknown[] = [];
  const check: McpCheck = ({ json }) => {
    seen.push(json);
    return Promise.resolve({});
  };
  const { harness, server } = await stage(
    t,
    {},
    { caller: () => ({ principal: 'ada', checksOf: () => ({ request: [check], result: [check] }) }) },
  );
  const client = new RawClient(harness.url);
  await client.initialize();
  seen.length = 0;
  for (const twice of ['arguments', 'Arguments']) {
    const params = `{"name":"echo","arguments":{"text":"secret"},"${twice}":{}}`;
    const { text } = await client.post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`);
    assert.match(text, /invalid params: a member is repeated/);
  }
  assert.deepEqual([seen, server.of('tools/call')], [[], []]);
  for (const twice of ['content', 'Content']) {
    const result = `{"content":[{"type":"text","text":"secret"}],"${twice}":[]}`;
    server.methods['tools/call'] = (x) => x.json(`{"jsonrpc":"2.0","id":${Number(x.id)},"result":${result}}`);
    const { text } = await client.post(client.tool('echo'));
    assert.match(text, /answered with a result that has a member twice/);
    assert.doesNotMatch(text, /secret/);
  }
});
