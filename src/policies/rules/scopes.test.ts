import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GatewayError } from '../../errors.ts';
import type { ItemCall, ItemRefusal, McpItem } from '../../mcp/contract.ts';
import { readPlain } from '../../mcp/json/plainValue.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { mcpAuthorization } from '../mcpAuthorization/index.ts';
import type { Identity, Steps } from '../policy.ts';
import { prepared } from '../tools.testing.ts';

const who = (claims: Record<string, unknown>): Identity => ({ issuer: 'i', subject: 's', claims });
const tool = (name: string): McpItem => ({ kind: 'tool', target: 'files', name });
const prompt: McpItem = { kind: 'prompt', target: 'files', name: 'hello' };
const callWith = (text = '{}'): ItemCall => ({
  method: 'tools/call',
  sessionId: undefined,
  readArguments: (reading) => readPlain(text, { start: 0, end: text.length }, reading),
});

const write = { if: 'mcp.tool.name == "write"', requireScopes: ['files:write'] };

/** The refusal of a call; the scopes that it needs, or the rule. */
function refusalOf(
  settings: object,
  claims: Record<string, unknown> | undefined,
  item: McpItem,
  text?: string,
): ItemRefusal | undefined {
  const { refuseMcpItem } = prepared(mcpAuthorization, settings);
  const exchange = new FakeExchange(claims === undefined ? {} : { identity: who(claims) });
  exchange.metadataUrl = () => 'https://gw.test/.well-known/oauth-protected-resource/mcp';
  return refuseMcpItem!(exchange, item, callWith(text));
}
const scopesOf = (...args: Parameters<typeof refusalOf>): readonly string[] | undefined =>
  refusalOf(...args)?.stepUp?.scopes;

test('a call without the scopes of a rule is told all scopes that it needs', () => {
  const settings = {
    rules: [write, { if: 'has(mcp.tool)', requireScopes: ['files:read'] }],
  };
  const refused = refusalOf(settings, { scope: 'files:read' }, tool('write'));
  assert.deepEqual(refused, {
    policy: 'mcpAuthorization',
    rule: 'requireScopes files:write: mcp.tool.name == "write"',
    place: '.rules[0]',
    stepUp: {
      scopes: ['files:write', 'files:read'],
      challenge:
        'Bearer error="insufficient_scope", resource_metadata="https://gw.test/.well-known/oauth-protected-resource/mcp", scope="files:write files:read"',
      isAnonymous: false,
    },
  });
  assert.equal(refusalOf(settings, { scope: 'files:read files:write' }, tool('write')), undefined);
  assert.equal(refusalOf(settings, { scope: 'files:read' }, tool('read')), undefined);
  assert.equal(refusalOf(settings, {}, prompt), undefined, 'a rule about tools says nothing about prompts');
});

test('scopes come from scope and scp, as a text or a list', () => {
  const settings = { rules: [write] };
  for (const claims of [
    { scope: 'a files:write' },
    { scp: 'files:write b' },
    { scp: ['files:write'] },
    { scope: ['files:write'] },
  ])
    assert.equal(refusalOf(settings, claims, tool('write')), undefined, JSON.stringify(claims));
  for (const claims of [
    {},
    { scope: 'files:writer' },
    { scp: ['a files:write'] },
    { scope: { 'files:write': 1 } },
  ])
    assert.deepEqual(scopesOf(settings, claims, tool('write')), ['files:write'], JSON.stringify(claims));
});

test('a scope includes others, also over several steps', () => {
  const settings = { scopes: { admin: ['files:write'], 'files:write': ['files:read'] }, rules: [write] };
  const reads = { ...settings, rules: [{ if: 'has(mcp.tool)', requireScopes: ['files:read'] }] };
  for (const scope of ['admin', 'files:write']) {
    assert.equal(refusalOf(settings, { scope }, tool('write')), undefined);
    assert.equal(refusalOf(reads, { scope }, tool('x')), undefined);
  }
  assert.deepEqual(scopesOf(settings, { scope: 'files:read' }, tool('write')), ['files:write']);
});

test('a caller without a token is not told of an error in one', () => {
  const { stepUp } = refusalOf({ rules: [write] }, undefined, tool('write'))!;
  assert.equal(stepUp?.isAnonymous, true);
  assert.match(stepUp?.challenge ?? '', /^Bearer resource_metadata="[^"]+", scope="files:write"$/);
});

test('an item that needs more scopes stays in lists, and one that other rules refuse stays hidden', () => {
  const settings = {
    rules: [write, { deny: 'mcp.tool.name == "drop"' }, { if: 'has(mcp.tool)', requireScopes: ['x'] }],
  };
  const { refuseMcpItem } = prepared(mcpAuthorization, settings);
  const exchange = new FakeExchange({ identity: who({}) });
  assert.equal(refuseMcpItem!(exchange, tool('write')), undefined);
  assert.equal(refusalOf(settings, {}, tool('drop'))?.stepUp, undefined);
});

test('a rule may require scopes by arguments, and fails closed', () => {
  const settings = {
    rules: [{ if: 'mcp.tool.arguments.path.startsWith("/etc/")', requireScopes: ['system'] }],
  };
  assert.equal(scopesOf(settings, {}, tool('read'), '{"path":"/tmp/a"}'), undefined);
  assert.deepEqual(scopesOf(settings, {}, tool('read'), '{"path":"/etc/a"}'), ['system']);
  assert.deepEqual(
    scopesOf(settings, {}, tool('read'), '{}'),
    ['system'],
    'a rule that fails requires its scopes',
  );
  const ofTarget = (name: string) => ({
    rules: [{ if: `[mcp.tool.target, mcp.prompt.target].exists(t, t == "${name}")`, requireScopes: ['s'] }],
  });
  for (const item of [tool('read'), prompt]) {
    assert.deepEqual(scopesOf(ofTarget('files'), {}, item), ['s']);
    assert.equal(scopesOf(ofTarget('other'), {}, item), undefined);
  }
});

test('scopes of a rule that is not about items are required of the whole request', () => {
  const enter = (steps: Steps, claims?: Record<string, unknown>): unknown => {
    try {
      return steps.onRequest?.(new FakeExchange(claims === undefined ? {} : { identity: who(claims) }));
    } catch (error) {
      return error;
    }
  };
  const steps = prepared(mcpAuthorization, { rules: [{ requireScopes: ['mcp'] }] });
  assert.equal(enter(steps, { scope: 'mcp' }), undefined);
  for (const [claims, code, challenge] of [
    [{ scope: 'other' }, 'scope_missing', 'Bearer error="insufficient_scope", scope="mcp"'],
    [undefined, 'token_missing', 'Bearer scope="mcp"'],
  ] as const) {
    const error = enter(steps, claims);
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, code);
    assert.deepEqual(error.headers, [['www-authenticate', challenge]]);
  }
});

test('a caller without the scopes of the request learns those of its call, too', async () => {
  const steps = prepared(mcpAuthorization, {
    rules: [{ requireScopes: ['mcp'] }, write, { deny: 'mcp.tool.name == "drop"' }],
  });
  const refused = async (
    item: ConstructorParameters<typeof FakeExchange>[0],
  ): Promise<readonly [string | undefined, string | undefined]> => {
    try {
      await steps.onRequest?.(new FakeExchange({ identity: who({ scope: 'other' }), ...item }));
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      assert.equal(error.code, 'scope_missing');
      return [/ scope="(.*)"/.exec(error.headers?.[0]?.[1] ?? '')?.[1], error.by?.rule];
    }
    throw new Error('the request passed');
  };
  const call = (name: string) => ({ item: { item: tool(name), call: callWith() } });
  assert.deepEqual(await refused(call('write')), ['mcp files:write', 'requireScopes mcp']);
  for (const other of [call('read'), call('drop'), {}, { item: new Error('no JSON') }])
    assert.deepEqual(await refused(other), ['mcp', 'requireScopes mcp']);
});

test('one login is enough after a refusal at the gate, however the rules are spread over policies', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const rule = fc.record({
    requireScopes: fc.subarray(names, { minLength: 1 }),
    if: fc.option(fc.constantFrom('mcp.tool.name == "write"', 'mcp.tool.name == "read"', 'has(mcp.tool)'), {
      nil: undefined,
    }),
  });
  const sets = fc.array(fc.array(rule, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(sets, fc.subarray(names), async (spread, held) => {
      const steps = spread.map((rules) =>
        prepared(mcpAuthorization, {
          rules: rules.map(({ requireScopes, if: when }) => ({
            requireScopes,
            ...(when !== undefined && { if: when }),
          })),
        }),
      );
      const exchangeWith = (scopes: readonly string[]): FakeExchange => {
        const exchange = new FakeExchange({
          identity: who({ scope: scopes.join(' ') }),
          item: { item: tool('write'), call: callWith() },
        });
        exchange.scopeRules = steps.flatMap(({ neededScopes }) => neededScopes ?? []);
        return exchange;
      };
      const refusedBy = async (one: Steps, scopes: readonly string[]): Promise<string[] | undefined> => {
        try {
          await one.onRequest?.(exchangeWith(scopes));
          return undefined;
        } catch (error) {
          assert.ok(error instanceof GatewayError);
          return (/ scope="(.*)"/.exec(error.headers?.[0]?.[1] ?? '')?.[1] ?? '').split(' ');
        }
      };
      for (const one of steps) {
        const wanted = await refusedBy(one, held);
        if (wanted === undefined) continue;
        assert.equal(new Set(wanted).size, wanted.length);
        for (const other of steps) {
          assert.equal(await refusedBy(other, wanted), undefined);
          assert.equal(other.refuseMcpItem?.(exchangeWith(wanted), tool('write'), callWith()), undefined);
        }
      }
    }),
  );
});

test('the scopes of a call stay out of the challenge where a rule of another policy refuses the call', async () => {
  const gate = prepared(mcpAuthorization, { rules: [{ requireScopes: ['mcp'] }] });
  const items = prepared(mcpAuthorization, { rules: [write, { deny: 'mcp.tool.name == "write"' }] });
  const exchange = new FakeExchange({
    identity: who({}),
    item: { item: tool('write'), call: callWith() },
  });
  exchange.scopeRules = [gate, items].flatMap(({ neededScopes }) => neededScopes ?? []);
  await assert.rejects(
    async () => gate.onRequest?.(exchange),
    ({ headers }: GatewayError) => / scope="mcp"/.test(headers?.[0]?.[1] ?? ''),
  );
});

test('an explained refusal has the message of its rule, or a general one', () => {
  const rules = [
    { deny: 'mcp.tool.name == "drop"', message: 'ask the owner' },
    { deny: 'mcp.tool.name == "push"' },
  ];
  const messageOf = (name: string): string | undefined =>
    refusalOf({ refusal: 'explained', rules }, {}, tool(name))?.message;
  assert.equal(messageOf('drop'), 'ask the owner');
  assert.equal(messageOf('push'), 'refused by a rule');
  assert.equal(refusalOf({ rules: [rules[1]] }, {}, tool('push'))?.message, undefined);
});

test('settings of scopes and messages that cannot work are refused at load', () => {
  const problem = (settings: object): string =>
    JSON.stringify(
      mcpAuthorization.schema.safeParse(settings).error?.issues.map(({ message }) => message) ?? [],
    );
  assert.match(problem({ rules: [], scopes: { a: ['b'], b: ['a'] } }), /the scope a includes itself/);
  assert.match(problem({ rules: [], scopes: { a: ['a'] } }), /the scope a includes itself/);
  assert.match(problem({ rules: [{ requireScopes: ['a b'] }] }), /expected a scope/);
  assert.match(problem({ rules: [{ requireScopes: ['a"'] }] }), /expected a scope/);
  assert.match(
    problem({ rules: [{ deny: 'true', requireScopes: ['a'] }] }),
    /stands alone or beside if, not beside deny/,
  );
  assert.match(
    problem({ rules: [{ if: 'true', action: 'deny', requireScopes: ['a'] }] }),
    /not beside action/,
  );
  assert.match(
    problem({ rules: [{ deny: 'has(mcp.tool)', message: 'x' }] }),
    /message needs refusal: explained/,
  );
  assert.match(problem({ rules: [{ requireScopes: [] }] }), /./);
});
