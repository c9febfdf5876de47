import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Elements, Literal, readExact, type Exact, type Extent } from './exactJson.ts';

const all: Extent = { depth: Infinity, members: Infinity, elements: Infinity };

/** The value that `JSON.parse` makes of the same text. */
function plain(value: Exact): unknown {
  if (value instanceof Literal) return JSON.parse(value.text);
  if (typeof value === 'string') return value;
  if (value instanceof Elements) return value.values.map(plain);
  return Object.fromEntries(value.entries.map(([name, member]) => [name, plain(member)]));
}

/** Strings have what ends a string, an object or a list, and what escapes it. */
const unit = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', ' ', 'a', 'ü', '\n');
const values = fc.jsonValue({ stringUnit: unit, maxDepth: 6 });

test('every text is read as it was written, whatever blanks it has', () => {
  fc.assert(
    fc.property(values, fc.constantFrom('', ' ', '\t', '\r\n'), (value, blank) => {
      const text = `${blank}${JSON.stringify(value, undefined, blank)}${blank}`;
      assert.deepEqual(plain(readExact(text, all)), JSON.parse(text));
    }),
  );
});

test('members, elements and levels behind the extent are passed over and counted', () => {
  fc.assert(
    fc.property(fc.array(values, { maxLength: 8 }), (list) => {
      const one = readExact(JSON.stringify(list), { depth: 1, members: 2, elements: 2 });
      assert.ok(one instanceof Elements);
      assert.equal(one.count, list.length);
      assert.equal(one.values.length, Math.min(2, list.length));
      for (const [index, element] of one.values.entries()) {
        const read = list[index];
        if (typeof element === 'string') assert.equal(element, read);
        else if (element instanceof Literal) assert.equal(element.text, JSON.stringify(read));
        else assert.equal(element.count, Object.keys(read as object).length);
      }
    }),
  );
});

test('a text that is no JSON is refused', () => {
  for (const text of ['', '{', '[1,]', '{"a" 1}', '"a', '1 2', 'nul', '\u{a0}1'])
    assert.throws(() => readExact(text, all), SyntaxError);
});
