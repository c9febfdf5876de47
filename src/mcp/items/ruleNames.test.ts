import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import type { ToolNames } from '../contract.ts';
import { compareWithTools, hasNewRules, type ListedTool } from './ruleNames.ts';

const tool = (name: string, inputSchema: object): ListedTool => ({
  name,
  text: JSON.stringify({ name, inputSchema }),
});
const pay = tool('pay', { type: 'object', properties: { amount: {}, currency: {} } });
const search = tool('search', { properties: { query: {} } });

/** The warnings about a rule in front of these tools. */
function warnings(names: Partial<ToolNames>, tools: readonly ListedTool[]): readonly string[] {
  const rule = { by: { policy: 'mcpAuthorization', place: '.rules[0]' }, tools: [], arguments: [], ...names };
  const { log, lines } = memoryLog();
  assert.ok(hasNewRules([rule]));
  compareWithTools([rule], tools, log);
  assert.ok(!hasNewRules([rule]));
  const first = lines.length;
  compareWithTools([rule], [], log);
  assert.equal(lines.length, first, 'a second list repeats nothing');
  return lines.map(
    ({ message, fields }) => `${message}: ${String(fields?.['tool'] ?? fields?.['argument'])}`,
  );
}

test('a name that no server has is reported once', () => {
  assert.deepEqual(warnings({ tools: ['pay', 'pya'] }, [pay, search]), [
    'Rule names a tool that no server has: pya',
  ]);
  assert.deepEqual(warnings({ tools: ['pay', 'search'] }, [pay, search]), []);
});

test('an argument that no tool has is reported, unless a schema may have more than it names', () => {
  const rule = { arguments: ['amount', 'ammount'] };
  assert.deepEqual(warnings(rule, [pay, search]), ['Rule reads an argument that no tool has: ammount']);
  for (const open of [tool('a', { $ref: '#/x' }), tool('a', { allOf: [] }), { name: 'a', text: '{}' }])
    assert.deepEqual(warnings(rule, [pay, open]), []);
});
