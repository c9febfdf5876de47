import assert from 'node:assert/strict';
import { test } from 'node:test';
import { membersToBeTrue } from './memberChoice.ts';

const of = (source: string): string => [...membersToBeTrue(source, 'x', ['a', 'b', 'c'])].sort().join('');

test('the members with which an expression can be true', () => {
  for (const [source, members] of [
    ['x.a.n == "1"', 'a'],
    ['"1" in x.a.list && other == 1', 'a'],
    ['x.a.n == "1" && x.b.n == "2"', ''],
    ['x.a.n == x.b.n', ''],
    ['x.a.n == "1" || x.b.n == "2"', 'ab'],
    ['(x.a.n == "1" || x.b.n == "2") && x.b.m', 'b'],
    ['has(x.a)', 'a'],
    ['!has(x.a)', 'bc'],
    ['has(x.a) && x.b.n == "2"', ''],
    ['!has(x.a) || x.a.n == "1"', 'abc'],
    ['!(x.a.n == "1")', 'a'],
    ['!(x.a.n == "1" || x.b.n == "2")', ''],
    ['!(x.a.n == "1" && x.b.n == "2")', 'ab'],
    ['has(x.a) && !has(x.a)', ''],
    ['other == 1', 'abc'],
    ['has(x.a.n) && x.b.n == "1"', 'b'],
    ['x["a"].n == "1" && x.b["n"] == "2"', ''],
    ['[x.a.n, x.b.n].exists(n, n == "1")', ''],
    ['x.a.list.all(n, n == x.b.n)', 'a'],
  ] as const)
    assert.equal(of(source), members, source);
});

test('parts that can do without a value need no member', () => {
  for (const source of [
    'default(x.a.n, "") == "" ',
    'other ? x.a.n == "1" : x.b.n == "2"',
    'list.exists(n, n == x.a.n || n == 1)',
    'x.with(y, has(y.a))',
    '"a" in x',
    'x ==',
  ])
    assert.equal(of(source), 'abc', source);
});
