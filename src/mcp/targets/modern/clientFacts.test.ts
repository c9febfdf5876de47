import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message } from '../kind/waiter.testing.ts';
import { carried, clientFacts, isCarried, metaOf, readCarried } from './clientFacts.ts';

const initialize = (params: object) =>
  message({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', ...params },
  });

test('a client that says little of itself is repeated without what it does not say', () => {
  for (const params of [{}, { clientInfo: { name: 'x' }, capabilities: [] }, { clientInfo: null }])
    assert.deepEqual(JSON.parse(`{${metaOf(clientFacts(initialize(params), true))}}`), {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    });
});

test('another process reads the facts of a client, as far as they fit into an id', () => {
  const of = (info: object, capabilities: object) =>
    clientFacts(initialize({ clientInfo: info, capabilities }), true);
  const small = of({ name: 'é\u{1f600}"', version: '1' }, { roots: { listChanged: true } });
  const long = of({ name: 'n'.repeat(600), version: '1' }, { sampling: { tools: {} } });
  const huge = of(
    { name: 'n', version: '1' },
    { elicitation: { url: {} }, experimental: { x: 'é'.repeat(500) } },
  );
  const read = [small, long, huge].map((facts) => {
    const text = carried(facts);
    assert.ok(isCarried(text) && text.length <= 512 && /^[\x20-\x7e]+$/.test(text));
    const { info, capabilities } = readCarried(text);
    return [
      info === undefined ? undefined : (JSON.parse(info) as unknown),
      JSON.parse(capabilities) as unknown,
    ];
  });
  assert.deepEqual(read, [
    [{ name: 'é\u{1f600}"', version: '1' }, { roots: { listChanged: true } }],
    [undefined, { sampling: { tools: {} } }],
    [undefined, { elicitation: {} }],
  ]);
  assert.equal(isCarried('a-session-of-a-server'), false);
  assert.deepEqual(readCarried(' rubbish'), { info: undefined, capabilities: '{}' });
});
