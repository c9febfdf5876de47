import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toolCall, withTool } from './requestText.ts';

test('the tool of a written call can be replaced, and its arguments stay', () => {
  const text = toolCall('localhost:3000', '/mcp', 'echo', { message: 'a' });
  const other = withTool(text, 'get-sum') ?? '';
  assert.deepEqual(JSON.parse(other.split('\n\n')[1] ?? ''), {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get-sum', arguments: { message: 'a' } },
  });
  assert.equal(other.split('\n\n')[0], text.split('\n\n')[0]);
  assert.equal(withTool('GET / HTTP/1.1\nHost: a\n\n', 'echo'), undefined);
});
