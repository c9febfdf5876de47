import assert from 'node:assert/strict';
import test from 'node:test';
import { nearest, suggestion } from './nearest.ts';

const names = ['port', 'listeners', 'clear_env', 'pathPrefix', 'exact', 'regex', 'mcpAuthentication'];

test('typing errors, other ways of writing and halves of a word find their field', () => {
  const cases: [string, string | undefined][] = [
    ['prot', 'port'],
    ['listner', 'listeners'],
    ['clearEnv', 'clear_env'],
    ['Port', 'port'],
    ['prefix', 'pathPrefix'],
    ['mcpAuthentification', 'mcpAuthentication'],
    ['regexp', 'regex'],
    ['something', undefined],
    ['a', undefined],
    ['', undefined],
  ];
  for (const [word, expected] of cases) assert.equal(nearest(word, names), expected, word);
});

test('an empty name is never suggested', () => {
  assert.equal(suggestion('a', ['']), 'none is defined');
  assert.equal(suggestion('a', ['', 'main']), 'defined: main');
});
