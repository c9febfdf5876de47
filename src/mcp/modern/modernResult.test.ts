import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope } from '../json/envelope.ts';
import { modernResponse, modernResult } from './modernResult.ts';

/** Results of a tool as servers write them, and as the client gets them. */
const results = [
  ['{"content":[]}', '{"resultType":"complete","content":[]}'],
  ['{}', '{"resultType":"complete"}'],
  ['{"resultType":"complete","content":[]}', undefined],
  ['{"content":[],"resultType":"complete"}', undefined],
  ['{ "content": [], "resultType": "complete" }', undefined],
  [
    '{"structuredContent":{"resultType":"complete"}}',
    '{"resultType":"complete","structuredContent":{"resultType":"complete"}}',
  ],
  [
    '{"content":"\\"resultType\\":\\"complete\\""}',
    '{"resultType":"complete","content":"\\"resultType\\":\\"complete\\""}',
  ],
] as const;

test('a result says its type, whether it is read again or not', () => {
  for (const [given, shown = given] of results) {
    const text = `{"result":${given},"jsonrpc":"2.0","id":7}`;
    const expected = `{"result":${shown},"jsonrpc":"2.0","id":"a"}`;
    const response = readEnvelope(text);
    assert.ok(typeof response === 'object');
    assert.equal(modernResult(response, 'tools/call', '"a"', false), expected);
    assert.equal(modernResponse(text, 'tools/call', '"a"', false).text, expected);
  }
});
