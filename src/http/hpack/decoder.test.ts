import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BROKEN, DECODED, HpackDecoder, TOO_LARGE } from './decoder.ts';
import type { Field } from './field.ts';
import { decodeHuffman } from './huffman.ts';
import { FieldTable } from './table.ts';

type Line = readonly [name: string, value: string];

const wide = { maxBytes: 100_000, maxFields: 1_000 };

function decode(decoder: HpackDecoder, bytes: Buffer, limits = wide): { result: number; lines: Line[] } {
  const lines: Line[] = [];
  const result = decoder.decode(bytes, 0, bytes.length, limits, {
    field: ({ name, value }: Field) => void lines.push([name, value]),
  });
  return { result, lines };
}

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** RFC 7541 Appendix C: heads of one connection each; the answers are those of a table of 256 bytes. */
const date = (seconds: number): Line => ['date', `Mon, 21 Oct 2013 20:13:${seconds} GMT`];
const first: Line[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'www.example.com'],
];
const requests: readonly Line[][] = [
  first,
  [...first, ['cache-control', 'no-cache']],
  [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':path', '/index.html'],
    [':authority', 'www.example.com'],
    ['custom-key', 'custom-value'],
  ],
];
const answers: readonly Line[][] = ['302', '307', '200'].map((status, i) => [
  [':status', status],
  ['cache-control', 'private'],
  date(i === 2 ? 22 : 21),
  ['location', 'https://www.example.com'],
  ...(i === 2
    ? ([
        ['content-encoding', 'gzip'],
        ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
      ] satisfies Line[])
    : []),
]);
const vectors: Readonly<Record<string, readonly [heads: readonly Line[][], encoded: readonly string[]]>> = {
  'C.3': [
    requests,
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ],
  ],
  'C.4': [
    requests,
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ],
  ],
  'C.5': [
    answers,
    [
      `3fe1 01 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32
      3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`.replaceAll('\n', ''),
      '4803 3330 37c1 c0bf',
      `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
      6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
      2076 6572 7369 6f6e 3d31`.replaceAll('\n', ''),
    ],
  ],
  'C.6': [
    answers,
    [
      `3fe1 01 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
      1718 63c7 8f0b 97c8 e9ae 82ae 43d3`.replaceAll('\n', ''),
      '4883 640e ffc1 c0bf',
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
      dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`.replaceAll(
        '\n',
        '',
      ),
    ],
  ],
};

for (const [name, [heads, encoded]] of Object.entries(vectors))
  test(`the examples of RFC 7541 ${name} are read as it says`, () => {
    const decoder = new HpackDecoder();
    for (const [i, text] of encoded.entries())
      assert.deepEqual(decode(decoder, hex(text)), { result: DECODED, lines: heads[i] });
  });

test('an invalid encoding is an error', () => {
  const broken: Readonly<Record<string, string>> = {
    'index 0': '80',
    'an index that nothing has': 'be',
    'an index without its end': 'ff',
    'an index that is too long': 'ff ff ff ff ff ff 01',
    'a name without its end': '00 05 61 62',
    'no value': '00 01 61',
    'a value without its end': '00 01 61 02 62',
    'a name by an index that nothing has': '7f 01 01 61',
    'a table larger than ours': '3f e2 1f',
    'a size behind a field': '82 20',
    'the end of string in Huffman coding': '00 01 61 84 ff ff ff ff',
    'padding of zeroes': '00 01 61 81 18',
    'padding of more than seven bits': '00 01 61 82 1f ff',
  };
  for (const [what, text] of Object.entries(broken))
    assert.equal(decode(new HpackDecoder(), hex(text)).result, BROKEN, what);
  for (const fine of ['3f e1 1f 82', '20 3f e1 1f 82', '00 01 61 81 1f', '00 00 00', ''])
    assert.equal(decode(new HpackDecoder(), hex(fine)).result, DECODED, fine);
});

const literal = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0x40, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);

test('a head beyond the limits is told, is not handed on whole, and the next one is read all the same', () => {
  const decoder = new HpackDecoder();
  const large = Buffer.concat(Array.from({ length: 20 }, (_, i) => literal(`x-${i}`, 'a'.repeat(60))));
  const bounded = decode(decoder, large, { maxBytes: 500, maxFields: 100 });
  assert.equal(bounded.result, TOO_LARGE);
  assert.equal(bounded.lines.length, 5);
  // The latest of the table is the last of the head that was refused.
  assert.deepEqual(decode(decoder, hex('be')).lines, [['x-19', 'a'.repeat(60)]]);
  const many = decode(decoder, hex('82 82 82 82'), { maxBytes: 10_000, maxFields: 3 });
  assert.equal(many.result, TOO_LARGE);
  assert.equal(many.lines.length, 3);
  // Each byte stands for a hundred, and counts as a hundred.
  const bomb = decode(decoder, Buffer.alloc(5_000, 0xbe), { maxBytes: 2_000, maxFields: 10_000 });
  assert.equal(bomb.result, TOO_LARGE);
  assert.ok(bomb.lines.length < 25);
});

test('the table keeps the latest fields, within its bytes', () => {
  const decoder = new HpackDecoder();
  const fill = Buffer.concat(Array.from({ length: 300 }, (_, i) => literal('n', String(i % 10))));
  assert.equal(decode(decoder, fill).result, DECODED);
  // 34 bytes each: 120 of them are there, and the last one is the 62nd of both tables.
  assert.equal(decode(decoder, hex('be')).lines[0]?.[1], '9');
  assert.equal(decode(decoder, hex('ff 36')).result, DECODED);
  assert.equal(decode(new HpackDecoder(), hex('ff 36')).result, BROKEN);
  assert.equal(decode(decoder, hex('ff 37')).result, BROKEN);
  const other = new HpackDecoder();
  decode(other, fill);
  decode(other, hex('20 3f e1 1f'));
  assert.equal(decode(other, hex('be')).result, BROKEN);
  // A field larger than the table empties it.
  const large = Buffer.concat([hex('40 01 61 7f 81 1f'), Buffer.alloc(4_096, 98)]);
  const third = new HpackDecoder();
  decode(third, fill);
  assert.equal(decode(third, large).lines[0]?.[1].length, 4_096);
  assert.equal(decode(third, hex('be')).result, BROKEN);
});

test('the table never counts more than it may', () => {
  const table = new FieldTable();
  assert.equal(table.size, 0);
  assert.equal(table.resize(4_097), false);
});

/** The bytes 0 to 255, as golang.org/x/net/http2/hpack writes them. */
const everyByte =
  'ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffebfffffecf' +
  'ffffedfffffeefffffefffffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3fffffe7fffffebfff' +
  'ffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb00089969b71d79fb9f7fff20ffbff3ff50ddbd7f061c58f265cd9f469d5af66dddbf87' +
  '1e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfaf7fffbfe7ffbffdffffffcfffe6ffff4bfff9ffffa' +
  '3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffbfffffd9ffffdbfffebffffe0ffffeeffffc3ffff' +
  '8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdafffeeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeef' +
  'fffbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0ffff17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fff' +
  'cbffff37ffff1fffff83ffffe1fffebfffe3ffff3fffff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8ffff' +
  'fb7fff97fff8fffffe6fffffc1fffff87ffffe7fffffc5ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3' +
  'ffffcffffb7fffcdffff4ffff9ffffd1ffffcffffeaffffafffffddffffeffffff4fffff5fffffabffffa7ffffd7fffff9bffffecfff' +
  'ffb7fffff3fffffe8fffffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf';

test('every byte is decoded from its code', () => {
  const bytes = Buffer.from(everyByte, 'hex');
  const out = new Uint8Array(Math.ceil((bytes.length * 8) / 5));
  assert.equal(decodeHuffman(bytes, 0, bytes.length, out), 256);
  assert.deepEqual(
    out.subarray(0, 256),
    Uint8Array.from({ length: 256 }, (_, i) => i),
  );
});
