import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import { PinFolder } from '../../pins/index.ts';
import { catalog, mcpBackend, startHarness, rulesBy } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';

const files = catalog({ name: 'files', tools: ['read', 'write', 'delete'] });
const other = catalog({ name: 'other', tools: ['read'] });
const view = { rest: 'show', tools: [{ name: 'delete', hide: true }] } as const;

test('the access log names the item and the reason of each refused request', async (t) => {
  const pins = mkdtempSync(join(tmpdir(), 'portcullis-refusals-'));
  const harness = await startHarness({
    runtime: { pins: new PinFolder(pins) },
    caller: () => ({ principal: 'ada', ...rulesBy(({ name }) => name !== 'write') }),
  });
  t.after(async () => {
    await harness.close();
    rmSync(pins, { recursive: true });
  });
  const refusalOf = async (settings: Partial<McpBackend>, name: string): Promise<unknown[]> => {
    harness.use(mcpBackend({ view, ...settings }));
    const client = new RawClient(harness.url);
    await client.initialize();
    const { json } = await client.post(client.tool(name));
    const notes = harness.annotations.at(-1)!;
    const fields = ['mcp.tool', 'mcp.refusal', 'mcp.outcome', 'rule', 'policy'];
    return [json.error?.code, ...fields.map((field) => notes.get(field))];
  };
  // The name that the server knows, where there is one.
  const ownName = (name: string): string => name.replace(/^files_/, '');
  const byRule = ['refused', 'test rule', 'mcpAuthorization'];
  const one = { targets: [files] };
  const several = { targets: [files, other] };
  for (const [settings, name, ...reason] of [
    [one, 'write', 'item rule', ...byRule],
    [one, 'delete', 'view', 'refused', 'view', undefined],
    [several, 'files_write', 'item rule', ...byRule],
    [several, 'files_delete', 'view', 'refused', 'view', undefined],
    [several, 'nobody_read', 'mcp_unknown_tool', 'refused', undefined, undefined],
    [{ ...one, pin: 'enforce' }, 'missing', 'pin', 'refused', 'pin', undefined],
    [{ ...one, pin: 'enforce' }, 'write', 'item rule', ...byRule],
  ] as const)
    assert.deepEqual(await refusalOf(settings, name), [-32602, ownName(name), ...reason]);
  const none = [undefined, undefined, undefined, undefined];
  assert.deepEqual(await refusalOf(several, 'files_read'), [undefined, 'read', ...none]);
});

test('the access log names the rule in every way in which a refused call can come', async (t) => {
  const harness = await startHarness({
    caller: () => ({ principal: 'ada', ...rulesBy(({ name }) => name !== 'write') }),
    backend: mcpBackend({ targets: [files] }),
  });
  t.after(() => harness.close());
  const named = (): unknown[] =>
    ['rule', 'policy', 'mcp.outcome'].map((field) => harness.annotations.at(-1)?.get(field));
  const expected = ['test rule', 'mcpAuthorization', 'refused'];
  const batches = new RawClient(harness.url);
  await batches.initialize('2025-03-26');
  await batches.post([batches.tool('write')]);
  assert.deepEqual(named(), expected, 'batch');
  const modern = new RawModernClient(harness.url);
  assert.match((await modern.post('tools/call', { name: 'write', arguments: {} })).text, /-32602/);
  assert.deepEqual(named(), expected, 'modern');
  harness.use(mcpBackend({ targets: [files], stateless: true }));
  const stateless = new RawClient(harness.url);
  await stateless.post(stateless.tool('write'));
  assert.deepEqual(named(), expected, 'stateless');
});
