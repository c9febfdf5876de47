import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compile, isProblem, newMeter, unknownValue, type CelContext, type Members } from './index.ts';

const variables: Members = {
  call: {
    kind: 'object',
    members: {
      args: { kind: 'claims', absent: {} },
      name: { kind: 'value', type: 'string' },
      id: { kind: 'value', type: 'string' },
    },
  },
  list: { kind: 'value', type: 'list' },
};

function run(source: string, args: CelContext[string], id?: CelContext[string]): unknown {
  const program = compile(source, variables);
  if (isProblem(program)) throw new Error(`${source}: ${program.message}`);
  const call = new Map<string, CelContext[string]>([
    ['args', args],
    ['name', 'tool'],
  ]);
  if (id !== undefined) call.set('id', id);
  return program.run({ call, list: [1n, 2n, 3n] }, newMeter());
}

const outcome = (value: unknown): unknown => (value instanceof Error ? 'failure' : value);

test('an expression is unknown where an unknown value decides it, and known where it does not', () => {
  for (const [source, expected] of [
    ['call.args.x == 1', unknownValue],
    ['has(call.args.x)', unknownValue],
    ['call.args["x"] == 1', unknownValue],
    ['call.name == "tool" || call.args.x == 1', true],
    ['call.args.x == 1 || call.name == "tool"', true],
    ['call.name == "other" && call.args.x == 1', false],
    ['call.name == "tool" && call.args.x == 1', unknownValue],
    ['call.args.x == 1 && call.args.missing.y == 2', unknownValue],
    ['list[9] == 1 || call.args.x == 1', unknownValue],
    ['call.args.x == 1 || list[9] == 1', unknownValue],
    ['list[9] == 1 && call.name == "tool"', 'failure'],
    ['!(call.args.x == 1)', unknownValue],
    ['call.args.x == 1 ? true : true', unknownValue],
    ['call.name == "tool" ? call.args.x == 1 : true', unknownValue],
    ['default(call.args.x, 1) == 1', unknownValue],
    ['coalesce(list[9], call.args.x, 1) == 1', unknownValue],
    ['list.exists(n, n == call.args.x)', unknownValue],
    ['list.exists(n, n == 2 || n == call.args.x)', true],
    ['list.all(n, n < 3 && n != call.args.x)', false],
    ['list.filter(n, n == call.args.x).size() > 0', unknownValue],
    ['list.map(n, n + call.args.x) == [2]', unknownValue],
    ['[call.args.x] == [1]', unknownValue],
    ['{"a": call.args.x} == {"a": 1}', unknownValue],
    ['call.args.with(a, a.x == 1)', unknownValue],
    ['"x" in call.args', unknownValue],
    ['size(call.args) == 0', unknownValue],
    ['call.args.mapValues(v, 1).x == 1', unknownValue],
    ['call.id == "a"', unknownValue],
    ['has(call.id)', unknownValue],
    ['call.args.x.startsWith("/") && call.args.x.matches("^/a")', unknownValue],
    ['type(call.args.x) == string', unknownValue],
    ['string(call.args.x) == "1"', unknownValue],
    ['call.args.exists(k, k == "x")', unknownValue],
  ] as const)
    assert.equal(outcome(run(source, unknownValue, unknownValue)), expected, source);
});

test('a program names the objects that it uses as values of their own', () => {
  const wholesOf = (source: string): readonly string[] => {
    const program = compile(source, variables);
    return isProblem(program) ? assert.fail(program.message) : program.wholes;
  };
  assert.deepEqual(wholesOf('call.args.x == 1 && has(call.id) && call["name"] == "x"'), []);
  assert.deepEqual(wholesOf('call.name == "x" && size(call) == 2'), ['call']);
  assert.deepEqual(wholesOf('size(call) == 2 && call.name == "x"'), ['call']);
  assert.deepEqual(wholesOf('call.with(c, c.name == "x")'), ['call']);
  assert.deepEqual(wholesOf('"call" in variables()'), ['call']);
});

/** Random conditions over arguments, names and a list. */
const conditions = fc.letrec<{ value: string; bool: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      '1',
      '2',
      '"a"',
      'call.name',
      'call.args.x',
      'call.args.y',
      'call.args["x"]',
      'list[0]',
      'list[9]',
    ),
    fc.tuple(tie('bool'), tie('value'), tie('value')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    fc.tuple(tie('value'), tie('value')).map(([a, b]) => `default(${a}, ${b})`),
    fc.tuple(tie('value'), tie('value')).map(([a, b]) => `coalesce(${a}, ${b})`),
    fc.tuple(tie('value'), tie('value')).map(([a, b]) => `[dyn(${a}), dyn(${b})][1]`),
  ),
  bool: fc.oneof(
    { depthSize: 'small' },
    fc.tuple(tie('value'), tie('value')).map(([a, b]) => `dyn(${a}) == dyn(${b})`),
    fc.constantFrom('has(call.args.x)', '"y" in call.args', 'true', 'false', 'size(call.args) > 0'),
    fc.tuple(tie('bool'), tie('bool')).map(([a, b]) => `(${a} && ${b})`),
    fc.tuple(tie('bool'), tie('bool')).map(([a, b]) => `(${a} || ${b})`),
    tie('bool').map((a) => `!(${a})`),
    fc.tuple(tie('bool'), tie('bool'), tie('bool')).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
    tie('bool').map((a) => `list.exists(n, dyn(n) == dyn(call.args.x) || ${a})`),
    tie('bool').map((a) => `list.all(n, dyn(n) != dyn(call.args.y) && ${a})`),
    tie('bool').map((a) => `list.exists_one(n, dyn(n) == dyn(1) && ${a})`),
    tie('bool').map((a) => `list.filter(n, ${a}).size() > 1`),
    tie('value').map((a) => `list.map(n, dyn(${a})).size() > 1`),
    tie('bool').map((a) => `call.args.filterKeys(k, ${a}).size() == 0`),
    tie('value').map((a) => `call.args.with(a, dyn(a.x) == dyn(${a}))`),
  ),
}));

test('a result with unknown arguments is the result with any arguments', () => {
  const values = fc.oneof(fc.constantFrom(1n, 2n, 9n), fc.constantFrom('a', 'tool'), fc.constant(true));
  const given = fc
    .dictionary(fc.constantFrom('x', 'y', 'z'), values)
    .map((entries) => new Map(Object.entries(entries)));
  let known = 0;
  fc.assert(
    fc.property(conditions.bool, given, (source, args) => {
      const program = compile(source, variables);
      if (isProblem(program)) return;
      const without = outcome(run(source, unknownValue));
      if (without === unknownValue) return;
      known++;
      assert.equal(outcome(run(source, args)), without, source);
    }),
    { numRuns: 700 },
  );
  assert.ok(known > 35, `${known} results were known`);
});
