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

for (const [spelled, served] of [
  ['notes://%40hr/salaries', 'notes://@hr/salaries'],
  ['notes://@hr/salaries%202026', 'notes://@hr/salaries 2026'],
  ['notes://hr/B%C3%BCro', 'notes://hr/Büro'],
  ['notes://hr/Bu%CC%88ro', 'notes://hr/Büro'],
  ['notes://hr/%2540x', 'notes://hr/@x'],
  ['notes://%40hr/%FF', 'notes://@hr/\ufffd'],
  ['notes://%40hr/%zz%4', 'notes://@hr/%zz%4'],
  ['notes://all?owner=%40hr', 'notes://all?owner=@hr'],
] as const)
  test(`${spelled} is read with its escapes decoded`, () => {
    const readings = readingsOfUri(spelled) ?? [];
    assert.ok(readings.includes(served), readings.join('\n'));
  });

for (const climbing of [
  'files:///public/x?/../../private/key',
  'files:///public/x#/../../private/key',
  'files:///public/x?a#b/../../private/key',
  'files:///public/x?/%2e%2e/..%2fprivate/key',
  'files:///public/x%3F%2F..%2F..%2Fprivate/key',
  'files:///public/x?\\..\\../private/key',
])
  test(`${climbing} is read as a path that climbs out of its query or fragment`, () => {
    const readings = readingsOfUri(climbing) ?? [];
    assert.ok(readings.includes('files:///private/key'), readings.join('\n'));
  });

test('a URI of a file has no query', () => {
  for (const spelled of ['file:///secret?x', 'FILE:///secret?', 'file:///secret?x#y'])
    assert.ok(readingsOfUri(spelled)?.includes('file:///secret'), spelled);
});

for (const plain of [
  'demo://resource/static/document.md',
  'note://notes/2026/11',
  'https://example.com/a?b=c',
  'proxy://fetch/https://example.com/a',
  'https://example.com/a?next=/b/./c..d',
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

test('names that people give to files have few enough readings', () => {
  for (const honest of [
    'file:///Users/Ju\u0308rgen M/C# notes/what?.md',
    'https://Example.com:443/a/./b/Ju\u0308rgen?q=ü&x=a%2Fb#top',
    'notion://Page/ﬁle name ½ %E2%91%A0',
  ])
    assert.ok(readingsOfUri(honest) !== undefined, honest);
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
  assert.equal(readingsOfUri(`demo://a/%${'25'.repeat(100)}`), undefined);
});

test('a hostile URI has few readings if it is long', () => {
  for (const piece of [
    '%2541/',
    '?/..',
    '#\\..',
    'é/%2541/Ｘ/',
    'Ju\u0308/%20a/../',
    '%25',
    '%C3',
    '../%2f?',
  ])
    for (const start of ['a:///', 'FILE:///', 'a://b/%2525252525/', 'a:///?', 'a:///x#/../']) {
      const text = (start + piece.repeat(8_192)).slice(0, 8_192);
      const readings = readingsOfUri(text);
      if (readings === undefined) continue;
      const characters = readings.reduce((sum, reading) => sum + reading.length, 0);
      assert.ok(characters <= 65_536, `${text.slice(0, 40)}: ${characters}`);
    }
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
      assert.ok(readings === undefined || (readings[0] === text && readings.length <= 32), text);
  }
});
