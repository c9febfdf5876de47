import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCases, requestCases, streamCases } from './cases/index.ts';
import { unexpected } from './expected.ts';
import { compareReaders, llhttp } from './otherReaders.ts';
import { strict } from './reader.ts';
import { doubtOf, sloppy } from './readers.ts';
import { runCases, withOwnLanes } from './suite.ts';

/** The test runs every so many cases: all of them are `npm run conformance:http`. */
const STEP = 4;
const some = <T>(cases: readonly T[]): readonly T[] => cases.filter((_case, i) => i % STEP === 0);

test('smuggled requests are refused, sound ones forwarded, and ambiguous ones never', async () => {
  const cases = { requests: some(requestCases), answers: some(answerCases), streams: some(streamCases) };
  const verdicts = await withOwnLanes(4, (lanes) => runCases(lanes, cases));
  assert.deepEqual(
    unexpected(verdicts).map(({ id, fault, problem }) => `${fault ?? ''}: ${id}: ${problem ?? ''}`),
    [],
  );
  assert.ok(verdicts.filter(({ outcome }) => outcome === 'passed').length > verdicts.length / 10);
  const pieces = verdicts.flatMap(({ id, pieces: texts }) => texts.map((text) => ({ id, text })));
  const { problems, agreed } = await compareReaders([llhttp], pieces);
  assert.deepEqual(problems, []);
  assert.ok(agreed > pieces.length, `llhttp took only ${agreed} messages`);
});

const post = (lines: string, body: string): string => `POST / HTTP/1.1\r\nHost: a\r\n${lines}\r\n${body}`;

test('the readers distinguish requests as servers have done', () => {
  const doubtful: Readonly<Record<string, string>> = {
    'two lengths': post('Content-Length: 5\r\nContent-Length: 0\r\n', 'hello'),
    'a length and a coding': post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    'a coding behind a line feed': post(
      'Content-Length: 5\r\nX: y\nTransfer-Encoding: chunked\r\n',
      '0\r\n\r\n',
    ),
    'a coding with an underscore': post('Content-Length: 5\r\nTransfer_Encoding: chunked\r\n', '0\r\n\r\n'),
    'a coding before a vertical tab': post(
      'Content-Length: 5\r\nTransfer-Encoding:\x0bchunked\r\n',
      '0\r\n\r\n',
    ),
    'two hosts': post('Host: b\r\n', ''),
    'a chunk with a sign': post('Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n-0\r\n\r\n'),
  };
  for (const [name, text] of Object.entries(doubtful))
    assert.notEqual(doubtOf(text, 'request'), undefined, name);
  const sound = [
    post('', ''),
    post('Content-Length: 5\r\n', 'hello'),
    post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  ];
  assert.equal(doubtOf(sound.join(''), 'request'), undefined);
  for (const [name, habits] of Object.entries(sloppy)) assert.notDeepEqual(habits, strict, name);
});
