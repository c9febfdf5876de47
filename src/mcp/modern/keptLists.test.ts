import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modernResponse } from './modernResult.ts';

const response = (id: string, result: object): string =>
  `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
const made = (id: string, result: object, isPrivate = true, method = 'tools/list'): unknown =>
  JSON.parse(modernResponse(response(id, result), method, id, isPrivate).text);

test('a list that comes again is turned alike, under the id of each request', () => {
  const tools = [{ name: 'a' }, { name: 'b' }];
  const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools };
  for (const id of ['1', '"two"', '3', '1'])
    assert.deepEqual(made(id, { tools }), { jsonrpc: '2.0', id: JSON.parse(id) as unknown, result });
});

test('lists of other methods, other callers and other contents are not mixed up', () => {
  const given = { tools: [], ttlMs: 500, cacheScope: 'public' };
  const isPrivate = { ...given, ttlMs: 0, cacheScope: 'private', resultType: 'complete' };
  const isPublic = { ...given, resultType: 'complete' };
  for (let asked = 0; asked < 3; asked++) {
    assert.deepEqual(made('1', given), { jsonrpc: '2.0', id: 1, result: isPrivate });
    assert.deepEqual(made('1', given, false), { jsonrpc: '2.0', id: 1, result: isPublic });
    assert.deepEqual(made('1', given, true, 'tools/call'), { jsonrpc: '2.0', id: 1, result: isPublic });
    assert.deepEqual(made('1', { tools: [{ name: String(asked) }] }), {
      jsonrpc: '2.0',
      id: 1,
      result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [{ name: String(asked) }] },
    });
  }
});

test('only the newest lists are kept, and the others are turned anew', () => {
  for (let nth = 0; nth < 40; nth++) made('1', { tools: [{ name: `tool ${nth}` }] });
  const { result } = made('9', { tools: [{ name: 'tool 0' }] }) as { result: { tools: unknown } };
  assert.deepEqual(result.tools, [{ name: 'tool 0' }]);
});
