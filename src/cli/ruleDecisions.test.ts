import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText, renderProblem } from '../config/index.ts';
import { explanation } from './explanation.ts';
import { callRuleLines } from './ruleDecisions.ts';

const text = `
binds:
- port: 3000
  listeners:
  - routes:
    - name: tools
      policies:
        authorization: {rules: ['jwt.sub == "a"']}
        mcpAuthorization:
          rules:
          - mcp.tool.name == "echo"
          - {deny: 'mcp.tool.arguments.text.contains("x") && mcp.methodName == "tools/call"', name: no x}
          - {if: 'mcp.tool.name == "echo"', requireScopes: [a, b]}
          - deny: jwt.sub == "b"
      backends: [{mcp: {targets: [{name: t, stdio: {cmd: run}}]}}]
`;

test('explain says what each rule about MCP decides, and check names the rules that lists do not follow', () => {
  const result = loadText(text, { file: 'c.yaml', env: {} });
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  const second = 'mcpAuthorization.rules[1] (no x): decides calls, by mcp.tool.arguments, mcp.methodName';
  const third = 'mcpAuthorization.rules[2]: decides calls, requires a b';
  const lines = explanation(result.model)
    .split('\n')
    .filter((line) => line.includes('decides'));
  assert.deepEqual(
    lines.map((line) => line.trim()),
    [
      'mcpAuthorization.rules[0]: decides lists and calls',
      second,
      third,
      'mcpAuthorization.rules[3]: decides whole requests',
    ],
  );
  assert.deepEqual(callRuleLines(result.model), [`route tools: ${second}`, `route tools: ${third}`]);
});
