import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallTime, McpItem } from '../../mcp/contract.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { mcpTimeouts } from './index.ts';

const tool = (name: string, target = 't'): McpItem => ({ kind: 'tool', target, name });
const prompt: McpItem = { kind: 'prompt', target: 't', name: 'export' };

/** The time of a call of a user. */
function timeOf(
  settings: unknown,
  item: McpItem,
  claims: Record<string, unknown> = {},
): CallTime | undefined {
  const exchange = new FakeExchange({ identity: { issuer: 'i', subject: 's', claims } });
  return prepared(mcpTimeouts, settings).mcpCallTime?.(exchange, item, {
    method: 'tools/call',
    sessionId: undefined,
  });
}

test('the first entry that matches the caller and the item counts', () => {
  const settings = [
    { if: 'mcp.tool.name == "export" && jwt.sub == "alice"', timeout: '1h' },
    { if: 'mcp.tool.name == "export"', timeout: '2m' },
    { if: 'mcp.tool.target == "slow" || mcp.prompt.name == "export"', timeout: '1m' },
    { timeout: '30s' },
  ];
  assert.deepEqual(timeOf(settings, tool('export'), { sub: 'alice' }), { ms: 3_600_000 });
  assert.deepEqual(timeOf(settings, tool('export'), { sub: 'bob' }), { ms: 120_000 });
  assert.deepEqual(timeOf(settings, tool('a', 'slow'), { sub: 'bob' }), { ms: 60_000 });
  assert.deepEqual(timeOf(settings, prompt), { ms: 60_000 });
  assert.deepEqual(timeOf(settings, tool('a')), { ms: 30_000 });
});

test('a condition about tools matches no prompt, and no match leaves the settings of the target', () => {
  assert.equal(timeOf([{ if: 'mcp.tool.name != "a"', timeout: '1s' }], prompt), undefined);
  assert.equal(timeOf([{ if: 'mcp.tool.name == "a"', timeout: '1s' }], tool('b')), undefined);
});

test('another spelling of a name gives a caller no more time', () => {
  const settings = [
    { if: 'mcp.resource.name == "note://a/b"', timeout: '5s' },
    { if: 'mcp.resource.name.startsWith("note://a/")', timeout: '1h' },
    { if: 'mcp.resource.name == "note://short"', timeout: '2s' },
  ];
  const timeAs = (...names: readonly [string, ...string[]]): CallTime | undefined =>
    prepared(mcpTimeouts, settings).mcpCallTime?.(
      new FakeExchange(),
      { kind: 'resource', target: 't', name: names[0] },
      { method: 'resources/read', sessionId: undefined, readNames: () => names },
    );
  assert.deepEqual(timeAs('note://a/b'), { ms: 5_000 });
  assert.deepEqual(timeAs('note://a/./b', 'note://a/b'), { ms: 5_000 });
  assert.deepEqual(timeAs('NOTE://a/b', 'note://a/b'), { atMostMs: 5_000 }, 'the settings may give less');
  assert.deepEqual(timeAs('note://a/%20', 'note://a/ '), { ms: 3_600_000 });
  assert.equal(timeAs('NOTE://x', 'note://x'), undefined);
  const unreadable = prepared(mcpTimeouts, settings).mcpCallTime?.(
    new FakeExchange(),
    { kind: 'resource', target: 't', name: 'note://a/b' },
    { method: 'resources/read', sessionId: undefined, readNames: () => undefined },
  );
  assert.deepEqual(unreadable, { atMostMs: 2_000 });
});

test('a condition that fails never gives a caller more time', () => {
  const settings = [
    { if: 'jwt.trial == true', timeout: '5s' },
    { if: '"analysts" in jwt.groups', timeout: '1h' },
    { if: 'mcp.tool.name == "export"', timeout: '2m' },
  ];
  assert.deepEqual(timeOf(settings, tool('export'), { trial: false, groups: [] }), { ms: 120_000 });
  assert.deepEqual(timeOf(settings, tool('export'), { trial: false }), { ms: 120_000, atMostMs: 3_600_000 });
  assert.deepEqual(timeOf(settings, tool('a')), { atMostMs: 5_000 });
  assert.deepEqual(timeOf([{ if: 'jwt.n', timeout: '5s' }], tool('a'), { n: 1 }), { atMostMs: 5_000 });
});

test('settings that cannot be used are rejected', () => {
  for (const settings of [
    [],
    {},
    [{}],
    [{ timeout: '0s' }],
    [{ timeout: '1s', if: 'mcp.tool.arguments.a == 1' }],
    [{ timeout: '1s', if: 'mcp.tool.name' }],
    [{ timeout: '1s', if: 'nothing.known' }],
    [{ timeout: '1s' }, { timeout: '2s', if: 'mcp.tool.name == "a"' }],
  ])
    assert.equal(mcpTimeouts.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
