import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyName } from '../provision/names.ts';
import { mcpAccountName, mcpModelKey, mcpOfModel, mcpPodName } from './mcpPodNames.ts';

const ours = 'portcullis.dev/gateway';
const names = ['a', 'a.b', 'a-b', '1st', 'gw', 'x'.repeat(253), `${'x'.repeat(40)}.a`, `${'x'.repeat(40)}.b`];

test('pods are called as a Service can be, each McpBackend and each controller by another name', () => {
  const all = names.flatMap((name) => [mcpPodName(ours, name), mcpPodName('example.com/other', name)]);
  for (const name of all) assert.match(name, /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
  assert.equal(new Set(all).size, all.length);
});

test('no Gateway has an account of theirs, however it is called', () => {
  for (const name of names) {
    const account = mcpAccountName(ours, name);
    assert.match(account, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    for (const gateway of [account, mcpPodName(ours, name), name])
      assert.notEqual(proxyName(gateway), account);
  }
});

test('models are asked for by a key that no Gateway has', () => {
  assert.equal(mcpModelKey('ns/tools'), 'ns/mcp_tools');
  assert.equal(mcpOfModel('mcp_tools.example'), 'tools.example');
  for (const gateway of ['mcp', 'mcp-tools', 'mcp.tools', 'tools'])
    assert.equal(mcpOfModel(gateway), undefined);
});
