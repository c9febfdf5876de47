import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparedTexts } from './compared.ts';

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
