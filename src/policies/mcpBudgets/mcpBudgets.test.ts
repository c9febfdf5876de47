import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import type { Steps } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { CallsInProgress } from './callsInProgress.ts';
import { mcpBudgets } from './index.ts';

const tool = (name: string): McpItem => ({ kind: 'tool', target: 't', name });

/** Begins a call; undefined where it is refused. */
async function begin(
  steps: Steps,
  item: McpItem,
  request: FakeRequest = {},
  readNames?: ItemCall['readNames'],
): Promise<(() => void) | undefined> {
  try {
    const ended = await steps.countMcpCall?.(new FakeExchange(request), item, {
      method: 'tools/call',
      sessionId: 's',
      ...(readNames && { readNames }),
    });
    assert.ok(ended !== undefined);
    return ended;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'mcp_budget_full');
    return undefined;
  }
}

test('each caller has a budget of its own, and a call that ended makes room', async () => {
  const steps = prepared(mcpBudgets, [{ maxConcurrentCalls: 2 }]);
  const from = (remoteAddress: string): Promise<(() => void) | undefined> =>
    begin(steps, tool('a'), { remoteAddress });
  const [first, second] = [await from('192.0.2.1'), await from('192.0.2.1')];
  assert.equal(await from('192.0.2.1'), undefined);
  assert.ok((await from('192.0.2.2')) !== undefined);
  first?.();
  // Its end counts once.
  first?.();
  assert.ok((await from('192.0.2.1')) !== undefined);
  assert.equal(await from('192.0.2.1'), undefined);
  second?.();
});

test('a call takes room for each name that its server may read, and leaves all of it', async () => {
  const steps = prepared(mcpBudgets, [{ maxConcurrentCalls: 1, key: 'mcp.resource.name' }]);
  const read = (...names: readonly [string, ...string[]]): Promise<(() => void) | undefined> =>
    begin(steps, { kind: 'resource', target: 't', name: names[0] }, {}, () => names);
  const first = await read('NOTE://a', 'note://a');
  assert.ok(first !== undefined);
  assert.equal(await read('note://a'), undefined);
  assert.equal(await read('note:///./a', 'note://a'), undefined);
  first();
  const second = await read('note:///./a', 'note://a');
  assert.ok(second !== undefined, 'a refused call leaves no room taken');
});

test('a key about tools and prompts of one target counts nothing of other targets', async () => {
  const steps = prepared(mcpBudgets, [
    {
      maxConcurrentCalls: 1,
      key: 'mcp.tool.target == "hr" || mcp.prompt.target == "hr" ? source.address : null',
    },
  ]);
  const prompt = (target: string): McpItem => ({ kind: 'prompt', target, name: 'p' });
  for (const item of [tool('a'), tool('a'), prompt('t'), prompt('t')])
    assert.ok((await begin(steps, item)) !== undefined);
  assert.ok((await begin(steps, prompt('hr'))) !== undefined);
  assert.equal(await begin(steps, { ...tool('b'), target: 'hr' }), undefined);
});

test('a call that one budget refuses leaves the others as they were', async () => {
  const callsInProgress = new CallsInProgress();
  const steps = prepared(
    mcpBudgets,
    [
      { maxConcurrentCalls: 2, key: 'request.path' },
      { maxConcurrentCalls: 1, key: 'mcp.tool.name == "slow" ? "slow" : null' },
    ],
    { ...toolsWith([]), callsInProgress },
  );
  const slow = await begin(steps, tool('slow'));
  assert.equal(await begin(steps, tool('slow')), undefined);
  const other = await begin(steps, tool('quick'));
  assert.ok(other !== undefined);
  assert.equal(await begin(steps, tool('quick')), undefined);
  for (const end of [slow, other]) end?.();
  // No key of a caller stays behind.
  assert.equal(callsInProgress.size, 0);
});

test('calls in progress count on after a reload of the configuration, under the new limit', async () => {
  const tools = { ...toolsWith([]), callsInProgress: new CallsInProgress() };
  const before = await begin(prepared(mcpBudgets, [{ maxConcurrentCalls: 1 }], tools), tool('a'));
  const steps = prepared(mcpBudgets, [{ maxConcurrentCalls: 2 }], tools);
  assert.ok((await begin(steps, tool('a'))) !== undefined);
  assert.equal(await begin(steps, tool('a')), undefined);
  before?.();
  assert.ok((await begin(steps, tool('a'))) !== undefined);
});

test('a budget about tools does not count prompts', async () => {
  const steps = prepared(mcpBudgets, [{ maxConcurrentCalls: 1, key: 'mcp.tool.name' }]);
  const prompt: McpItem = { kind: 'prompt', target: 't', name: 'a' };
  for (let count = 0; count < 3; count++) assert.ok((await begin(steps, prompt)) !== undefined);
  assert.ok((await begin(steps, tool('a'))) !== undefined);
  assert.equal(await begin(steps, tool('a')), undefined);
});

test('settings that cannot be used are rejected', () => {
  for (const settings of [
    [],
    {},
    [{ key: 'jwt.sub' }],
    [{ maxConcurrentCalls: 0 }],
    [{ maxConcurrentCalls: 1, key: 'mcp.tool.arguments.a' }],
    [{ maxConcurrentCalls: 1, key: 'nothing.known' }],
    [{ maxConcurrentCalls: 1, scope: 'worldwide' }],
    [{ maxConcurrentCalls: 1, failureMode: 'failClosed' }],
  ])
    assert.equal(mcpBudgets.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
