/** The access log has one line for a POST, whatever the number of its messages. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { Caller, Checked, McpCheck } from '../contract.ts';
import { rulesBy, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';

async function start(t: TestContext, caller: Partial<Caller>): Promise<Harness> {
  const harness = await startHarness({ caller: () => ({ principal: 'ada', ...caller }) });
  t.after(() => harness.close());
  return harness;
}

const fieldsOf = ({ annotations }: Harness, ...names: string[]): unknown[] =>
  names.map((name) => annotations.at(-1)?.get(name));

async function postBatch(harness: Harness, ...tools: string[]): Promise<void> {
  const client = new RawClient(harness.url);
  await client.initialize('2025-03-26');
  await client.post(tools.map((name) => client.tool(name)));
}

test('the line of a batch names the tool that a rule refuses, wherever it is', async (t) => {
  const harness = await start(
    t,
    rulesBy(({ name }) => name !== 'state'),
  );
  for (const tools of [
    ['state', 'echo'],
    ['echo', 'state'],
    ['echo', 'state', 'pid'],
  ]) {
    await postBatch(harness, ...tools);
    assert.deepEqual(fieldsOf(harness, 'mcp.outcome', 'mcp.tool'), ['refused', 'state']);
  }
  await postBatch(harness, 'echo', 'pid');
  assert.deepEqual(fieldsOf(harness, 'mcp.outcome', 'mcp.tool'), [undefined, 'pid']);
});

test('the line of a batch names the first tool that a check or a limit refuses', async (t) => {
  const error = new GatewayError('mcp_item_refused');
  const refused = { by: { policy: 'mcpGuardrails', rule: 'test' }, error, asToolResult: false };
  const check: McpCheck = ({ json }) => {
    const found: Checked = json?.includes('state') === true ? { refused } : {};
    return Promise.resolve(found);
  };
  const checked = await start(t, { checksOf: () => ({ request: [check], result: [] }) });
  await postBatch(checked, 'state', 'echo');
  assert.deepEqual(fieldsOf(checked, 'mcp.refusal', 'mcp.tool', 'policy'), [
    'guardrail',
    'state',
    'mcpGuardrails',
  ]);
  const limited = await start(t, {
    count: ({ name }) =>
      name === 'state' ? Promise.reject(new GatewayError('rate_limited')) : Promise.resolve(undefined),
  });
  await postBatch(limited, 'state', 'echo');
  assert.deepEqual(fieldsOf(limited, 'mcp.outcome', 'mcp.tool'), ['refused', 'state']);
});

test("the line of a client's request has its method, and an item of the gateway's own requests only if it is refused", async (t) => {
  const harness = await start(
    t,
    rulesBy(({ name }) => name !== 'test://hidden'),
  );
  const client = new RawModernClient(harness.url);
  const fields = ['mcp.method', 'mcp.outcome', 'mcp.resource'];
  const seen = await client.listen({ resourceSubscriptions: ['test://one'] });
  assert.deepEqual(fieldsOf(harness, ...fields), ['subscriptions/listen', undefined, undefined]);
  await seen.events.cancel();
  const hidden = await client.listen({ resourceSubscriptions: ['test://hidden', 'test://one'] });
  assert.deepEqual(fieldsOf(harness, ...fields), ['subscriptions/listen', 'refused', 'test://hidden']);
  await hidden.events.cancel();
});
