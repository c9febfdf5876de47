import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message } from '../kind/waiter.testing.ts';
import { initializeResponse, readDiscovery } from './discovery.ts';

const found = (result: unknown) => readDiscovery(message({ jsonrpc: '2.0', id: 1, result }));
const least = { supportedVersions: ['2026-07-28'], capabilities: {} };
const initialize = message({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18' },
});

test('only a whole result with the revision of the gateway is an answer of a modern server', () => {
  assert.notEqual(found(least), undefined);
  assert.notEqual(
    found({ ...least, resultType: 'complete', supportedVersions: ['2027-01-01', '2026-07-28'] }),
    undefined,
  );
  for (const result of [
    {},
    { ...least, supportedVersions: ['2025-11-25'] },
    { ...least, supportedVersions: '2026-07-28' },
    { ...least, capabilities: [] },
    { ...least, capabilities: null },
    { ...least, resultType: 'input_required' },
    { ...least, resultType: 7 },
    [],
    'x',
  ])
    assert.equal(found(result), undefined, JSON.stringify(result));
});

test('a text that only looks like JSON is no answer', () => {
  const text = `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":[2026-07-28],"capabilities":{}}}`;
  assert.equal(readDiscovery(message(text)), undefined);
});

test('the answer to initialize has what the server says of itself, in the revision of the client', () => {
  const discovery = found({
    ...least,
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
    serverInfo: { name: 'draft', version: '0' },
    instructions: 'Read "this".',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '2' }, mine: 1 },
    ttlMs: 5,
  })!;
  assert.deepEqual(
    [discovery.listChanges, discovery.hasSubscriptions, discovery.hasLogging],
    [['toolsListChanged'], true, true],
  );
  const { text } = initializeResponse(discovery, initialize, 'target', true);
  assert.deepEqual((JSON.parse(text) as { result: unknown }).result, {
    protocolVersion: '2025-06-18',
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
    serverInfo: { name: 's', version: '2' },
    instructions: 'Read "this".',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '2' }, mine: 1 },
  });
});

test('a server that does not name itself has the name of its target', () => {
  const { text } = initializeResponse(found(least)!, initialize, 'target', true);
  assert.match(text, /"serverInfo":\{"name":"target","version":"0"\}/);
});
