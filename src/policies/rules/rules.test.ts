import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { McpItem } from '../../mcp/contract.ts';
import { authorization } from '../authorization/index.ts';
import { collect } from '../../oldObjects.testing.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { mcpAuthorization } from '../mcpAuthorization/index.ts';
import type { Identity, Policy } from '../policy.ts';
import { allowsItem, prepared } from '../tools.testing.ts';

const who = (claims: Record<string, unknown>): Identity => ({ issuer: 'i', subject: 's', claims });
const tool = (name: string, target = 'everything'): McpItem => ({ kind: 'tool', target, name });
const prompt: McpItem = { kind: 'prompt', target: 'everything', name: 'hello' };

/** Does the gate of the rules let the caller in? */
function enters(
  rules: unknown[],
  claims?: Record<string, unknown>,
  policy: Policy<never> | typeof authorization = authorization,
) {
  const steps = prepared(policy as typeof authorization, { rules });
  const exchange = new FakeExchange(claims === undefined ? {} : { identity: who(claims) });
  try {
    assert.equal(steps.onRequest?.(exchange), undefined);
    return true;
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.code === 'authorization_denied');
    assert.equal(error.jsonBody?.error, 'forbidden');
    return false;
  }
}

test('no rules let everybody in and cost nothing', () => {
  assert.equal(enters([]), true);
  assert.deepEqual(Object.keys(prepared(authorization, { rules: [] })), []);
});

test('a group rule allows only callers with the group in a list claim', () => {
  const rules = [{ if: '"admins" in auth.claims.groups' }];
  assert.equal(enters(rules, { groups: ['staff', 'admins'] }), true);
  assert.equal(enters(rules, { groups: ['staff'] }), false);
  assert.equal(enters(rules, { groups: [] }), false);
  assert.equal(enters(rules, { groups: 'superadmins' }), false);
  assert.equal(enters(rules, { groups: 'admins' }), false);
  assert.equal(enters(rules, { groups: null }), false);
  assert.equal(enters(rules, {}), false);
  assert.equal(enters(rules), false);
});

test('rules see the metadata of an API key and the name of a user, but not the key', () => {
  const rules = ['apiKey.team == "a"', 'basicAuth.username == "alice"'];
  const judge = (apiKey: FakeExchange['apiKey'], user: string | undefined): boolean => {
    const exchange = new FakeExchange();
    exchange.apiKey = apiKey;
    exchange.user = user;
    try {
      void prepared(authorization, { rules }).onRequest?.(exchange);
      return true;
    } catch {
      return false;
    }
  };
  assert.equal(judge({ id: '1', metadata: { team: 'a' } }, undefined), true);
  assert.equal(judge({ id: '1', metadata: { team: 'b' } }, undefined), false);
  assert.equal(judge({ id: '1', metadata: {} }, 'alice'), true);
  assert.equal(judge(undefined, 'bob'), false);
  assert.equal(judge(undefined, undefined), false);
  assert.equal(authorization.schema.safeParse({ rules: ['apiKey.key == "x"'] }).success, false);
});

test('every way of writing a rule means the same', () => {
  for (const rule of [
    'jwt.a == 1',
    { allow: 'jwt.a == 1' },
    { if: 'jwt.a == 1' },
    { if: 'jwt.a == 1', action: 'allow' },
  ]) {
    assert.equal(enters([rule], { a: 1 }), true);
    assert.equal(enters([rule], { a: 2 }), false);
  }
  for (const rule of [{ deny: 'jwt.a == 1' }, { if: 'jwt.a == 1', action: 'deny', name: 'no' }]) {
    assert.equal(enters([rule], { a: 1 }), false);
    assert.equal(enters([rule], { a: 2 }), true);
  }
});

test('deny wins over allow, every require must hold, one allow is enough', () => {
  const rules = [
    { allow: 'jwt.role == "a"' },
    { allow: 'jwt.role == "b"' },
    { require: 'jwt.level > 2' },
    { deny: 'jwt.sub == "mallory"' },
  ];
  assert.equal(enters(rules, { role: 'b', level: 3, sub: 'x' }), true);
  assert.equal(enters(rules, { role: 'c', level: 3, sub: 'x' }), false);
  assert.equal(enters(rules, { role: 'a', level: 2, sub: 'x' }), false);
  assert.equal(enters(rules, { role: 'a', level: 3, sub: 'mallory' }), false);
  assert.equal(enters([{ require: 'jwt.level > 2' }], { level: 3 }), true);
  assert.equal(enters([{ deny: 'jwt.level > 2' }], { level: 1 }), true);
});

test('a rule that fails does not allow, a require that fails refuses, a deny that fails denies', () => {
  assert.equal(enters(['jwt.missing == 1', 'jwt.a == 1'], { a: 1 }), true);
  assert.equal(enters(['jwt.missing == 1'], { a: 1 }), false);
  assert.equal(enters([{ require: 'jwt.missing == 1' }], { a: 1 }), false);
  assert.equal(enters([{ deny: 'jwt.missing == 1' }], { a: 1 }), false);
  assert.equal(enters([{ deny: 'has(jwt.missing) && jwt.missing == 1' }], { a: 1 }), true);
  // Neither true nor false: a claim that is a text cannot be a decision.
  assert.equal(enters(['jwt.a'], { a: 'true' }), false);
  assert.equal(enters([{ deny: 'jwt.a' }], { a: 'false' }), false);
  assert.equal(enters([{ require: 'jwt.a' }], { a: 1 }), false);
});

test('rules see the request', () => {
  const { onRequest } = prepared(authorization, {
    rules: [
      'request.method == "POST" && request.path.startsWith("/a") && request.headers["X-Key"] == "k"',
      'cidr("192.0.2.0/24").containsIP(source.address) && request.host == "in.test"',
    ],
  });
  const passes = (exchange: FakeExchange): boolean => {
    try {
      void onRequest?.(exchange);
      return true;
    } catch {
      return false;
    }
  };
  const headers = [['x-key', 'k']] as const;
  assert.equal(
    passes(new FakeExchange({ method: 'POST', target: '/a/b', headers, remoteAddress: '10.0.0.1' })),
    true,
  );
  assert.equal(
    passes(new FakeExchange({ method: 'GET', target: '/a/b', headers, remoteAddress: '10.0.0.1' })),
    false,
  );
  assert.equal(passes(new FakeExchange({ host: 'in.test:3000' })), true);
  assert.equal(passes(new FakeExchange({ host: 'in.test', remoteAddress: '192.0.3.1' })), false);
});

test('the answer for one identity is remembered and never given to another', () => {
  const { onRequest } = prepared(authorization, { rules: ['jwt.a == 1'] });
  const good = who({ a: 1 });
  const bad = who({ a: 2 });
  for (let i = 0; i < 3; i += 1) {
    assert.equal(onRequest?.(new FakeExchange({ identity: good })), undefined);
    assert.throws(() => onRequest?.(new FakeExchange({ identity: bad })), GatewayError);
    assert.throws(() => onRequest?.(new FakeExchange()), GatewayError);
  }
});

test('the log learns the rule that refused', () => {
  const { onRequest } = prepared(authorization, { rules: [{ deny: 'jwt.a == 1', name: 'no a' }] });
  assert.throws(
    () => onRequest?.(new FakeExchange({ identity: who({ a: 1 }) })),
    (error) => error instanceof GatewayError && error.detail === 'rule: no a',
  );
});

/** Which of the items are seen with these rules? */
function seen(rules: unknown[], items: McpItem[], claims: Record<string, unknown> = {}): string[] {
  const steps = prepared(mcpAuthorization, { rules });
  const exchange = new FakeExchange({ identity: who(claims) });
  void steps.onRequest?.(exchange);
  const allows = steps.refuseMcpItem === undefined ? () => true : allowsItem(steps);
  const once = items.filter((item) => allows(exchange, item)).map((item) => item.name);
  assert.deepEqual(
    items.filter((item) => allows(exchange, item)).map((item) => item.name),
    once,
  );
  return once;
}

test('answers about names of any length are right, and long names are not kept in memory', async () => {
  const steps = prepared(mcpAuthorization, { rules: ['mcp.tool.name.endsWith("yes")'] });
  const exchange = new FakeExchange({ identity: who({}) });
  collect();
  const start = process.memoryUsage().heapUsed;
  for (let i = 0; i < 50; i += 1) {
    const name = Buffer.alloc(500_000, 'x').toString('latin1') + String(i);
    assert.equal(allowsItem(steps)(exchange, tool(`${name} yes`)), true);
    assert.equal(allowsItem(steps)(exchange, tool(`${name} no`)), false);
  }
  // Swept in the background: what is garbage may count for a moment longer.
  const end = performance.now() + 10_000;
  const grown = (): number => {
    collect();
    return process.memoryUsage().heapUsed - start;
  };
  while (grown() > 10_000_000 && performance.now() < end) await new Promise(setImmediate);
  assert.ok(grown() < 10_000_000, `${grown()} bytes are kept of 50 MB`);
  assert.equal(allowsItem(steps)(exchange, tool('yes')), true);
});

test('rules about items show allowed items and hide the rest', () => {
  const items = [tool('echo'), tool('add'), prompt];
  assert.deepEqual(seen(['mcp.tool.name == "echo"'], items), ['echo']);
  assert.deepEqual(seen(['mcp.tool.name == "echo"', 'mcp.prompt.name == "hello"'], items), ['echo', 'hello']);
  assert.deepEqual(seen(['mcp.tool.target == "everything"'], items), ['echo', 'add']);
  assert.deepEqual(seen(['mcp.tool.name == "echo" && jwt.a == 1'], items, { a: 1 }), ['echo']);
  assert.deepEqual(seen(['mcp.tool.name == "echo" && jwt.a == 1'], items, { a: 2 }), []);
  assert.deepEqual(seen(['mcp.tool.name != "echo"'], items), ['add']);
});

test('a deny about tools hides that tool, not every prompt; a deny that really fails hides all', () => {
  const items = [tool('echo'), tool('add'), prompt];
  assert.deepEqual(seen([{ deny: 'mcp.tool.name == "echo"' }], items), ['add', 'hello']);
  assert.deepEqual(seen([{ deny: 'mcp.tool.name == "echo" || mcp.prompt.name == "hello"' }], items), ['add']);
  assert.deepEqual(seen([{ deny: 'mcp.tool.name == "echo" && jwt.missing == 1' }], items), ['add', 'hello']);
  assert.deepEqual(seen([{ deny: 'jwt.missing == 1 || mcp.tool.name == "echo"' }], items), []);
});

test('a deny that fails denies each item whose name decides it, whatever kinds it reads at once', () => {
  const items = [tool('drop', 'hr'), tool('add'), prompt];
  const everyTarget = '[mcp.tool.target, mcp.prompt.target, mcp.resource.target]';
  for (const expression of [
    `${everyTarget}.exists(t, t == "hr")`,
    `"hr" in ${everyTarget}`,
    `${everyTarget}.exists(t, t == "hr") && jwt.a == 1`,
    'mcp.tool.target + mcp.prompt.target == "hr"',
    '[mcp.tool.name, mcp.prompt.name].exists(n, n == "drop") ? jwt.a == 1 : false',
  ])
    assert.deepEqual(seen([{ deny: expression }], items, { a: 1 }), ['add', 'hello'], expression);
  // The empty name of the other kind is no "add", either: such a rule refuses more than it should.
  assert.deepEqual(seen([{ deny: '!("add" in [mcp.tool.name, mcp.prompt.name])' }], items), ['add']);
  assert.deepEqual(seen([{ deny: '[mcp.tool.name, mcp.prompt.name].exists(n, n != "add")' }], items), []);
});

test('a deny about prompts says nothing about tools, although no tool has the name of the prompt', () => {
  const items = [tool('drop'), tool('add'), prompt];
  for (const expression of [
    'mcp.prompt.name != "public"',
    '!(mcp.prompt.name in ["public", "other"])',
    '[mcp.prompt.name].exists(n, n != "public")',
    'mcp.prompt.name != "public" && mcp.prompt.target != "other" && !has(jwt.missing)',
  ])
    assert.deepEqual(seen([{ deny: expression }], items), ['drop', 'add'], expression);
  const either = { deny: 'mcp.tool.name == "drop" || mcp.prompt.name != "public"' };
  assert.deepEqual(seen([either], items), ['add']);
});

test('in a mixed set a rule without mcp.* is a gate only where no item rule could still allow', () => {
  const mixed = [{ allow: 'jwt.admin == true' }, { allow: 'mcp.tool.name == "echo"' }];
  const items = [tool('echo'), tool('add')];
  assert.deepEqual(seen(mixed, items, { admin: true }), ['echo', 'add']);
  assert.deepEqual(seen(mixed, items, { admin: false }), ['echo']);
  // The deny and the only allow are about the caller: they also close the door.
  const gated = [{ allow: '"g" in jwt.groups' }, { deny: 'mcp.tool.name == "add"' }];
  assert.deepEqual(seen(gated, items, { groups: ['g'] }), ['echo']);
  assert.throws(() => seen(gated, items, { groups: [] }), GatewayError);
  assert.throws(
    () => seen([{ deny: 'jwt.bad == true' }, 'mcp.tool.name == "echo"'], items, { bad: true }),
    GatewayError,
  );
});

test('items are never more open than by the rules taken one by one', () => {
  const expressions = [
    'jwt.a == 1',
    'jwt.b == 1',
    'mcp.tool.name == "echo"',
    'mcp.prompt.name == "hello"',
    'jwt.none == 1',
  ];
  const effects = ['allow', 'deny', 'require'] as const;
  const items = [tool('echo'), tool('add'), prompt];
  const truth = (expression: string, item: McpItem, claims: Record<string, unknown>): boolean => {
    if (expression.startsWith('jwt.')) return claims[expression.slice(4, -5)] === 1;
    return expression === `mcp.${item.kind}.name == "${item.name}"`;
  };
  let sets = 0;
  for (const one of expressions)
    for (const two of expressions)
      for (const first of effects)
        for (const second of effects)
          for (const claims of [{}, { a: 1 }, { a: 0, b: 1 }]) {
            sets += 1;
            const rules = [{ [first]: one }, { [second]: two }];
            let shown: string[] = [];
            try {
              shown = seen(rules, items, claims);
            } catch (error) {
              assert.ok(error instanceof GatewayError);
            }
            const list = [
              { effect: first, expression: one },
              { effect: second, expression: two },
            ];
            for (const item of items) {
              const is = (effect: string) => list.filter((rule) => rule.effect === effect);
              const holds = (rule: { expression: string }): boolean => truth(rule.expression, item, claims);
              const open =
                !is('deny').some(holds) &&
                is('require').every(holds) &&
                (is('allow').length === 0 || is('allow').some(holds));
              if (!open) assert.ok(!shown.includes(item.name), JSON.stringify({ rules, item, claims }));
            }
          }
  assert.equal(sets, 675);
});

test('a rule that comes out differently each time is asked each time, also about one caller', () => {
  const caller = who({ a: 1 });
  const steps = prepared(authorization, { rules: ['jwt.a == 1 && random() < 0.5'] });
  const answers = new Set<boolean>();
  for (let i = 0; i < 200 && answers.size < 2; i++) {
    try {
      assert.equal(steps.onRequest?.(new FakeExchange({ identity: caller })), undefined);
      answers.add(true);
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      answers.add(false);
    }
  }
  assert.equal(answers.size, 2);
});

const spaces = ' '.repeat(60_000);
/** Looks at all of the header for each of its parts. */
const dear = 'request.headers["x-list"].split(",").all(x, size(request.headers["x-team"]) > 0)';
const large = (): FakeExchange =>
  new FakeExchange({
    headers: [
      ['x-team', spaces],
      ['x-list', 'a,'.repeat(2000)],
    ],
    identity: who({}),
  });

test('a rule that spends the budget of its request does not allow, denies, and is named with the limit', () => {
  for (const rule of [{ allow: dear }, { deny: `!(${dear})` }, { require: dear }]) {
    const exchange = large();
    const { onRequest } = prepared(authorization, { rules: [{ ...rule, name: 'dear' }] });
    assert.throws(
      () => onRequest?.(exchange),
      (error) =>
        error instanceof GatewayError &&
        error.code === 'authorization_denied' &&
        /^rule: dear \(the expressions of one request may take 1000000 units of work\)$/.test(
          error.detail ?? '',
        ),
    );
    assert.match(String(exchange.annotations.expressionLimit), /^dear: the expressions of one request/);
  }
});

test('the rules of a request share one budget over all its items', () => {
  const rules = ['mcp.tool.name != "" && request.headers["x-list"].split(",").size() > 0'];
  const allows = allowsItem(prepared(mcpAuthorization, { rules }));
  const exchange = large();
  const first = allows(exchange, tool('tool0'));
  assert.equal(first, true);
  const before = exchange.workLeft;
  const shown = Array.from({ length: 5000 }, (_, i) => allows(exchange, tool(`tool${i}`)));
  assert.ok(exchange.workLeft < 0 && before > 0);
  assert.ok(
    shown.lastIndexOf(true) < shown.indexOf(false),
    'all that come after the budget is spent are hidden',
  );
  assert.match(String(exchange.annotations.expressionLimit), /units of work/);
  assert.equal(allows(large(), tool('tool0')), true, 'another request has a budget of its own');
});

test('a verdict of a request with an exhausted budget is not cached', () => {
  for (const rule of [
    { deny: 'mcp.tool.name == "hidden"' },
    { allow: 'jwt.a == 1 && mcp.tool.name == "shown"' },
  ]) {
    const allows = allowsItem(prepared(mcpAuthorization, { rules: [rule] }));
    const identity = who({ a: 1 });
    const spent = new FakeExchange({ identity });
    spent.workLeft = 5;
    assert.equal(allows(spent, tool('shown')), false);
    assert.equal(allows(new FakeExchange({ identity }), tool('shown')), true);
  }
  const { onRequest } = prepared(authorization, { rules: ['jwt.a == 1'] });
  const identity = who({ a: 1 });
  const spent = new FakeExchange({ identity });
  spent.workLeft = 5;
  assert.throws(() => onRequest?.(spent), GatewayError);
  assert.equal(onRequest?.(new FakeExchange({ identity })), undefined);
});

test('rules about items judge every reading of the path', () => {
  const allows = allowsItem(
    prepared(mcpAuthorization, {
      rules: ['mcp.tool.name == "echo" && !request.path.startsWith("/internal")'],
    }),
  );
  const sees = (target: string): boolean =>
    allows(new FakeExchange({ target, identity: who({}) }), tool('echo'));
  assert.equal(sees('/mcp'), true);
  assert.equal(sees('/mcp%2Fa'), true);
  for (const target of ['/internal', '//internal', '/%2Finternal', '/;a/internal'])
    assert.equal(sees(target), false, target);
});
