import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StdioRequests } from './stdioRequests.ts';

const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const line = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

test('headers repeat the revision, the method and the name of a request', () => {
  const requests = new StdioRequests();
  assert.deepEqual(requests.headersOf(line('tools/call', { name: 'echo', _meta: meta })), {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'echo',
  });
  assert.equal(
    requests.headersOf(line('resources/read', { uri: 'file:///é', _meta: meta }))?.['mcp-name'],
    '=?base64?ZmlsZTovLy/DqQ==?=',
  );
  assert.equal(requests.headersOf(line('tools/list', { _meta: meta }))?.['mcp-name'], undefined);
});

test('headers repeat the parameters that a list of tools has marked', () => {
  const requests = new StdioRequests();
  const properties = { region: { type: 'string', 'x-mcp-header': 'Region' } };
  const tools = [{ name: 'find', inputSchema: { type: 'object', properties } }];
  requests.learn(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } }));
  const headers = (name: string): Record<string, string> | undefined =>
    requests.headersOf(line('tools/call', { name, arguments: { region: 'eu' }, _meta: meta }));
  assert.equal(headers('find')?.['mcp-param-region'], 'eu');
  assert.equal(headers('other')?.['mcp-param-region'], undefined);
});

test('a message of an older revision, a notification and a text that is no message get no headers', () => {
  const requests = new StdioRequests();
  for (const text of [
    line('tools/list', {}),
    line('initialize', { protocolVersion: '2025-11-25', capabilities: {} }),
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { _meta: meta } }),
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":',
  ])
    assert.equal(requests.headersOf(text), undefined);
});
