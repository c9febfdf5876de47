import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparedTexts, namesIn } from './compared.ts';

const of = (source: string): readonly string[] => comparedTexts(source, new Set(['a.b.c', 'a.d']));

test('texts that a variable is compared with are found wherever they stand', () => {
  for (const [source, texts] of [
    ['a.b.c == "x"', ['x']],
    ['"x" != a.b.c', ['x']],
    ['a.d in ["x", "y"]', ['x', 'y']],
    ['a["b"].c == "x" || a.b["c"] == "y" || a["b"]["c"] == "z"', ['x', 'y', 'z']],
    ['has(a.b) && !(a.b.c == "x") ? a.d == "y" : true', ['x', 'y']],
    ['jwt.groups.exists(g, g == "admin" && a.b.c == "x")', ['x']],
    ['{"k": a.b.c == "x"}.k', ['x']],
    ['.a.b.c == "x"', ['x']],
  ] as const)
    assert.deepEqual(of(source), texts, source);
});

test('other comparisons and other expressions stay unchanged', () => {
  for (const source of [
    'a.b == "x"',
    'a.b.c.e == "x"',
    'a.b.c == jwt.team',
    'a.b.c.startsWith("x")',
    '"x" in a.b.c',
    'a.b.c == 1',
    'has(a.b.c)',
    'a.b.c ==',
    '',
  ])
    assert.deepEqual(of(source), [], source);
});

test('an expression looks up members of a variable by the names that do not belong to paths of other variables', () => {
  for (const [source, names] of [
    ['a.b.c.d == "x"', ['d', 'x']],
    ['has(a.b.c.d) && a["b"].c.e.f == 1', ['d', 'b', 'f', 'e']],
    ['a.d == "x" && jwt.sub == a.b.other', ['x']],
    ['a.b.c.all(k, k.n == jwt["k"].m)', ['n', 'k']],
    ['a.b.with(o, o.c.d)', ['d', 'c']],
    ['a.b.c.list.all(jwt, jwt.d)', ['list', 'd']],
    ['a.b.c.map(a, a.d.e)', ['b', 'c', 'd', 'e']],
    ['a.b.c.with(jwt, jwt.d)', ['d']],
  ] as const)
    assert.deepEqual([...namesIn(source, 'a.b.c')].sort(), [...names].sort(), source);
});
