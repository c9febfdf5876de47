import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { HeaderEdits } from './edits.ts';
import type { HeaderLine } from './exchange.ts';
import { KIND } from './fields.ts';
import { Head } from './head.ts';
import { COMPLETE, INCOMPLETE, parseRequest } from './parse.ts';
import { limits, request, summary, wire } from './parse.testing.ts';
import { dropTable, hopByHop, isHeaderName, isHeaderValue, renderFields, renderLines } from './render.ts';

const nothing = dropTable([]);
const hop = dropTable(hopByHop);

const withFields = (...lines: string[]): Head =>
  request(`GET / HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`);

test('fields that stay are copied as they were sent', () => {
  const head = withFields('X-One:  a  ', 'x-TWO:b', 'X-One: c');
  assert.equal(renderFields(head, nothing, undefined), 'Host: a\r\nX-One:  a  \r\nx-TWO:b\r\nX-One: c\r\n');
});

test('hop-by-hop fields go wherever they stand, and so does what Connection names', () => {
  const head = withFields(
    'Connection: x-private, keep-alive',
    'A: 1',
    'X-Private: secret',
    'Keep-Alive: timeout=5',
    'x-privatE: again',
    'B: 2',
    'Proxy-Connection: close',
    'Upgrade: websocket',
    'TE: trailers',
    'HTTP2-Settings: x',
    'Proxy-Authorization: Basic eA==',
  );
  assert.equal(renderFields(head, hop, undefined), 'Host: a\r\nA: 1\r\nB: 2\r\n');
});

test('edits drop lines by name and add their own at the end', () => {
  const edits = new HeaderEdits();
  edits.set('X-User', 'me');
  edits.remove('cookie');
  edits.add('a', '2');
  const head = withFields('x-user: forged', 'Cookie: a=b', 'A: 1', 'Cookies: stay');
  assert.equal(
    renderFields(head, nothing, edits),
    'Host: a\r\nA: 1\r\nCookies: stay\r\nx-user: me\r\na: 2\r\n',
  );
});

test('only additions leave everything else alone', () => {
  const edits = new HeaderEdits();
  edits.add('b', '1');
  assert.equal(renderFields(withFields('B: 0'), nothing, edits), 'Host: a\r\nB: 0\r\nb: 1\r\n');
});

test('a name with the hash of an edited one is not dropped with it', () => {
  const edits = new HeaderEdits();
  edits.remove('host');
  // `hou2` has the hash of `host`.
  const head = withFields('hou2: stays');
  assert.equal(head.hashes[0], head.hashes[1]);
  assert.equal(renderFields(head, nothing, edits), 'hou2: stays\r\n');
});

test('a value cannot begin a line of its own, not even by a character that latin1 cuts down to CR or LF', () => {
  const out = renderLines([
    ['a', 'x\r\nSet-Cookie: evil'],
    ['b', 'x\u010aSet-Cookie: evil'],
    ['c', 'x\u010d\u010aY'],
    ['d', 'x\0y\x7fz'],
    ['e', 'caf\xe9\t~'],
    ['f', '\u{1f600}'],
  ]);
  const lines = Buffer.from(out, 'latin1').toString('latin1').split('\r\n');
  assert.deepEqual(lines, [
    'a: x??Set-Cookie: evil',
    'b: x?Set-Cookie: evil',
    'c: x??Y',
    'd: x?y?z',
    'e: caf\xe9\t~',
    'f: ??',
    '',
  ]);
});

test('invalid header names and values are recognized', () => {
  for (const name of ['a', 'X-Y_z', "!#$%&'*+.^_`|~0"]) assert.equal(isHeaderName(name), true, name);
  for (const name of ['', 'a b', 'a:', 'a\r', 'é', 'a\u010a', '(a)'])
    assert.equal(isHeaderName(name), false, name);
  for (const value of ['', 'a b', '\t', '\xff']) assert.equal(isHeaderValue(value), true);
  for (const value of ['\n', 'a\rb', '\0', '\x7f', '\u010a', '\u{1f600}'])
    assert.equal(isHeaderValue(value), false);
});

const token = fc.string({
  unit: fc.constantFrom(...'abcXYZ019-_!~'),
  minLength: 1,
  maxLength: 20,
});
const value = fc.string({
  unit: fc.integer({ min: 0x21, max: 0xff }).map((c) => (c === 0x7f ? 'a' : String.fromCharCode(c))),
  maxLength: 40,
});
const own = /^(?:host|content[-_]length|transfer[-_]encoding|connection|expect)$/i;
const field = fc.tuple(token, value).filter(([name]) => !own.test(name));

test('a rendered head parses back to the same fields', () => {
  fc.assert(
    fc.property(fc.array(field, { maxLength: 30 }), (fields: HeaderLine[]) => {
      const head = request(`GET / HTTP/1.1\r\nHost: a\r\n${renderLines(fields)}\r\n`);
      const expected = [['host', 'a'], ...fields.map(([name, text]) => [name.toLowerCase(), text])];
      assert.deepEqual(head.lines(), expected);
      const again = request(`GET / HTTP/1.1\r\n${renderFields(head, nothing, undefined)}\r\n`);
      assert.deepEqual(again.lines(), expected);
    }),
    { numRuns: 500 },
  );
});

test('renderFields keeps exactly what neither table, Connection nor edits drop', () => {
  const names = ['a', 'b', 'keep-alive', 'x-c', 'te', 'upgrade', 'server', 'date'];
  const line = fc.tuple(fc.constantFrom(...names), fc.constantFrom('1', '2', ''));
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.subarray(['a', 'b', 'x-c']),
      fc.subarray(['a', 'server', 'nope']),
      (fields, named, removed) => {
        const head = withFields(
          ...(named.length === 0 ? [] : [`Connection: ${named.join(', ')}`]),
          ...fields.map(([name, text]) => `${name.toUpperCase()}: ${text}`),
        );
        const edits = new HeaderEdits();
        for (const name of removed) edits.remove(name);
        const kept = request(`GET / HTTP/1.1\r\n${renderFields(head, hop, edits)}\r\n`).lines();
        const gone = new Set([...named, ...removed, 'keep-alive', 'te', 'upgrade']);
        assert.deepEqual(kept, [['host', 'a'], ...fields.filter(([name]) => !gone.has(name))]);
      },
    ),
    { numRuns: 500 },
  );
});

test('a head that arrives in any pieces is read as the whole', () => {
  fc.assert(
    fc.property(
      fc.array(field, { maxLength: 8 }),
      fc.array(fc.nat(400), { maxLength: 6 }),
      (fields, cuts) => {
        const text = `POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n${renderLines(fields)}\r\n`;
        const bytes = wire(text);
        const head = new Head(100);
        for (const cut of cuts.toSorted((a, b) => a - b)) {
          if (cut >= bytes.length) break;
          assert.equal(parseRequest(bytes, 0, cut, head, limits), INCOMPLETE);
        }
        assert.equal(parseRequest(bytes, 0, bytes.length, head, limits), COMPLETE);
        head.text = text;
        assert.deepEqual(summary(head), summary(request(text)));
        assert.equal(head.kinds[1], KIND.contentLength);
      },
    ),
    { numRuns: 300 },
  );
});
