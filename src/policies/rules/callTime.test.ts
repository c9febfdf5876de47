import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ItemCall, ItemRefusal, McpItem } from '../../mcp/contract.ts';
import { itemMethods } from '../../mcp/items/items.ts';
import { readPlain } from '../../mcp/json/plainValue.ts';
import { clientRequests } from '../../mcp/messages/mcpMethods.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { mcpAuthorization } from '../mcpAuthorization/index.ts';
import type { Identity } from '../policy.ts';
import { prepared } from '../tools.testing.ts';

const who = (claims: Record<string, unknown>): Identity => ({ issuer: 'i', subject: 's', claims });
const tool = (name: string, target = 'files'): McpItem => ({ kind: 'tool', target, name });
const prompt: McpItem = { kind: 'prompt', target: 'files', name: 'hello' };

/** A `tools/call` with arguments as JSON text. */
const callWith = (text: string, more: Partial<ItemCall> = {}): ItemCall => ({
  method: 'tools/call',
  sessionId: undefined,
  readArguments: (reading) => readPlain(text, { start: 0, end: text.length }, reading),
  ...more,
});

function judge(rules: readonly unknown[], claims: Record<string, unknown> = {}) {
  const { refuseMcpItem } = prepared(mcpAuthorization, { rules });
  if (refuseMcpItem === undefined) throw new Error('no rule is about items');
  const exchange = new FakeExchange({ identity: who(claims) });
  const refusal = (item: McpItem, call?: ItemCall): ItemRefusal | undefined =>
    refuseMcpItem(exchange, item, call);
  return {
    exchange,
    refusal,
    sees: (item: McpItem): boolean => refusal(item) === undefined,
    may: (item: McpItem, call: string | ItemCall): boolean =>
      refusal(item, typeof call === 'string' ? callWith(call) : call) === undefined,
  };
}

test('an allow rule about arguments lets a list show the tool, and decides each call', () => {
  const { sees, may } = judge(['mcp.tool.name == "read" && mcp.tool.arguments.path.startsWith("/public/")']);
  assert.equal(sees(tool('read')), true);
  assert.equal(sees(tool('write')), false);
  assert.equal(sees(prompt), false);
  assert.equal(may(tool('read'), '{"path":"/public/a"}'), true);
  assert.equal(may(tool('read'), '{"path":"/etc/a"}'), false);
  assert.equal(may(tool('read'), '{}'), false);
  assert.equal(may(tool('read'), '{"path":["/public/"]}'), false);
  assert.equal(may(tool('write'), '{"path":"/public/a"}'), false);
});

test('a deny rule about arguments hides no tool, refuses calls, and says nothing about prompts', () => {
  const { sees, may, refusal } = judge([{ deny: 'mcp.tool.arguments.force == true', name: 'no force' }]);
  assert.equal(sees(tool('push')), true);
  assert.equal(may(tool('push'), '{"force":false}'), true);
  assert.deepEqual(refusal(tool('push'), callWith('{"force":true}')), {
    policy: 'mcpAuthorization',
    rule: 'no force',
    place: '.rules[0]',
  });
  assert.equal(may(tool('push'), '{}'), false, 'a deny rule that fails refuses');
  assert.equal(sees(prompt), true);
  assert.equal(may(prompt, { method: 'prompts/get', sessionId: undefined }), true);
});

test('a list hides a tool only where no arguments could permit it', () => {
  const known = [{ deny: 'mcp.tool.name == "drop" || mcp.tool.arguments.force == true' }];
  assert.equal(judge(known).sees(tool('drop')), false);
  assert.equal(judge(known).sees(tool('push')), true);
  const either = ['mcp.tool.arguments.a == 1', 'jwt.admin == true'];
  assert.equal(judge(either).sees(tool('x')), true);
  const required = [{ require: 'jwt.admin == true' }, { require: 'mcp.tool.arguments.a == 1' }];
  assert.equal(judge(required, { admin: false }).sees(tool('x')), false);
  assert.equal(judge(required, { admin: true }).sees(tool('x')), true);
});

test('a rule sees the method, the session and the task of a request', () => {
  const reads = judge(['mcp.resource.name.startsWith("file://") && mcp.methodName == "resources/read"']);
  const resource: McpItem = { kind: 'resource', target: 'files', name: 'file:///a' };
  assert.equal(reads.sees(resource), true);
  assert.equal(reads.may(resource, { method: 'resources/read', sessionId: undefined }), true);
  assert.equal(reads.may(resource, { method: 'resources/subscribe', sessionId: undefined }), false);
  const inSession = judge([{ require: 'has(mcp.tool) && has(mcp.sessionId)' }]);
  assert.equal(inSession.sees(tool('x')), true);
  assert.equal(inSession.may(tool('x'), '{}'), false);
  assert.equal(inSession.may(tool('x'), callWith('{}', { sessionId: 'abc' })), true);
  const tasks = judge([{ deny: 'mcp.task.target == "files" && mcp.methodName == "tasks/cancel"' }]);
  const about = (method: string): ItemCall => ({
    method,
    sessionId: undefined,
    task: { name: '7', target: 'files' },
  });
  assert.equal(tasks.sees(tool('x')), true);
  assert.equal(tasks.may(tool('x'), '{}'), true, 'a call without a task is none of this rule');
  assert.equal(tasks.may(tool('x'), about('tasks/get')), true);
  assert.equal(tasks.may(tool('x'), about('tasks/cancel')), false);
});

test('a value of the call may decide whether the item matters to a deny that fails, so a list shows the item', () => {
  const { sees, may } = judge([
    {
      deny: '(mcp.tool.name == "drop" || mcp.methodName == "tools/call") && [mcp.prompt.name].all(n, n == "")',
    },
  ]);
  assert.equal(may(tool('drop'), '{}'), true, 'the rule would be true for each tool');
  assert.equal(may(tool('drop'), callWith('{}', { method: 'tasks/get' })), false);
  assert.equal(sees(tool('drop')), true);
});

test('a request about a task keeps the permission that the arguments of its call got', () => {
  const { may } = judge(['mcp.tool.name == "read" && mcp.tool.arguments.path == "/a"']);
  const about: ItemCall = {
    method: 'tasks/get',
    sessionId: undefined,
    task: { name: '7', target: 'files' },
  };
  assert.equal(may(tool('read'), about), true);
  assert.equal(may(tool('write'), about), false);
});

test('a rule that uses mcp as a whole decides calls, and hides nothing', () => {
  for (const rule of ['size(mcp.tool) == 3', '"tool" in mcp', 'mcp.with(m, has(m.tool))']) {
    const { sees, may } = judge([rule]);
    assert.equal(sees(tool('x')), true, rule);
    assert.equal(sees(prompt), true, rule);
    assert.equal(may(tool('x'), '{}'), true, rule);
    assert.equal(may(prompt, { method: 'prompts/get', sessionId: undefined }), false, rule);
  }
  const denied = judge([{ deny: '"prompt" in mcp' }]);
  assert.equal(denied.may(prompt, { method: 'prompts/get', sessionId: undefined }), false);
});

test('arguments with more than one reading are refused, whatever the rules say of them', () => {
  const { refusal, may } = judge([
    { deny: 'has(mcp.tool.arguments.path) && mcp.tool.arguments.path == "/etc"' },
  ]);
  assert.equal(may(tool('x'), '{"other":1}'), true);
  for (const text of ['{"path":"/a","path":"/etc"}', '{"Path":"/etc"}', '{"a":{"b":1,"b":2}}'])
    assert.match(refusal(tool('x'), callWith(text))?.fault ?? '', /repeated|in case only/, text);
});

test('an argument may differ in case from a word of a rule that names no argument', () => {
  const { may, refusal } = judge([
    { deny: 'mcp.tool.name == "drop" && mcp.tool.arguments.force == true && jwt.team.lead == "x"' },
  ]);
  for (const text of [
    '{"Name":"x"}',
    '{"tags":[{"Tool":1}]}',
    '{"MCP":{"Arguments":1}}',
    '{"Lead":1,"JWT":2}',
  ])
    assert.equal(may(tool('create'), text), true, text);
  for (const text of ['{"Force":true}', '{"a":{"FORCE":true}}', '{"Drop":1}'])
    assert.match(refusal(tool('create'), callWith(text))?.fault ?? '', /in case only/, text);
});

test('arguments draw on the budget of their request, also in the last call of a batch', () => {
  const { exchange, may, refusal } = judge([{ deny: 'mcp.tool.arguments.n == 1' }]);
  const large = JSON.stringify({ n: 2, list: Array.from({ length: 20_000 }, (_, i) => i) });
  const before = exchange.workLeft;
  assert.equal(may(tool('x'), large), true);
  assert.ok(before - exchange.workLeft > 20_000 * 15);
  assert.equal(may(tool('x'), large), true);
  assert.match(refusal(tool('x'), callWith(large))?.fault ?? '', /too large to be judged/);
  assert.equal(judge([{ deny: 'mcp.tool.name == "y"' }]).may(tool('x'), large), true);
});

test('the same caller gets another answer with other arguments', () => {
  const { may } = judge(['mcp.tool.arguments.n == 1']);
  for (const n of [1, 2, 1, 3, 1]) assert.equal(may(tool('x'), `{"n":${n}}`), n === 1);
});

test('whole numbers equal whole numbers, whatever they are written like', () => {
  const { may } = judge(['mcp.tool.arguments.n <= 9007199254740993']);
  assert.equal(may(tool('x'), '{"n":9007199254740993}'), true);
  assert.equal(may(tool('x'), '{"n":9007199254740994}'), false);
  assert.equal(may(tool('x'), '{"n":1.0}'), true);
});

test('a rule about a method that names no item is refused at load', () => {
  const problemsOf = (rule: unknown): string =>
    JSON.stringify(mcpAuthorization.schema.safeParse({ rules: [rule] }).error?.issues ?? []);
  assert.match(problemsOf('mcp.methodName == "tools/list"'), /rules judge no request of method tools\/list/);
  assert.match(problemsOf({ deny: 'mcp.methodName in ["tools/call", "ping"]' }), /of method ping/);
  const named = [...itemMethods, ...[...clientRequests].filter((method) => method.startsWith('tasks/'))];
  for (const method of named)
    if (method !== 'tasks/list') assert.equal(problemsOf(`mcp.methodName == "${method}"`), '[]', method);
});

// Properties

const names = ['read', 'write', 'drop'];
const aboutItems = fc.oneof(
  fc.constantFrom(...names).map((name) => `mcp.tool.name == "${name}"`),
  fc.constantFrom('files', 'other').map((name) => `mcp.tool.target == "${name}"`),
  fc.constantFrom('has(mcp.tool)', 'has(mcp.prompt)', 'mcp.prompt.name == "hello"', 'true'),
  fc.constantFrom(
    'mcp.prompt.name != "public"',
    '[mcp.tool.name, mcp.prompt.name].exists(n, n == "drop")',
    '"files" in [mcp.tool.target, mcp.prompt.target, mcp.resource.target]',
    '[mcp.prompt.name].all(n, n == "")',
  ),
  fc.constantFrom('jwt.admin == true', 'has(jwt.missing)', 'jwt.missing == 1', '"a" in jwt.groups'),
);
const aboutCalls = fc.oneof(
  fc.constantFrom('path', 'n', 'other').map((name) => `has(mcp.tool.arguments.${name})`),
  fc.integer({ min: 0, max: 2 }).map((n) => `mcp.tool.arguments.n == ${n}`),
  fc.constantFrom('mcp.tool.arguments.path.startsWith("/a")', '"path" in mcp.tool.arguments'),
  fc.constantFrom('mcp.methodName == "tools/call"', 'has(mcp.sessionId)', 'has(mcp.task)'),
  fc.constantFrom('size(mcp.tool) == 3', 'mcp.tool.arguments.exists(k, k == "n")'),
);

/** Conditions that are made of the parts. */
const conditionsOf = (part: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.letrec<{ any: string }>((tie) => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      part,
      fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} && ${b})`),
      fc.tuple(tie('any'), tie('any')).map(([a, b]) => `(${a} || ${b})`),
      tie('any').map((a) => `!(${a})`),
      fc.tuple(tie('any'), tie('any'), tie('any')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    ),
  })).any;

const ruleSets = (part: fc.Arbitrary<string>): fc.Arbitrary<object[]> =>
  fc.array(
    fc.tuple(fc.constantFrom('allow', 'deny', 'require'), conditionsOf(part)).map(([effect, source]) => ({
      [effect]: source,
    })),
    { minLength: 1, maxLength: 4 },
  );

const items = fc.oneof(
  fc
    .tuple(fc.constantFrom(...names), fc.constantFrom('files', 'other'))
    .map(([name, target]) => tool(name, target)),
  fc.constant(prompt),
);
const claims = fc.record({ admin: fc.boolean(), groups: fc.subarray(['a', 'b']) });
const argument = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom('/a', '/b'), fc.boolean());
const givenArguments = fc
  .dictionary(fc.constantFrom('path', 'n', 'other'), argument)
  .map((given) => JSON.stringify(given));

/** The judge of rules that are all accepted and of which one is about items; undefined for other rules. */
function judgeOf(
  rules: readonly object[],
  of: Record<string, unknown>,
): ReturnType<typeof judge> | undefined {
  if (!mcpAuthorization.schema.safeParse({ rules }).success) return undefined;
  return rules.some((rule) => JSON.stringify(rule).includes('mcp.')) ? judge(rules, of) : undefined;
}

const callOf = (item: McpItem, text: string): ItemCall =>
  item.kind === 'tool' ? callWith(text) : { method: 'prompts/get', sessionId: undefined };

test('rules without variables of a call decide lists and calls alike', () => {
  let judged = 0;
  fc.assert(
    fc.property(ruleSets(aboutItems), claims, items, givenArguments, (rules, of, item, text) => {
      const found = judgeOf(rules, of);
      if (found === undefined) return;
      judged++;
      assert.equal(found.sees(item), found.may(item, callOf(item, text)), JSON.stringify(rules));
    }),
    { numRuns: 300 },
  );
  assert.ok(judged > 75, `${judged} rule sets were judged`);
});

test('an item that a list hides is refused with all arguments', () => {
  let hidden = 0;
  fc.assert(
    fc.property(
      ruleSets(fc.oneof(aboutItems, aboutCalls)),
      claims,
      items,
      fc.array(givenArguments, { minLength: 1, maxLength: 4 }),
      (rules, of, item, texts) => {
        const found = judgeOf(rules, of);
        if (found === undefined || found.sees(item)) return;
        hidden++;
        for (const text of texts)
          assert.equal(found.may(item, callOf(item, text)), false, `${JSON.stringify(rules)} ${text}`);
      },
    ),
    { numRuns: 500 },
  );
  assert.ok(hidden > 33, `${hidden} items were hidden`);
});
