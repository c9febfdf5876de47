import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandTemplate, readingsOfName, readingsOfTemplate, readingsOfUri } from './nameReadings.ts';

const secret = 'demo://resource/dynamic/text/1';

for (const spelled of [
  'demo://resource/static/../dynamic/text/1',
  'DEMO://resource/dynamic/text/1',
  'demo://RESOURCE/dynamic/text/1',
  '  demo://resource/dynamic/text/1',
  'demo://resource/dynamic/text/1\u0000',
  '\u00a0demo://resource/dynamic/text/1\ufeff',
  'demo:\t//resource/dyn\namic/text\r/1',
  'demo://resource/./dynamic/text/1',
  'demo://resource/static/%2e%2E/dynamic/text/1',
  'demo://resource/static/%252e%252e/dynamic/text/1',
  'demo://resource/static%2f..%2Fdynamic/text/1',
  'demo://resource/static/..%5cdynamic\\text/1',
  'demo://resource/%64ynamic/text/1',
  'demo://resource/static//../dynamic/text/1',
  'demo://resource//dynamic/text/1',
  'demo://resource:/dynamic/text/1',
  'demo://resource/dynamic/text/1#fragment',
  'demo://resource/ｄynamic/text/1',
])
  test(`${JSON.stringify(spelled)} is read as the resource that a server makes of it`, () => {
    const readings = readingsOfUri(spelled);
    assert.equal(readings?.[0], spelled, 'the text as written is judged too');
    assert.ok(readings.includes(secret), readings.join('\n'));
  });

test('a path that a file system would read otherwise has that reading', () => {
  for (const spelled of [
    'file:/secret',
    'FILE://localhost/secret',
    'file:////secret',
    'file:///a//../secret',
  ])
    assert.ok(readingsOfUri(spelled)?.includes('file:///secret'), spelled);
});

for (const plain of [
  'demo://resource/static/document.md',
  'file:///srv/data/a%20b.txt',
  'note://notes/2026/11',
  'https://example.com/a?b=c',
  'proxy://fetch/https://example.com/a',
  'urn:isbn:0451450523',
  'mailto:someone@example.com',
  'anything',
])
  test(`${plain} has no other reading`, () => {
    assert.deepEqual(readingsOfUri(plain), [plain]);
  });

test('a name is read without white space around it and in the composed forms of Unicode', () => {
  assert.deepEqual(readingsOfName('echo'), ['echo']);
  for (const spelled of [
    ' echo',
    'echo\n',
    '\u3000echo\u00a0',
    'ｅcho',
    '\u2003ech\u00ba'.replace('º', 'ｏ'),
  ])
    assert.ok(readingsOfName(spelled)?.includes('echo'), JSON.stringify(spelled));
  assert.ok(readingsOfName('cafe\u0301')?.includes('café'));
});

test('the expressions of a template stay as they are in every reading', () => {
  assert.deepEqual(readingsOfTemplate('file:///{path}'), ['file:///{path}']);
  assert.deepEqual(readingsOfTemplate('xx://x/{x}/{+xx}'), ['xx://x/{x}/{+xx}']);
  assert.ok(readingsOfTemplate('DEMO://a/../b/{id}')?.includes('demo://a/b/{id}'));
});

test('a template takes the values that are known', () => {
  const values = new Map([
    ['kind', 'dynamic'],
    ['id', '../1'],
  ]);
  assert.equal(expandTemplate('demo://r/{kind}/{id}', values), 'demo://r/dynamic/../1');
  assert.equal(expandTemplate('demo://r/{kind}/{other}', values), 'demo://r/dynamic/{other}');
  assert.equal(expandTemplate('demo://r{/kind,id}{?kind}', values), 'demo://r/dynamic/../1?kind=dynamic');
  assert.equal(expandTemplate('demo://r/{+kind*}', new Map([['kind', '{x}']])), 'demo://r/%7Bx%7D');
});

test('a template that holds a long value many times is not expanded', () => {
  const values = new Map([['a', 'x'.repeat(200_000)]]);
  assert.equal(expandTemplate('{a}'.repeat(2_000), values), undefined);
  assert.equal(expandTemplate(`{a${',a'.repeat(2_000)}}`, values), undefined);
  assert.equal(expandTemplate('{b}'.repeat(2_000), values), '{b}'.repeat(2_000));
});

test('a name with more readings than are judged, or with more characters, has none', () => {
  assert.equal(readingsOfUri(`demo://a/${'x'.repeat(9_000)}`), undefined);
  assert.equal(readingsOfName(' '.repeat(9_000)), undefined);
});

test('no text makes the reader loop or throw', () => {
  const pieces = [
    '%',
    '%2',
    '%2e',
    '%25',
    '/',
    '//',
    '..',
    '.',
    ':',
    '@',
    '[',
    ']',
    '\ud800',
    '{',
    '}',
    '?',
    '#',
    'x',
    '\\',
    ' ',
  ];
  let seed = 7;
  const next = (n: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % n;
  for (let i = 0; i < 3_000; i++) {
    let text = next(2) === 0 ? 'demo://' : '';
    for (let length = next(12); length > 0; length--) text += pieces[next(pieces.length)]!;
    for (const readings of [readingsOfUri(text), readingsOfTemplate(text), readingsOfName(text)])
      assert.ok(readings === undefined || (readings[0] === text && readings.length <= 16), text);
  }
});
