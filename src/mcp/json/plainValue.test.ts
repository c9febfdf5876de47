import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PlainValue } from '../contract.ts';
import { readPlain } from './plainValue.ts';

const reading = { spend: () => true, names: new Set(['path']) };
const read = (text: string): PlainValue | Error => {
  const found = readPlain(text, { start: text.search(/\S/), end: text.length }, reading);
  return 'fault' in found ? new Error(found.fault) : found.value;
};

/** The value with numbers of JavaScript. */
function asJson(value: PlainValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(asJson);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries([...(value as ReadonlyMap<string, PlainValue>)].map(([k, v]) => [k, asJson(v)]));
}

/** The same without a negative zero, and with ordinary objects. */
function plain(value: unknown): unknown {
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}

test('a text with one reading has the value that was written', () => {
  const lower = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '"', '\\', ' ', '\n', '😀'), maxLength: 6 });
  const numbers = fc.oneof(fc.integer(), fc.double({ min: -1e15, max: 1e15, noNaN: true }));
  const values = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      numbers,
      lower,
      fc.boolean(),
      fc.constant(null),
      tie('list'),
      tie('map'),
    ),
    list: fc.array(tie('any'), { maxLength: 4 }),
    map: fc.dictionary(lower, tie('any'), { maxKeys: 4 }),
  })).any;
  fc.assert(
    fc.property(values, fc.constantFrom(0, 1), (value, spaces) => {
      const text = JSON.stringify(value, null, spaces);
      const found = read(text);
      if (found instanceof Error) assert.fail(`${text}: ${found.message}`);
      assert.deepEqual(asJson(found), plain(value), text);
    }),
    { numRuns: 500 },
  );
});

test('whole numbers are exact, whatever they are written like', () => {
  assert.equal(read('9223372036854775807'), 9223372036854775807n);
  assert.equal(read('-9223372036854775808'), -9223372036854775808n);
  assert.equal(read('1.0'), 1n);
  assert.equal(read('1e2'), 100n);
  assert.equal(read('-0'), 0n);
  assert.equal(read('0.5'), 0.5);
});

for (const [text, fault] of [
  ['{"a":1,"a":1}', /the member "a" is repeated/],
  ['{"x":[{"a":1,"\\u0061":2}]}', /the member "a" is repeated/],
  ['{"a":1,"A":2}', /the member "A" is repeated/],
  ['{"Path":"/etc"}', /the member "Path" differs from "path" in case only/],
  ['9223372036854775808', /more than 64 bits/],
  ['99999999999999999999999', /more than 64 bits/],
  ['1e999', /a number is too large/],
  ['"\\ud800"', /not well-formed Unicode/],
  ['{"\\udc00":1}', /not well-formed Unicode/],
  [`${'['.repeat(65)}${']'.repeat(65)}`, /nested deeper than 64/],
] as const)
  test(`a text with several readings is refused: ${text.slice(0, 40)}`, () => {
    const found = read(text);
    assert.ok(found instanceof Error);
    assert.match(found.message, fault);
  });

test('reading takes work in proportion to the text, and stops where there is no more', () => {
  const workOf = (text: string): number => {
    let spent = 0;
    readPlain(
      text,
      { start: 0, end: text.length },
      { names: new Set(), spend: (units) => ((spent += units), true) },
    );
    return spent;
  };
  const many = `[${'1,'.repeat(9_999)}1]`;
  assert.ok(workOf(many) >= 10_000 * 15);
  assert.ok(workOf(`"${'x'.repeat(160_000)}"`) >= 10_000);
  assert.ok(workOf(`"${'\\n'.repeat(10_000)}"`) >= 10_000);
  let left = 100;
  const found = readPlain(
    many,
    { start: 0, end: many.length },
    { names: new Set(), spend: (units) => (left -= units) >= 0 },
  );
  assert.deepEqual(found, { fault: 'too large to be judged' });
  assert.ok(left > -20, 'the reading has stopped at once');
});
