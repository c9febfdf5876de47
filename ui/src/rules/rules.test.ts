import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRecord } from '../api/types.ts';
import { callersOf } from './recentCallers.ts';
import { rulesInUse } from './rulesInUse.ts';

test('the rules of the model have their places', () => {
  const policy = (name: string, settings: object) => ({
    name,
    settings,
    place: { path: `routes[0].policies.${name}` },
  });
  const rule = { effect: 'allow', expression: 'a == 1', name: 'one' };
  const model = {
    binds: [
      {
        listeners: [
          {
            routes: [
              {
                name: 'tools',
                place: { path: 'routes[0]' },
                policies: [
                  policy('mcpAuthorization', { rules: [rule, { effect: 'deny', expression: 'b' }] }),
                  policy('mcpAuthentication', { authorization: { rules: [rule] } }),
                ],
              },
            ],
          },
        ],
      },
    ],
  };
  assert.deepEqual(rulesInUse(model), [
    {
      id: 'routes[0].policies.mcpAuthorization.rules[0]',
      label: 'mcpAuthorization: allow one',
      expression: 'a == 1',
    },
    {
      id: 'routes[0].policies.mcpAuthorization.rules[1]',
      label: 'mcpAuthorization: deny b',
      expression: 'b',
    },
    {
      id: 'routes[0].policies.mcpAuthentication.authorization.rules[0]',
      label: 'mcpAuthentication: allow one',
      expression: 'a == 1',
    },
  ]);
  assert.deepEqual(rulesInUse(null), []);
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
