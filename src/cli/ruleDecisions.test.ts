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

test('explain shows each rule and what it decides, and check names the rules that lists do not follow', () => {
  const result = loadText(text, { file: 'c.yaml', env: {} });
  assert.ok(result.ok, result.ok ? '' : result.problems.map(renderProblem).join('\n'));
  const second =
    'mcpAuthorization.rules[1] (no x): deny mcp.tool.arguments.text.contains("x") && mcp.methodName == "tools/call" ' +
    '(decides calls, by mcp.tool.arguments, mcp.methodName)';
  const third = 'mcpAuthorization.rules[2]: require scopes a b if mcp.tool.name == "echo" (decides calls)';
  const lines = explanation(result.model)
    .split('\n')
    .filter((line) => line.includes('decides'));
  assert.deepEqual(
    lines.map((line) => line.trim()),
    [
      'authorization.rules[0]: allow jwt.sub == "a" (decides whole requests)',
      'mcpAuthorization.rules[0]: allow mcp.tool.name == "echo" (decides lists and calls)',
      second,
      third,
      'mcpAuthorization.rules[3]: deny jwt.sub == "b" (decides whole requests)',
    ],
  );
  assert.deepEqual(callRuleLines(result.model), [`route tools: ${second}`, `route tools: ${third}`]);
});
