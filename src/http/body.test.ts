import assert from 'node:assert/strict';
import test from 'node:test';
import { Body, FRAMING } from './body.ts';
import { wire } from './parse.testing.ts';

interface Taken {
  readonly payload: string;
  /** Bytes the body took, -1 for bad framing. */
  readonly taken: number;
  readonly done: boolean;
}

/** Feeds a chunked body in pieces of these lengths; the last length is used for the rest. */
function chunked(text: string, ...lengths: number[]): Taken {
  const bytes = wire(text);
  const body = new Body();
  body.startChunked();
  let payload = '';
  let from = 0;
  for (let i = 0; from < bytes.length; i++) {
    const length = lengths[Math.min(i, lengths.length - 1)] ?? bytes.length;
    const to = Math.min(bytes.length, from + length);
    const end = body.take(bytes, from, to, (chunk, start, stop) => {
      payload += chunk.toString('latin1', start, stop);
    });
    if (end < 0) return { payload, taken: -1, done: false };
    from = end;
    if (body.done) break;
    assert.equal(end, to, 'an unfinished body takes all there is');
  }
  assert.equal(body.payload, payload.length);
  return { payload, taken: from, done: body.done };
}

const refused = (text: string): boolean => chunked(text).taken === -1;

test('a body of known length ends where it says, and leaves the rest', () => {
  const body = new Body();
  body.startLength(5);
  assert.equal(body.done, false);
  assert.equal(body.take(wire('xab'), 1, 3), 3);
  assert.equal(body.remaining, 3);
  assert.equal(body.take(wire('cdefg'), 0, 5), 3);
  assert.equal(body.done, true);
  assert.equal(body.payload, 5);
  assert.equal(body.take(wire('more'), 0, 4), 0);
});

test('a length of 0 is no body at all', () => {
  const body = new Body();
  body.startLength(0);
  assert.equal(body.done, true);
  assert.equal(body.kind, FRAMING.none);
});

test('a body until close takes everything and never says it is done', () => {
  const body = new Body();
  body.startUntilClose();
  assert.equal(body.take(wire('abc'), 0, 3), 3);
  assert.equal(body.done, false);
});

test('chunks give their payload, and following bytes stay unread', () => {
  const text = '5\r\nhello\r\n00A;x=y;z="\xe9"\r\n 123456789\r\n0\r\n\r\nGET /';
  const result = chunked(text);
  assert.deepEqual(result, { payload: 'hello 123456789', taken: text.length - 5, done: true });
  assert.deepEqual(chunked('0\r\n\r\n'), { payload: '', taken: 5, done: true });
  assert.equal(chunked('aB\r\n' + 'x'.repeat(0xab) + '\r\n0\r\n\r\n').payload.length, 0xab);
});

test('trailers are passed over and end with an empty line', () => {
  const text = '1\r\na\r\n0\r\nX-Checksum: 1 2\t3\r\nExpires:\r\n\r\n';
  assert.deepEqual(chunked(`${text}rest`), { payload: 'a', taken: text.length, done: true });
});

test('a size is hexadecimal digits and nothing else', () => {
  for (const size of [
    '',
    ' 1',
    '1 ',
    '\t1',
    '1\t',
    '+1',
    '-1',
    '0x1',
    '1h',
    '1_0',
    '1,1',
    '1.0',
    ';x',
    '\x0b1',
    '1\x00',
    '1\xa0',
    '\xd9\xa1',
    'g',
    '"1"',
  ])
    assert.equal(refused(`${size}\r\na\r\n0\r\n\r\n`), true, JSON.stringify(size));
});

test('a size beyond what can be counted exactly is refused, not wrapped', () => {
  assert.equal(refused('fffffffffffff\r\n'), true);
  assert.equal(refused('10000000000000000\r\n'), true);
  assert.equal(refused('100000000000000000000000000000001\r\na\r\n'), true);
  assert.equal(refused('0000000000001\r\na\r\n'), true);
  assert.deepEqual(chunked('ffffffffffff\r\nabc'), { payload: 'abc', taken: 17, done: false });
});

test('line ends are CRLF everywhere', () => {
  for (const text of [
    '1\na\r\n0\r\n\r\n',
    '1\r\na\n0\r\n\r\n',
    '1\r\na\r0\r\n\r\n',
    '1\ra\r\n0\r\n\r\n',
    '1\r\r\na\r\n0\r\n\r\n',
    '1\r\na\r\n0\n\r\n',
    '1\r\na\r\n0\r\n\n',
    '1\r\na\r\n0\r\n\rX',
    '1;a\nb\r\na\r\n0\r\n\r\n',
    '1;a\rb\r\na\r\n0\r\n\r\n',
    '1;\n\r\na\r\n0\r\n\r\n',
    '0\r\nX: a\n\r\n',
    '0\r\nX: a\r\r\n\r\n',
    '0\r\nX: a\rb\r\n\r\n',
  ]) {
    assert.equal(refused(text), true, JSON.stringify(text));
  }
});

test('a chunk is exactly as long as it says', () => {
  assert.equal(refused('2\r\na\r\n0\r\n\r\n'), true);
  assert.equal(refused('1\r\nab\r\n0\r\n\r\n'), true);
  assert.equal(refused('1\r\na0\r\n\r\n'), true);
  assert.equal(refused('0\r\na\r\n0\r\n\r\n'), true);
});

test('an extension is a name, or a name and a value, without white space between', () => {
  for (const text of [
    'a',
    'a=b',
    'a="b c"',
    'a="b\\"c";d',
    'a;b;c=1',
    'a=""',
    "!#$%&'*+-.^_`|~=x",
    'a="\xe9\t"',
  ])
    assert.equal(chunked(`1;${text}\r\na\r\n0;${text}\r\n\r\n`).done, true, text);
  for (const text of [
    '',
    ' a',
    'a ',
    ';a',
    'a;',
    '=b',
    'a=',
    'a =b',
    'a= b',
    'a="b',
    'a="b"c',
    'a=b"c"',
    'a=b=c',
    '\xe9',
    'a="\\',
    '"a"',
  ])
    assert.equal(refused(`1;${text}\r\na\r\n0\r\n\r\n`), true, text);
});

test('extensions are cut out of the framing that is passed on, wherever the bytes are cut', () => {
  const text =
    '5;a="b;c"\r\nhello\r\n1;x\r\n!\r\n3\r\nabc\r\n00;y=z;w\r\nX-Sum: 1;2\r\n\r\nGET / HTTP/1.1\r\n';
  const wanted = '5\r\nhello\r\n1\r\n!\r\n3\r\nabc\r\n00\r\nX-Sum: 1;2\r\n\r\n';
  for (let size = 1; size <= text.length; size++) {
    // Not from the first byte on: what is in front of the body stays as it is.
    const bytes = wire(`head${text}`);
    const body = new Body();
    body.startChunked();
    let passed = '';
    let from = 4;
    while (!body.done) {
      const to = body.take(bytes, from, Math.min(bytes.length, from + size));
      assert.ok(to >= from);
      passed += bytes.toString('latin1', from, to - body.cut);
      from = to;
    }
    assert.equal(passed, wanted, `pieces of ${size}`);
    assert.equal(bytes.toString('latin1', 0, 4), 'head');
    assert.equal(bytes.toString('latin1', from), 'GET / HTTP/1.1\r\n');
    assert.equal(body.payload, 9);
  }
});

test('framing without extensions is passed on as it came', () => {
  const bytes = wire('5\r\nhello\r\n0\r\n\r\n');
  const before = Buffer.from(bytes);
  const body = new Body();
  body.startChunked();
  assert.equal(body.take(bytes, 0, bytes.length), bytes.length);
  assert.equal(body.cut, 0);
  assert.deepEqual(bytes, before);
});

test('extensions hold no control bytes and have a limit over the whole body', () => {
  assert.equal(refused('1;\x00\r\na\r\n0\r\n\r\n'), true);
  assert.equal(refused('1;\x7f\r\na\r\n0\r\n\r\n'), true);
  assert.equal(refused(`1;${'x'.repeat(16_385)}\r\na\r\n0\r\n\r\n`), true);
  assert.equal(chunked(`1;${'x'.repeat(16_383)}\r\na\r\n0\r\n\r\n`).done, true);
  const chunk = `1;${'x'.repeat(1_000)}\r\na\r\n`;
  assert.equal(refused(`${chunk.repeat(17)}0\r\n\r\n`), true);
});

test('trailers are fields: no folding, no empty name, no space before the colon, a limit', () => {
  for (const line of [
    ' X: a',
    '\tX: a',
    ': a',
    'X : a',
    'X',
    'X a',
    'X(: a',
    'X\xe9: a',
    'X: a\x00b',
    'X: a\x7fb',
    `X: ${'a'.repeat(16_400)}`,
    `${'x'.repeat(300)}: a`,
  ]) {
    assert.equal(refused(`0\r\n${line}\r\n\r\n`), true, JSON.stringify(line.slice(0, 40)));
  }
  assert.equal(refused('0\r\nX: a\r\n b\r\n\r\n'), true);
  assert.equal(refused(`0\r\n${'X: y\r\n'.repeat(4_100)}\r\n`), true);
});

test('fields that would change the message are refused as trailers, by name in any case', () => {
  for (const name of [
    'Content-Length',
    'TRANSFER-ENCODING',
    'host',
    'Connection',
    'Trailer',
    'TE',
    'Upgrade',
    'Expect',
    'Authorization',
    'Proxy-Authorization',
    'Cookie',
    'Set-Cookie',
    'Content-Type',
    'Content-Encoding',
    'Content-Range',
    'Transfer_Encoding',
    'X-Forwarded-For',
    'X-Request-Id',
    'Location',
  ]) {
    assert.equal(refused(`0\r\n${name}: a\r\n\r\n`), true, name);
  }
  assert.equal(chunked('0\r\nHosts: a\r\nHos: b\r\n\r\n').done, true);
});

test('fields that mean something in requests alone may be trailers of an answer', () => {
  const isRefused = (name: string): boolean => {
    const bytes = wire(`0\r\n${name}: a\r\n\r\n`);
    const body = new Body();
    body.startChunked('answer');
    return body.take(bytes, 0, bytes.length) < 0;
  };
  for (const name of ['X-Request-Id', 'Authorization', 'Host', 'Forwarded'])
    assert.equal(isRefused(name), false, name);
  for (const name of ['Content-Length', 'Transfer-Encoding', 'Set-Cookie', 'Content-Type', 'Location'])
    assert.equal(isRefused(name), true, name);
});

test('a chunked body cut at any byte, once or at every byte, reads like the whole', () => {
  const bodies = [
    '5;a=b\r\nhello\r\n3\r\n\r\n0\r\n0\r\nX-T: v\r\nY: \r\n\r\nnext',
    '0\r\n\r\nGET / HTTP/1.1\r\n',
    '1\r\na\r\n0\r\nContent-Length: 5\r\n\r\n',
    '1\r\nab\r\n0\r\n\r\n',
    '1 \r\na\r\n0\r\n\r\n',
    '1;a\nb\r\na\r\n',
    'fffffffffffff\r\n',
  ];
  for (const text of bodies) {
    const whole = chunked(text);
    const verdict = ({ payload, taken, done }: Taken): unknown =>
      taken === -1 ? 'refused' : { payload, taken, done };
    assert.deepEqual(verdict(chunked(text, 1)), verdict(whole), text);
    for (let cut = 1; cut < text.length; cut++)
      assert.deepEqual(
        verdict(chunked(text, cut, text.length)),
        verdict(whole),
        `${JSON.stringify(text)} at ${cut}`,
      );
  }
});

test('a body object starts afresh for every message', () => {
  const body = new Body();
  body.startChunked();
  assert.equal(body.take(wire('5;x\r\nab'), 0, 7), 7);
  body.startChunked();
  assert.equal(body.take(wire('1\r\na\r\n0\r\n\r\n'), 0, 11), 11);
  assert.equal(body.done, true);
  body.startNone();
  assert.equal(body.done, true);
  assert.equal(body.take(wire('x'), 0, 1), 0);
});
