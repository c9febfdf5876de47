import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseScan, type ResponseParts } from './responseScan.ts';

interface Read {
  readonly text: string;
  readonly flaw: string | undefined;
  readonly members: readonly string[];
}

/** Reads a text in pieces of so many bytes; the id becomes 77, and watched members `"held"`. */
function read(
  text: string,
  size: number,
  watched: readonly string[] = [],
  lists: readonly string[] = [],
  added?: ResponseParts['addedMembers'],
): Read {
  const passed: Buffer[] = [];
  const members: string[] = [];
  const note = (name: string, value: string, shown: string): string => {
    members.push(`${name}=${value}`);
    return shown;
  };
  const parts: ResponseParts = {
    view: {
      watched: new Set([...watched, ...lists]),
      filterMember: (name, value) => (value === '"bad"' ? undefined : note(name, value, '"held"')),
      elements: {
        lists: new Set(lists),
        passes: (head) => head.startsWith('{"type":"text"'),
        filterElement: (name, value) => (value === '"bad"' ? undefined : note(name, value, '"element"')),
      },
    },
    bytes: (piece) => void passed.push(Buffer.from(piece)),
    member: (name, value) => note(name, value, name === 'id' ? '77' : value),
    ...(added && { addedMembers: added }),
  };
  const scan = new ResponseScan(parts);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size)
    if (!scan.take(Buffer.from(bytes.subarray(at, at + size)))) break;
  scan.end();
  return { text: Buffer.concat(passed).toString(), flaw: scan.flaw, members };
}

const sizes = [1, 2, 3, 7, 64, 100_000];

test('a response passes as it was written but for its id, wherever it is cut', () => {
  const result =
    '{ "content":[{"type":"text","text":"é\\"\\\\\\u00e9 𝄞"},{"n":[-0.5e+10,0,12,1E3,true,false,null,{},[]]}]}';
  for (const [before, after] of [
    ['{"jsonrpc":"2.0","id":', `,"result":${result}}`],
    [`{"result":${result},"jsonrpc":"2.0","id":`, '}'],
    [' {"other":{"id":9,"result":1},"id" : ', ` , "jsonrpc":"2.0","result":${result} } `],
  ] as const)
    for (const size of sizes) {
      const found = read(`${before}5${after}`, size);
      assert.equal(found.flaw, undefined);
      assert.equal(found.text, `${before}77${after}`);
      assert.deepEqual(found.members.toSorted(), ['id=5', 'jsonrpc="2.0"']);
    }
});

test('watched members of the result are held until they are whole, and others of the same name pass', () => {
  const text =
    '{"id":1,"jsonrpc":"2.0","result":{"a":{"_meta":1},"_meta":{"x":[1,{"y":"}"}]},"n":12,"task":3},"_meta":4}';
  for (const size of sizes) {
    const found = read(text, size, ['_meta', 'task']);
    assert.equal(found.flaw, undefined);
    assert.equal(
      found.text,
      '{"id":77,"jsonrpc":"2.0","result":{"a":{"_meta":1},"_meta":"held","n":12,"task":"held"},"_meta":4}',
    );
    assert.deepEqual(found.members, ['id=1', 'jsonrpc="2.0"', '_meta={"x":[1,{"y":"}"}]}', 'task=3']);
  }
});

test('elements of a list are held one by one, unless a large one may pass', () => {
  const passing = `{"type":"text","text":"${'x'.repeat(200)}"}`;
  const large = `{"type":"resource","blob":"${'y'.repeat(300_000)}"}`;
  const result = `{"content":[1, ${large} ,${passing},[2]],"other":[{"content":[3]}],"contents":{"uri":4}}`;
  const text = `{"id":1,"jsonrpc":"2.0","result":${result}}`;
  for (const size of [1, 50, 100]) {
    const found = read(text, size, [], ['content', 'contents']);
    assert.equal(found.flaw, undefined);
    const shown = `"content":["element", "element" ,${passing},"element"],"other":[{"content":[3]}],"contents":"held"`;
    assert.equal(found.text, `{"id":77,"jsonrpc":"2.0","result":{${shown}}}`);
    assert.deepEqual(found.members.slice(2), [
      'content=1',
      `content=${large}`,
      'content=[2]',
      'contents={"uri":4}',
    ]);
  }
  const bad = read('{"id":1,"jsonrpc":"2.0","result":{"content":["bad"]}}', 9, [], ['content']);
  assert.match(bad.flaw ?? '', /"content" that cannot be used/);
});

test('small elements of a list pass on together', () => {
  const passed: string[] = [];
  const scan = new ResponseScan({
    view: {
      watched: new Set(['content']),
      filterMember: (_name, value) => value,
      elements: {
        lists: new Set(['content']),
        passes: () => false,
        filterElement: (_list, value) => (value === '{"a":5}' ? '{"a":"five"}' : value),
      },
    },
    bytes: (piece) => void passed.push(piece.toString()),
    member: (_name, value) => value,
  });
  const elements = Array.from({ length: 10_000 }, (_, i) => `{"a":${i}}`);
  const text = `{"jsonrpc":"2.0","id":1,"result":{"content":[${elements.join(',')}]}}`;
  assert.ok(scan.take(Buffer.from(text)) && scan.end());
  assert.equal(passed.join(''), text.replace('{"a":5}', '{"a":"five"}'));
  assert.ok(passed.length < 5, `${passed.length} parts`);
});

test('members are added before the end of the result, and of nothing else', () => {
  for (const [result, expected] of [
    ['{"a":{"b":{}}}', '{"a":{"b":{}},"new":1}'],
    ['{ }', '{ "new":1}'],
    ['{"known":1,"a":[{}] }', '{"known":"held","a":[{}] }'],
  ] as const)
    for (const size of sizes) {
      const before = '{"other":{"c":{}},"jsonrpc":"2.0","id":1,"result":';
      const added = (seen: ReadonlySet<string>): string => (seen.has('known') ? '' : '"new":1');
      const { flaw, text } = read(`${before}${result},"last":{}}`, size, ['known'], [], added);
      assert.equal(flaw, undefined);
      assert.equal(text, `${before.replace('"id":1', '"id":77')}${expected},"last":{}}`);
    }
});

test('line breaks between tokens become spaces', () => {
  const found = read('{"id":1,\r\n"jsonrpc":"2.0",\n"result":{}\n}', 5);
  assert.equal(found.text, '{"id":77,  "jsonrpc":"2.0", "result":{} }');
});

const around = (value: string): string => `{"jsonrpc":"2.0","id":1,"result":{"a":${value}}}`;

test('it takes as JSON exactly what JSON.parse takes', () => {
  const values = [
    '1', '-', '-1', '01', '1.', '1.5', '.5', '1e', '1e5', '1e+', '1e+5', '1.e5', '0e0', '-0', '00', '1.5.5', '1e5e5', '--1', '+1',
    'true', 'tru', 'truex', 'null', 'nul', 'falsee', '"', '"a', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\u12aF"', '"\t"', '"\n"',
    '[', '[]', '[1]', '[1,]', '[,1]', '[1 2]', '[1}', '{]', '{}', '{"a"}', '{"a":}', '{"a":1,}', '{a:1}', '{"a":1 "b":2}', '{"a":1}}',
    '', ' ', '1 1', '"a""b"', '[[[[]]]]', '[[[[]]]', 'undefined', 'NaN', "'a'", '/**/1', '{"a":1,"a":2}', '\u00a01',
  ]; // prettier-ignore
  for (const value of values) {
    let isJson = true;
    try {
      JSON.parse(around(value));
    } catch {
      isJson = false;
    }
    for (const size of sizes)
      assert.equal(read(around(value), size).flaw === undefined, isJson, `${value} by ${size}`);
  }
});

test('a response cut short anywhere is refused', () => {
  const text = around('[1,"a",{"b":null}]');
  for (let length = 0; length < text.length; length++)
    assert.ok(read(text.slice(0, length), 9).flaw !== undefined, text.slice(0, length));
});

for (const [what, text, flaw] of [
  ['both result and error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', /no response/],
  ['a request', '{"jsonrpc":"2.0","id":1,"method":"x","params":{}}', /no response/],
  ['a list', '[{"jsonrpc":"2.0","id":1,"result":{}}]', /no response/],
  ['two ids', '{"jsonrpc":"2.0","id":1,"id":1,"result":{}}', /"id" twice/],
  ['an id in two spellings', '{"jsonrpc":"2.0","id":1,"ID":1,"result":{}}', /"id" twice/],
  ['an escaped second id', '{"jsonrpc":"2.0","id":1,"\\u0069d":1,"result":{}}', /"id" twice/],
  ['a watched member twice', '{"jsonrpc":"2.0","id":1,"result":{"_meta":1,"_meta":2}}', /"_meta" twice/],
  ['a watched member in two spellings', '{"jsonrpc":"2.0","id":1,"result":{"_Meta":1}}', /"_meta" twice/],
  [
    'a watched member that cannot be used',
    '{"jsonrpc":"2.0","id":1,"result":{"_meta":"bad"}}',
    /cannot be used/,
  ],
  ['no id', '{"jsonrpc":"2.0","result":{}}', /without the id/],
  ['no version', '{"id":1,"result":{}}', /without jsonrpc/],
  ['another version', '{"id":1,"jsonrpc":"1.0","result":{}}', /without jsonrpc/],
  ['no result', '{"id":1,"jsonrpc":"2.0"}', /no response/],
  [
    'a held member that is too long',
    `{"jsonrpc":"2.0","id":1,"result":{"_meta":"${'x'.repeat(300_000)}"}}`,
    /too long/,
  ],
] as const)
  test(`a response with ${what} is refused`, () => {
    for (const size of [1, 50, 1_000_000]) assert.match(read(text, size, ['_meta']).flaw ?? '', flaw);
  });

test('keys of any length and depth pass', () => {
  const key = 'k'.repeat(1_000);
  const text = `{"jsonrpc":"2.0","id":77,"result":{"${key}":${'['.repeat(5_000)}${']'.repeat(5_000)}}}`;
  for (const size of [1, 33, 100_000])
    assert.deepEqual(read(text, size), { text, flaw: undefined, members: ['jsonrpc="2.0"', 'id=77'] });
});
