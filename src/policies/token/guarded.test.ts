import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeySetSource } from '../../auth/index.ts';
import { policyTable } from '../index.ts';
import { toolsWith } from '../tools.testing.ts';

const issuer = 'https://idp.example.com';

for (const [name, settings] of [
  ['jwtAuth', { issuer, audiences: ['a'], jwks: { url: 'https://idp.example.com/keys' } }],
  ['mcpAuthentication', { issuer, audiences: ['a'], jwks: { url: 'https://idp.example.com/keys' } }],
  ['mcpAuthentication', { issuer, audiences: ['a'] }],
] as const)
  for (const guarded of [true, false])
    test(`${name} ${'jwks' in settings ? 'with an address' : 'by discovery'} asks for ${guarded ? 'guarded' : 'plain'} key sets`, () => {
      const policy = policyTable.get(name);
      assert.ok(policy !== undefined);
      const tools = toolsWith([]);
      const used: KeySetSource[] = [];
      const keySets = {
        ...tools.keySets,
        use: (source: KeySetSource) => (used.push(source), tools.keySets.use(source)),
      };
      const steps = policy.prepare(policy.schema.parse(settings), { ...tools, keySets, guarded });
      steps.close?.();
      assert.equal(used.length, 1);
      assert.equal('guarded' in (used[0] as object), guarded);
    });
