import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyName } from '../provision/names.ts';
import { mcpAccountName, mcpModelKey, mcpOfModel, mcpPodName, podKeyOf } from './mcpPodNames.ts';

const ours = 'portcullis.dev/gateway';
const names = ['a', 'a.b', 'a-b', '1st', 'gw', 'x'.repeat(253), `${'x'.repeat(40)}.a`, `${'x'.repeat(40)}.b`];
const targets = ['a', 'A', 'a_b', 'a.b', '1', `${'x'.repeat(63)}a`, `${'x'.repeat(63)}b`];
const pairs = names.flatMap((name) => targets.map((target) => [name, target] as const));

test('pods are called as a Service can be, each target, McpBackend and controller by another name', () => {
  const all = pairs.flatMap((pair) => [mcpPodName(ours, ...pair), mcpPodName('example.com/other', ...pair)]);
  for (const name of all) assert.match(name, /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/);
  assert.equal(new Set(all).size, all.length);
});

test('no Gateway has an account of theirs, however it is called', () => {
  for (const [name, target] of pairs) {
    const account = mcpAccountName(ours, name, target);
    assert.match(account, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    for (const gateway of [account, mcpPodName(ours, name, target), name])
      assert.notEqual(proxyName(gateway), account);
  }
});

test('models are asked for by a key that no Gateway has', () => {
  assert.equal(mcpModelKey(podKeyOf('ns/tools', 'files')), 'ns/mcp_tools_files');
  for (const [name, target] of pairs) {
    const model = mcpModelKey(podKeyOf(`ns/${name}`, target)).split('/');
    assert.equal(model.length, 2);
    assert.deepEqual(mcpOfModel(model[1] ?? ''), { name, target });
  }
  for (const gateway of ['mcp', 'mcp-tools', 'mcp.tools', 'tools'])
    assert.equal(mcpOfModel(gateway), undefined);
});
