import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mcpBackendSchema } from './mcpSchema.ts';

const accepted = (path: string): boolean =>
  mcpBackendSchema.safeParse({ targets: [{ name: 'a', service: { name: 'a', port: 80, path } }] }).success;

test('a path is visible ASCII: nothing that could end the line that it stands in', () => {
  for (const path of ['/', '/mcp', '/v1/mcp;a=b', "/~a!$&'()*+,=:@%20"])
    assert.equal(accepted(path), true, path);
  for (const path of [
    ...['', 'mcp', '/a b', '/a\r\nx: y', '/a?b', '/a#b', '/\x00', '/\x7f', '/\u00e9'],
    // A byte a character, these are spaces and line breaks.
    '/a\u0120HTTP/1.1\u010d\u010ax: y',
  ])
    assert.equal(accepted(path), false, JSON.stringify(path));
});
