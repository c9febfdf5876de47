import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cachedBytes, compileRegex, compileUnits, regexLimits } from './index.ts';

/** Counts the units of work that `run` takes. */
function unitsOf(run: (spend: (units: number) => void) => unknown): number {
  let sum = 0;
  run((units) => (sum += units));
  return sum;
}

/** Letters a and b in an order that no few states describe. */
function noise(length: number): string {
  let state = 1;
  let text = '';
  for (let i = 0; i < length; i += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    text += (state >>> 16) & 1 ? 'a' : 'b';
  }
  return text;
}

const free = (): void => undefined;

test('an expression matches the whole text or a part of it, and replaces by groups', () => {
  const users = compileRegex('/users/[0-9]+');
  assert.equal(users.whole('/users/12', free), true);
  assert.equal(users.whole('/users/12/x', free), false);
  assert.equal(users.part('see /users/12', free), true);
  const word = compileRegex('([a-z])([0-9]+)|');
  assert.equal(word.replaceAll('a1 b22', '<$2$1>', free), '<1a><> <22b><>');
  assert.equal(compileRegex('b').replaceAll('abc', "[$`|$&|$'|$$]", free), 'a[a|b|c|$]c');
  assert.equal(compileRegex('é+').whole('éé', free), true);
});

test('an expression whose program is too large is refused before it costs anything', () => {
  const large = [
    'a{501}',
    '/(?:(?:a|aa|aaa|aaaa|.){0,30}){0,30}b',
    '\\pL{1000}',
    '(?:a?){1000}(?:b?){1000}',
    `(?:${'a{1000}'.repeat(400)})`,
    '[a\\]]{1000}',
    '(?i:x{30}){30}',
    '\\Qab\\E{600}',
  ];
  for (const source of large) {
    assert.throws(() => compileRegex(source), /too large: its program may have 500 instructions/, source);
    assert.ok(compileUnits(source) <= 5000 + 40_960 + 400_000);
  }
  assert.throws(() => compileRegex('a'.repeat(regexLimits.sourceLength + 1)), /longer than 4096 characters/);
});

test('ordinary expressions are small enough', () => {
  const ordinary = [
    '/users/[0-9]+',
    '.*\\.(?:png|jpe?g|gif|svg|webp)',
    '[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}',
    '(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})\\.){3}(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})',
    '\\pL[\\pL\\pN_-]{0,62}',
    '^{3}a',
    'a{2,}',
    'x{',
  ];
  for (const source of ordinary) assert.ok(compileRegex(source).size <= regexLimits.instructions, source);
});

test('a text that is too long is no match as a whole, and fails where a part is asked for', () => {
  const any = compileRegex('.*');
  assert.equal(any.whole('a'.repeat(regexLimits.subjectLength), free), true);
  assert.equal(any.whole('a'.repeat(regexLimits.subjectLength + 1), free), false);
  const long = 'a'.repeat(regexLimits.subjectLength + 1);
  assert.throws(() => any.part(long, free), /more than 8192 characters is not matched/);
  assert.throws(() => any.replaceAll(long, '', free), /more than 8192 characters is not matched/);
});

test('matching costs a unit a character, except where the expression has too many states', () => {
  const text = `/${noise(8000)}`;
  for (const source of ['/users/[0-9]+', '/(?:ab|b|a)*', '.*aab', '/[ab]*']) {
    const regex = compileRegex(source);
    regex.whole(text, free);
    assert.ok(unitsOf((spend) => regex.whole(text, spend)) < 2 * text.length, source);
  }
  const exploding = compileRegex('.*a.{480}c');
  for (let i = 0; i < 3; i += 1)
    assert.ok(unitsOf((spend) => exploding.whole(text, spend)) > exploding.size * text.length);
});

test('a budget that is spent stops a match before its slow part', () => {
  const exploding = compileRegex('.*a.{480}c');
  let left = 1_000_000;
  const spend = (units: number): void => {
    left -= units;
    if (left < 0) throw new Error('spent');
  };
  assert.throws(() => exploding.whole(noise(8000), spend), /spent/);
});

test('each replacement costs as much as its search', () => {
  const regex = compileRegex('a*b|');
  const units = unitsOf((spend) => regex.replaceAll('a'.repeat(1000), '', spend));
  assert.ok(units > (1000 * 1000) / 2, `${units}`);
  const copying = compileRegex('b');
  assert.ok(unitsOf((spend) => copying.replaceAll('b'.repeat(1000), "$'", spend)) > (1000 * 1000) / 2);
});

test('the caches of regular expressions are bounded, for each expression and for the process', () => {
  const text = noise(8000);
  for (let i = 0; i < 400; i += 1) {
    const regex = compileRegex(`.*a.{12}c${i}`);
    regex.whole(text, free);
    assert.ok(cachedBytes() <= regexLimits.allCachesBytes);
  }
});
