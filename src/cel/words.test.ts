import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile, isProblem, wordsFor, type Members } from './index.ts';

const variables: Members = {
  jwt: { kind: 'claims', absent: { rawToken: 'it is secret' } },
  request: {
    kind: 'object',
    members: {
      path: { kind: 'value', type: 'string' },
      headers: { kind: 'headers' },
      body: { kind: 'absent', why: 'nobody reads it' },
    },
  },
  response: { kind: 'absent', why: 'there is none' },
};
const words = wordsFor(variables);

const problemOf = (source: string): string => {
  const compiled = compile(source, variables);
  return isProblem(compiled) ? compiled.message : '';
};

test('words have the variables and their members, without those that have no value', () => {
  assert.deepEqual(words.variables, [
    { name: 'jwt', type: 'map' },
    { name: 'request', type: 'map' },
    { name: 'request.path', type: 'string' },
    { name: 'request.headers', type: 'map' },
  ]);
  for (const { name } of words.variables) assert.equal(problemOf(name), '', name);
});

test('an expression may call every function of the words, and no operator is among them', () => {
  assert.ok(words.functions.length > 80, String(words.functions.length));
  for (const { name, on, kind } of words.functions) {
    // The parser takes a macro with other arguments for a function.
    const macro = /^(?:has|all|exists|exists_one|filter|map)$/.test(name) && kind === 'macro';
    if (macro) continue;
    const call = on === undefined ? `${name}()` : `dyn(jwt).${name}()`;
    assert.doesNotMatch(problemOf(call), /unknown function/, call);
    assert.match(name, /^[A-Za-z][\w.]*$/);
  }
});

test('words have functions of the library and of the gateway, forms and macros, with their types', () => {
  const word = (name: string, on?: string) =>
    words.functions.find((each) => each.name === name && (on === undefined || each.on?.includes(on)));
  assert.deepEqual(word('startsWith'), {
    name: 'startsWith',
    kind: 'function',
    on: ['string'],
    signatures: ['string.startsWith(string) -> bool'],
  });
  assert.deepEqual(word('containsIP'), {
    name: 'containsIP',
    kind: 'function',
    on: ['cidr'],
    signatures: ['cidr.containsIP(string) -> bool'],
  });
  assert.deepEqual(word('math.abs')?.on, undefined);
  assert.deepEqual(word('split', 'map')?.on, ['string', 'map']);
  assert.deepEqual(word('default')?.signatures, ['default(a, b)']);
  assert.deepEqual(word('coalesce')?.signatures, ['coalesce(a, …)']);
  assert.deepEqual(word('mapValues', 'map')?.signatures, ['map.mapValues(x, value)']);
});

test('macros of the words work as their signatures say', () => {
  const calls = [
    ['has', 'has(jwt.sub)'],
    ['all', '[1].all(x, x == 1)'],
    ['exists', '[1].exists(x, x == 1)'],
    ['exists_one', '[1].exists_one(x, x == 1)'],
    ['filter', 'size([1].filter(x, x == 1)) == 1'],
    ['map', '[1].map(x, x == 1, x + 1) == [2] && [1].map(x, x + 1) == [2]'],
  ] as const;
  for (const [name, source] of calls) {
    assert.ok(
      words.functions.some((each) => each.name === name && each.kind === 'macro'),
      name,
    );
    assert.equal(problemOf(source), '', source);
  }
});
