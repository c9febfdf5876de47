import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolNames } from '../../mcp/contract.ts';
import { mcpAuthorization } from '../mcpAuthorization/index.ts';
import { prepared } from '../tools.testing.ts';
import { demandsTwoKinds } from './toolNames.ts';

function namesOf(rule: unknown): ToolNames | undefined {
  const all = prepared(mcpAuthorization, { rules: [rule] }).toolNames ?? [];
  assert.ok(all.length <= 1);
  return all[0];
}

test('a rule may match a tool where no claim, request or argument is known', () => {
  for (const [rule, matched, others] of [
    ['mcp.tool.name.startsWith("read_")', 'read_file', 'write_file'],
    ['mcp.tool.name.endsWith("_file") && jwt.sub == "a"', 'read_file', 'search'],
    ['mcp.tool.name.matches("^(read|write)_") && mcp.tool.arguments.path == "/"', 'write_file', 'search'],
    ['request.headers["x-a"] == "b" && mcp.tool.target == "t" && mcp.tool.name != "x"', 'a', 'x'],
    [{ deny: 'mcp.tool.name == "drop" || "admins" in jwt.groups && mcp.tool.name == "b"' }, 'drop', 'a'],
    [{ require: 'mcp.tool.name.contains("ok") && source.address == "::1"' }, 'ok', 'no'],
    [{ if: 'mcp.tool.name == "a" && mcp.methodName == "tools/call"', requireScopes: ['s'] }, 'a', 'b'],
  ] as const) {
    const names = namesOf(rule);
    assert.equal(names?.mayMatch(matched, 't'), true, JSON.stringify(rule));
    assert.equal(names.mayMatch(others, 't'), false, JSON.stringify(rule));
    assert.equal(names.onlyTools, true);
  }
});

test('a rule about other kinds of items is not judged by tools alone', () => {
  assert.equal(namesOf('mcp.prompt.name == "a"'), undefined);
  assert.equal(namesOf('jwt.sub == "a"'), undefined);
  const either = namesOf('mcp.tool.name == "a" || mcp.prompt.name == "b"');
  assert.deepEqual([either?.onlyTools, either?.tools], [false, ['a']]);
  assert.equal(namesOf('size(mcp.tool) == 3')?.mayMatch('a', 't'), true);
});

test('a deny rule that fails for a tool may refuse the tool', () => {
  const names = namesOf({ deny: 'int(mcp.tool.name) > 1' });
  assert.equal(names?.mayMatch('a', 't'), true);
  assert.equal(namesOf('int(mcp.tool.name) > 1')?.mayMatch('a', 't'), false);
  const ofBoth = namesOf({ deny: 'mcp.tool.name == "b" || "a" in [mcp.tool.name, mcp.prompt.name]' });
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => ofBoth?.mayMatch(name, 't')),
    [true, true, false],
  );
});

test('a rule can demand two kinds of items, and then it is never true', () => {
  assert.equal(demandsTwoKinds('mcp.tool.name == "a" && mcp.prompt.name == "b"'), true);
  assert.equal(demandsTwoKinds('has(mcp.resource) && mcp.tool.name == "a" && jwt.sub == "a"'), true);
  assert.equal(demandsTwoKinds('mcp.tool.name == "a" || mcp.prompt.name == "b"'), false);
  assert.equal(demandsTwoKinds('[mcp.tool.name, mcp.prompt.name].exists(n, n == "a")'), true);
  assert.equal(demandsTwoKinds('mcp.tool.name == mcp.tool.target'), false);
  assert.equal(demandsTwoKinds('jwt.sub == "a"'), false);
});
