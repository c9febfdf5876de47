import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRecord } from '../api/types.ts';
import { callersOf, recentCalls } from './recentCallers.ts';
import { claimsOf } from './claimsOf.ts';
import { labelOf } from './ruleTexts.ts';

test('the label of a rule names its route, its effect and what it decides', () => {
  const rule = {
    bind: '0#0',
    listener: 'public',
    policy: 'mcpAuthorization',
    place: 'routes[0].policies.mcpAuthorization.rules[0]',
    file: 'config.yaml',
    line: 3,
    effect: 'deny' as const,
    expression: 'mcp.tool.arguments.a == 1',
    decides: 'calls' as const,
    reads: ['mcp.tool.arguments'],
    scopes: [],
  };
  assert.equal(
    labelOf({ ...rule, route: { id: '0#0/public/tools', name: 'tools' }, name: 'one' }),
    'tools · mcpAuthorization: deny one (only calls, by mcp.tool.arguments)',
  );
  const scopes = { ...rule, effect: 'scopes' as const, scopes: ['write'], expression: 'true', reads: [] };
  assert.equal(
    labelOf(scopes),
    'listener public · mcpAuthorization: require scopes write if true (only calls)',
  );
});

test('claims that are no JSON object are refused with the name of their field', () => {
  assert.deepEqual(claimsOf('{"sub": "a"}', 'Claims'), { sub: 'a' });
  assert.equal(claimsOf(' ', 'Claims'), undefined);
  assert.throws(() => claimsOf('{', 'Claims of caller 2'), /^Error: Claims of caller 2: /);
  assert.throws(() => claimsOf('[]', 'Claims'), /^Error: Claims: expected a JSON object/);
});

test('callers of records have the claims that rules read, and the latest comes first', () => {
  const record = (subject: string | undefined, claims: Record<string, string>) =>
    ({
      decision: {
        ...(subject && { caller: { subject, issuer: 'i' } }),
        policies: [{ rules: [{ rule: 'r', place: '', value: 'true', claims }] }],
      },
    }) as unknown as RequestRecord;
  assert.deepEqual(
    callersOf([
      record('alice', { groups: '["a"]' }),
      record('bob', { groups: '[]', long: '"cut…' }),
      record('alice', { level: '3', other: 'absent' }),
      record(undefined, {}),
    ]),
    [
      { sub: 'alice', groups: ['a'], level: 3 },
      { sub: 'bob', groups: [] },
    ],
  );
});

test('tools of records are those of the route, the latest first', () => {
  const call = (route: string, tool: string) =>
    ({ bind: '0', listener: 'l', route, extra: { 'mcp.tool': tool } }) as unknown as RequestRecord;
  const records = [call('a', 'read'), call('b', 'other'), call('a', 'write'), call('a', 'read')];
  assert.deepEqual(recentCalls(records, '0/l/a').tools, ['read', 'write']);
  assert.deepEqual(recentCalls(records, undefined).tools, ['read', 'write', 'other']);
});
