import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import type { ToolNames } from '../contract.ts';
import { compareWithTools, hasNewRules, type ListedTool } from './ruleNames.ts';

const tool = (name: string, inputSchema: object, target = 't'): ListedTool => ({
  name,
  target,
  text: JSON.stringify({ name, inputSchema }),
});
const pay = tool('pay', { type: 'object', properties: { amount: {}, currency: {} } });
const search = tool('search', { properties: { query: {} } });

/** The warnings about a rule in front of these tools. */
function warnings(names: Partial<ToolNames>, tools: readonly ListedTool[]): readonly string[] {
  const rule: ToolNames = {
    by: { policy: 'mcpAuthorization', place: '.rules[0]' },
    tools: [],
    arguments: [],
    onlyTools: true,
    mayMatch: () => true,
    ...names,
  };
  const { log, lines } = memoryLog();
  assert.ok(hasNewRules([rule]));
  compareWithTools([rule], tools, log);
  assert.ok(!hasNewRules([rule]));
  const first = lines.length;
  compareWithTools([rule], [], log);
  assert.equal(lines.length, first, 'a second list repeats nothing');
  return lines.map(({ message, fields }) => {
    const named = fields?.['tool'] ?? fields?.['argument'];
    return typeof named === 'string' ? `${message}: ${named}` : message;
  });
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
  for (const open of [
    tool('a', { $ref: '#/x' }),
    tool('a', { allOf: [] }),
    { name: 'a', target: 't', text: '{}' },
  ])
    assert.deepEqual(warnings(rule, [pay, open]), []);
});

test('keywords that name no parameters leave the comparison on', () => {
  const described = tool('pay', {
    $schema: 's',
    $id: 'i',
    $defs: { money: {} },
    title: 't',
    description: 'd',
    examples: [{}],
    properties: { amount: { $ref: '#/$defs/money' } },
  });
  assert.deepEqual(warnings({ arguments: ['amount', 'ammount'] }, [described]), [
    'Rule reads an argument that no tool has: ammount',
  ]);
});

test('arguments are compared with the tools that the rule can match', () => {
  const open = tool('open', { $ref: '#/x' });
  const ofPay = { tools: ['pay'], arguments: ['query'], mayMatch: (name: string) => name === 'pay' };
  assert.deepEqual(warnings(ofPay, [pay, search, open]), ['Rule reads an argument that no tool has: query']);
  assert.deepEqual(warnings({ ...ofPay, mayMatch: () => true }, [pay, search]), []);
});

test('a rule that matches no listed tool is reported, unless it is about prompts or resources, too', () => {
  const ofTarget = { mayMatch: (_: string, target: string) => target === 'other' };
  assert.deepEqual(warnings(ofTarget, [pay, search]), ['Rule matches no tool of the servers']);
  assert.deepEqual(warnings(ofTarget, [pay, tool('a', {}, 'other')]), []);
  assert.deepEqual(warnings({ ...ofTarget, onlyTools: false }, [pay, search]), []);
  assert.deepEqual(warnings({ ...ofTarget, tools: ['pya'] }, [pay]), [
    'Rule names a tool that no server has: pya',
  ]);
});
