import assert from 'node:assert/strict';
import { test } from 'node:test';
import { argumentsNeeded } from './absentArguments.ts';

const cases: readonly (readonly [expression: string, needed: readonly string[]])[] = [
  ['mcp.tool.arguments.force == true', ['force']],
  ['mcp.tool.arguments["force"] == true', ['force']],
  ['mcp.tool.name == "push" && mcp.tool.arguments.force', ['force']],
  ['mcp.tool.arguments.path.startsWith("/etc") && jwt.sub != "root"', []],
  ['jwt.sub != "root" && mcp.tool.arguments.path.startsWith("/etc")', []],
  ['has(mcp.tool.arguments.force) && mcp.tool.arguments.force', []],
  ['has(mcp.tool.arguments.a) && mcp.tool.arguments.b', []],
  ['mcp.tool.arguments.a == 1 && mcp.tool.arguments.b == 2', []],
  ['"force" in mcp.tool.arguments && mcp.tool.arguments.force', []],
  ['has(mcp.tool) && mcp.tool.arguments.force == true', ['force']],
  ['mcp.tool.name == "push"', []],
];

test('an expression needs the arguments without which it fails, unless something else decides', () => {
  for (const [expression, needed] of cases) assert.deepEqual(argumentsNeeded(expression), needed, expression);
});
