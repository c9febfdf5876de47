import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { expand } from './variables.ts';

const env = { A: 'one', B_2: 'two', EMPTY: '', HOME: '/home/me', DOLLAR: '$A' };

test('every form of reference is replaced, and every other dollar stays', () => {
  const cases: [string, string][] = [
    ['$A', 'one'],
    ['${A}', 'one'],
    ['x${A}y$B_2-z', 'xoneytwo-z'],
    ['${NONE:-fallback}', 'fallback'],
    ['${NONE:-}', ''],
    ['${EMPTY:-fallback}', 'fallback'],
    ['${A:-fallback}', 'one'],
    ['${NONE:-a:b -c}', 'a:b -c'],
    ['$EMPTY', ''],
    ['$$A', '$A'],
    ['$$$A', '$one'],
    ['^/a$', '^/a$'],
    ['$', '$'],
    ['$1 $( $-', '$1 $( $-'],
    ['~/x', '/home/me/x'],
    ['~', '~'],
    ['a~/x', 'a~/x'],
    ['$DOLLAR', '$A'],
    ['${NONE:-$A}', '$A'],
  ];
  for (const [text, expected] of cases) {
    const { text: expanded, faults } = expand(text, env);
    assert.deepEqual([expanded, faults], [expected, []], text);
  }
});

test('faults name the variable and where it stands', () => {
  const faults = (text: string): [number, string][] =>
    expand(text, env).faults.map(({ offset, message }) => [offset, message]);
  assert.deepEqual(faults('a $NONE ${ALSO}'), [
    [2, 'the environment variable NONE is not set'],
    [8, 'the environment variable ALSO is not set'],
  ]);
  assert.deepEqual(faults('a ${A'), [[2, '${ is not closed']]);
  assert.deepEqual(faults('${A-b}'), [[0, '${…} is not a variable']]);
  assert.deepEqual(faults('${}'), [[0, '${…} is not a variable']]);
});

test('the rest of a password or of a hash behind a dollar is not quoted', () => {
  const stray = 'a $ in this value begins the name of an environment variable that is not set';
  for (const text of ['pa$hunter2secret', 'pa$HUNTER2', 'bob:$2y$10$abcdefABCDEF./x', 'a$$b$c', '$a$b'])
    for (const { message, hint } of expand(text, env).faults)
      assert.deepEqual([message, hint], [stray, 'write $$ for a dollar, or set the variable'], text);
  assert.deepEqual(
    expand('pa${hunter2-secret}', env).faults.map(({ message }) => message),
    ['${…} is not a variable'],
  );
  for (const text of ['$hunter', '${hunter}', 'x${hunter}y', 'Bearer $HUNTER', '$HUNTER:x'])
    assert.match(expand(text, env).faults[0]!.message, /^the environment variable hunter is not set$/i, text);
});

test('names of things that every object has are not variables', () => {
  assert.equal(expand('$constructor', {}).faults.length, 1);
  assert.equal(expand('${toString:-x}', {}).text, 'x');
});

test('an offset in the result leads back to where its character came from', () => {
  const { text, origin } = expand('ab${A}cd$$ef', env);
  assert.equal(text, 'abonecd$ef');
  assert.deepEqual(
    [...text].map((_, offset) => origin(offset)),
    [0, 1, 2, 2, 2, 6, 7, 8, 10, 11],
  );
});

test('a text whose dollars are doubled comes out as it was', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      fc.pre(!text.startsWith('~/'));
      assert.equal(expand(text.replaceAll('$', '$$$$'), env).text, text);
    }),
  );
});
