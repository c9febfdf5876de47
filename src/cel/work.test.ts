import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costed } from './evaluate/costs.ts';
import { environment } from './evaluate/library.ts';
import {
  celLimits,
  compile,
  isProblem,
  newMeter,
  toCel,
  WorkSpent,
  type CelContext,
  type Members,
} from './index.ts';

/** The most that an accepted request may hold: a head of 64 KiB, in the worst of forms. */
const length = 60_000;
const spaces = ' '.repeat(length);
const parts = Array.from({ length: 9000 }, (_, i) => `part${i % 7}`);

const members: Members = {
  headers: { kind: 'headers' },
  text: { kind: 'value', type: 'string' },
  part: { kind: 'value', type: 'string' },
  list: { kind: 'value', type: 'list' },
  map: { kind: 'value', type: 'dyn' },
};
const worst: CelContext = {
  headers: new Map<string, CelContext[string]>([
    ['x-team', spaces],
    ['x-list', 'a,'.repeat(2000)],
  ]),
  text: spaces,
  part: spaces.slice(length / 2),
  list: toCel(parts),
  map: toCel(Object.fromEntries(parts.map((_, i) => [`k${i}`, 'v']))),
};

/** Runs an expression on a budget of its own. */
function run(source: string, context: CelContext = worst): { value: unknown; units: number } {
  const program = compile(source, members);
  if (isProblem(program)) assert.fail(`${source}: ${program.message}`);
  const meter = newMeter();
  const value = program.run(context, meter);
  return { value, units: celLimits.work - meter.workLeft };
}

test('every function of the library has a cost', () => {
  const without = [...environment.funcs].map(({ name }) => name).filter((name) => !costed.has(name));
  assert.deepEqual(without, []);
});

test('a replacement takes work in proportion to its text', () => {
  const { value, units } = run('headers["x-team"].replace(" ", "-").startsWith("--")');
  assert.equal(value, true);
  assert.ok(units < 12 * length, `${units}`);
  assert.equal(run('"a.b.c".replace(".", "--", 1) + "abc".replace("", "-") == "a--b.c-a-b-c-"').value, true);
});

test('superlinear work and large results use up the budget', () => {
  const sources = [
    'text.replace(" ", part) == ""',
    'list.all(x, headers.split()["x-list"].size() > 0)',
    'list.all(x, json("[1,2,3]") != 1)',
    'list.all(x, size(text) > 0)',
    'list.all(x, "zz" in list || true)',
    'list.all(x, x in list)',
    'list.all(x, text + x != text)',
    'list.all(x, text.startsWith(text))',
    'list.all(x, text.upperAscii() != "")',
    'list.all(x, map == map.merge(map))',
    'list.all(x, toJson(list) != "")',
    'list.all(x, (text + "a").contains(part + "b") || true)',
    'list.all(x, text.lastIndexOf("b" + part) < 0)',
    'list.all(x, x.matches("(a|b)*" + x) || true)',
    'list.all(x, "%f".format([1.5]) != "")',
    'int(text + "1") > 0',
    'text.with(a, (a + a + a + a).with(b, (b + b + b + b).with(c, (c + c + c + c).with(d, (d + d + d + d).contains("x")))))',
    '[list, list, list].with(a, [a, a, a].with(b, [b, b, b].with(c, [c, c, c].with(d, toJson([d, d, d]) == ""))))',
  ];
  for (const source of sources) {
    const { value } = run(source);
    assert.ok(value instanceof WorkSpent && value.first, `${source}: ${String(value)}`);
    const hidden = run(`default(${source}, true) || true`).value;
    assert.ok(hidden instanceof WorkSpent, `${source}: neither default nor || hides it`);
  }
});

test('searching for a long part takes a few units for each character', () => {
  const context = { ...worst, text: `${'a'.repeat(length)}b`, part: `${'a'.repeat(length / 2)}b` };
  for (const source of ['text.contains(part)', 'text.indexOf(part) == size(text) - size(part)']) {
    const { value, units } = run(source, context);
    assert.equal(value, true);
    assert.ok(units < 8 * length, `${source}: ${units}`);
  }
  const backwards = { ...worst, text: `b${'a'.repeat(length)}`, part: `b${'a'.repeat(length / 2)}` };
  assert.equal(run('text.lastIndexOf(part) == 0', backwards).value, true);
  assert.equal(run('"abcabcabc".lastIndexOf("abc", 5) == 3 && "abc".indexOf("") == 0').value, true);
  assert.equal(run('"x-a-b".lastIndexOf("-") == 3 && "abc".lastIndexOf("abcd") == -1').value, true);
});

test('padding of base64 and lists that a loop makes take linear work', () => {
  const padded = run('base64.decode(text) == b""', { ...worst, text: `${'='.repeat(length)}x` });
  assert.match(String(padded.value), /not base64/);
  const { value, units } = run('list.map(x, x + "!").filter(x, x != "part0!").size() < 9000', {
    ...worst,
    list: toCel(parts.slice(0, 4500)),
  });
  assert.equal(value, true);
  assert.ok(units < 60 * 4500, `${units}`);
});

test('a text that is too long for a pattern is a failure of that part', () => {
  assert.match(String(run('text.matches(" *")').value), /more than 8192 characters is not matched/);
  assert.match(String(run('text.matches(" " + "*")').value), /more than 8192 characters is not matched/);
  assert.match(String(run('text.regexReplace(" ", "") == ""').value), /more than 8192 characters/);
  assert.equal(run('text.matches(" *") || true').value, true);
});

test('a pattern whose program is too large is refused when the rule is compiled, and fails when data has it', () => {
  const problem = compile('text.matches("a{600}")', members);
  assert.ok(isProblem(problem));
  assert.match(problem.message, /too large: its program may have 500 instructions/);
  assert.match(String(run('"a".matches("a{600" + (text.startsWith(" ") ? "}" : ""))').value), /too large/);
});

test('expressions of one request share a budget, and the one that spends the rest is known', () => {
  const meter = newMeter();
  const program = compile('list.all(x, x != "")', members);
  const dear = compile('list.all(x, size(text) > 0)', members);
  assert.ok(!isProblem(program) && !isProblem(dear));
  assert.equal(program.run(worst, meter), true);
  const left = meter.workLeft;
  assert.ok(left < celLimits.work);
  assert.equal(program.run(worst, meter), true);
  assert.equal(meter.workLeft, 2 * left - celLimits.work);
  const spent = dear.run(worst, meter);
  assert.ok(spent instanceof WorkSpent && spent.first);
  const after = program.run(worst, meter);
  assert.ok(after instanceof WorkSpent && !after.first);
});

test('ordinary rules take little of the budget', () => {
  const ordinary: CelContext = { ...worst, text: '/api/users/12', list: toCel(['staff', 'admins']) };
  const sources = [
    '"admins" in list && text.startsWith("/api/")',
    'text.matches("^/api/users/[0-9]+$")',
    'list.exists(x, x == "admins") && !text.contains("..")',
  ];
  for (const source of sources) {
    const { value, units } = run(source, ordinary);
    assert.equal(value, true, source);
    assert.ok(units < 200, `${source}: ${units}`);
  }
});
