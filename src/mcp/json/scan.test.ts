import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Elements, Members, skipSpace, skipString, skipValue, splice } from './scan.ts';

/** JSON text with white space in any place where the grammar has it. */
const spaced = fc
  .tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t', '\r\n '))
  .map(([value, indent]) => JSON.stringify(value, null, indent));

test('a value is skipped exactly to its end, whatever follows', () => {
  fc.assert(
    fc.property(spaced, fc.constantFrom('', ',', ' ', '}', ']', '\n'), (text, after) => {
      assert.equal(skipValue(text + after, 0), text.length);
    }),
  );
});

test('members of any object are found in order with the spans of their values', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), spaced)), fc.constantFrom('', ' ', '\n\t'), (pairs, space) => {
      const text = `{${space}${pairs.map(([key, value]) => `${JSON.stringify(key)}${space}:${space}${value}`).join(`${space},${space}`)}${space}}`;
      const scan = new Members(text, 0);
      const found: [string, string][] = [];
      while (scan.next()) found.push([scan.key, text.slice(scan.start, scan.end)]);
      assert.equal(scan.broken, false);
      assert.equal(scan.after, text.length);
      assert.deepEqual(found, pairs);
    }),
  );
});

test('elements of any list are found in order', () => {
  fc.assert(
    fc.property(fc.array(spaced), (values) => {
      const text = `[ ${values.join(' , ')} ]`;
      const scan = new Elements(text, 0);
      const found: string[] = [];
      while (scan.next()) found.push(text.slice(scan.start, scan.end));
      assert.equal(scan.broken, false);
      assert.equal(scan.after, text.length);
      assert.deepEqual(found, values);
    }),
  );
});

test('on any text the scanner ends, stays within it and does not throw', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', '1', 'a', ' ') }),
  );
  fc.assert(
    fc.property(anything, (text) => {
      assert.ok(skipValue(text, 0) <= text.length);
      assert.ok(skipSpace(text, 0) <= text.length);
      for (const scan of [new Members(text, 0), new Elements(text, 0)]) {
        let rounds = 0;
        while (scan.next()) {
          assert.ok(scan.start < scan.end && scan.end <= text.length);
          assert.ok(++rounds <= text.length);
        }
      }
    }),
  );
});

test('a quote behind an odd number of backslashes does not end a string', () => {
  assert.equal(skipString(String.raw`"a\"b"`, 0), 6);
  assert.equal(skipString(String.raw`"a\\"b"`, 0), 5);
  assert.equal(skipString(String.raw`"a\\\"`, 0), -1);
});

test('a string of a million escaped quotes and a nesting of a million lists take no more than one pass', () => {
  const quotes = `"${String.raw`\"`.repeat(1_000_000)}"`;
  assert.equal(skipValue(quotes, 0), quotes.length);
  const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);
  assert.equal(skipValue(deep, 0), deep.length);
});

test('a key is compared after its escapes are read', () => {
  const scan = new Members(String.raw`{"\u0069d":1}`, 0);
  assert.equal(scan.next(), true);
  assert.equal(scan.key, 'id');
});

test('edits are done wherever they stand, in any order', () => {
  const edits = [
    { start: 4, end: 5, replacement: 'three' },
    { start: 0, end: 1, replacement: '' },
  ];
  assert.equal(splice('a b c', edits), ' b three');
});

test('a string ends at its first quote that is not escaped, however many are', () => {
  for (const body of [
    '',
    'a',
    '\\"',
    '\\\\',
    '\\\\\\"',
    `\\"${'x'.repeat(4_094)}\\"\\\\`,
    `\\"${'x'.repeat(4_095)}\\\\`,
    `\\"${'x'.repeat(4_096)}\\\\`,
    '\\"'.repeat(10_000),
    '\\\\'.repeat(10_000),
  ])
    for (const rest of ['', '"', ',"b"', '\\']) {
      const text = `"${body}"`;
      assert.equal(skipString(text + rest, 0), text.length, `${body.slice(0, 20)} ${rest}`);
      assert.equal(skipString(`"${body}\\"`, 0), -1);
      assert.equal(skipString(`"${body}`, 0), -1);
    }
});
