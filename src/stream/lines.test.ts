import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineCut, LineTooLong, lines } from './lines.ts';

const gather = async (chunks: readonly string[], maxBytes = 100): Promise<string[]> => {
  const found: string[] = [];
  const stream = (async function* () {
    for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
  })();
  for await (const line of lines(stream, maxBytes)) found.push(line);
  return found;
};

test('lines are the same however they are cut', async () => {
  const text = '{"a":1}\n\n{"ü":"🌍"}\r\n{"b":2}\n';
  const expected = await gather([text]);
  assert.deepEqual(expected, ['{"a":1}', '{"ü":"🌍"}\r', '{"b":2}']);
  const bytes = Buffer.from(text);
  for (let at = 1; at < bytes.length; at++) {
    const found: string[] = [];
    const stream = (async function* () {
      yield await Promise.resolve(bytes.subarray(0, at));
      yield bytes.subarray(at);
    })();
    for await (const line of lines(stream, 100)) found.push(line);
    assert.deepEqual(found, expected);
  }
});

test('a line that does not end is refused at its limit, one that is cut at the end', async () => {
  await assert.rejects(gather(['x'.repeat(60), 'x'.repeat(60)]), LineTooLong);
  await assert.rejects(gather(['{"a":1}\n{"b"']), LineCut);
});
