import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonCheck, type JsonState } from './jsonCheck.ts';

const wide = { maxDepth: 1_000, maxNodes: 100_000 };

/** @param slice bytes at a time */
function check(text: string | Buffer, limits = wide, slice = Infinity): JsonState {
  const one = new JsonCheck(Buffer.from(text), limits);
  for (;;) {
    const state = one.run(slice);
    if (state !== 'more') return state;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Texts around every rule of the grammar. */
const texts = [
  '',
  ' ',
  '{}',
  '[]',
  ' {"a" : [ 1 , -0 , 0.5e+3,1E-2 , true,false,null, "x" ] } ',
  '"\\u00e9\\ud800\\"\\\\\\/\\b\\f\\n\\r\\t"',
  '"é𝄞"',
  ...['{', '[', '"', '"\\', '"\\u12', '"\\u123g"', '"\\x"', '"\t"', '"\n"', '"\u007f"', '\ufeff{}'],
  ...['{]', '[}', '{,}', '[,]', '[1,]', '{"a":1,}', '{"a"}', '{"a":}', '{:1}', '{1:1}', '{"a":1 "b":2}'],
  ...['[1 2]', '1 2', '{}{}', '[]]', '}', ']', ',', ':', '"a":1', '{"a":{"b":[{}]}}', '[[[[]]]]', "{'a':1}"],
  ...['0', '-0', '-', '+1', '01', '-01', '1.', '.5', '1.e1', '1e', '1e+', '1e+1', '1E5', '0x1', '1_0', 'NaN'],
  ...['Infinity', 'tru', 'true', 'truefalse', 'nulll', 'null ', 'undefined', '1//x', '/**/1', '1\v', '1\f'],
  ...['1\u00a0', '\u2028', '"\u2028"', '\0', '"\0"', '[1]\n', '\r\n\t 1'],
];

for (const slice of [1, 2, 3, Infinity])
  test(`the check accepts exactly what JSON.parse accepts, ${slice} bytes at a time`, () => {
    for (const text of texts)
      assert.equal(check(text, wide, slice), isJson(text) ? 'valid' : 'invalid', JSON.stringify(text));
  });

test('valid JSON with a piece taken out, doubled or changed is judged as JSON.parse does', () => {
  const seed = '{"a":[1,-2.5e3,true,null,"x\\u0041\\n"],"b":{"c":[],"d":{}},"é":"\\\\"}';
  const odd = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', '-', 'e', '.', 't', '\n', '\u0001'];
  let count = 0;
  for (let at = 0; at < seed.length; at++)
    for (const piece of ['', seed.slice(at, at + 2) + seed[at], ...odd]) {
      const text = seed.slice(0, at) + piece + seed.slice(at + 1);
      assert.equal(check(text, wide, 5) === 'valid', isJson(text), text);
      count++;
    }
  assert.ok(count > 1_000);
});

test('the depth is limited: as many objects and lists within each other, and no more', () => {
  const nested = (depth: number): string => '[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2);
  const limits = { maxDepth: 8, maxNodes: 1_000 };
  assert.equal(check(nested(8), limits), 'valid');
  assert.equal(check(nested(10), limits), 'tooDeep');
  assert.equal(check('['.repeat(1_000_000), limits), 'tooDeep');
  assert.equal(check(`${'[],'.repeat(500)}`.replace(/^/, '[').replace(/,$/, ']'), limits), 'valid');
});

test('values are counted, whatever they are; keys are not', () => {
  const limits = { maxDepth: 8, maxNodes: 7 };
  assert.equal(check('{"a":1,"b":"x","c":[true,null],"d":{}}', limits), 'valid');
  assert.equal(check('{"a":1,"b":"x","c":[true,null],"d":{},"e":0}', limits), 'tooMany');
});

test('a check goes no further than it is told, so that others have their turn', () => {
  const one = new JsonCheck(Buffer.from(`["${'x'.repeat(10_000)}",${' '.repeat(10_000)}1]`), wide);
  let turns = 1;
  while (one.run(1_000) === 'more') turns++;
  assert.equal(turns, 21);
  assert.equal(one.hasLineBreaks, false);
});

test('line breaks between tokens are noticed', () => {
  for (const [text, expected] of [
    ['{"a":\n1}', true],
    ['\r[]', true],
    ['{"a":"\\n"}', false],
  ] as const) {
    const one = new JsonCheck(Buffer.from(text), wide);
    assert.equal(one.run(Infinity), 'valid');
    assert.equal(one.hasLineBreaks, expected);
  }
});

for (const slice of [1, 2, 3, Infinity])
  test(`white space between tokens is taken out, and none in strings, ${slice} bytes at a time`, () => {
    for (const text of texts.filter(isJson)) {
      const one = new JsonCheck(Buffer.from(text), wide, true);
      while (one.run(slice) === 'more');
      const compacted = one.compacted.toString();
      assert.deepEqual(JSON.parse(compacted), JSON.parse(text));
      const strings = /"(?:[^"\\\\]|\\\\.)*"/g;
      assert.doesNotMatch(compacted.replaceAll(strings, '""'), /\s/);
      assert.deepEqual(compacted.match(strings), text.match(strings));
    }
  });

test('a number longer than any use has for it is refused, and read no further', () => {
  for (const [number, expected] of [
    ['1'.repeat(1_024), 'valid'],
    ['1'.repeat(1_025), 'tooLong'],
    [`-0.${'1'.repeat(5_000)}`, 'tooLong'],
    [`1e${'0'.repeat(2_000_000)}`, 'tooLong'],
  ] as const)
    assert.equal(check(`[${number}]`), expected, number.slice(0, 10));
});
