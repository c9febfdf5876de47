import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import { PinFolder } from '../../pins/index.ts';
import { catalog, mcpBackend, startHarness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';

const files = catalog({ name: 'files', tools: ['read', 'write', 'delete'] });
const other = catalog({ name: 'other', tools: ['read'] });
const view = { rest: 'show', tools: [{ name: 'delete', hide: true }] } as const;

test('the access log names the item and the reason of each refused request', async (t) => {
  const pins = mkdtempSync(join(tmpdir(), 'portcullis-refusals-'));
  const harness = await startHarness({
    runtime: { pins: new PinFolder(pins) },
    caller: () => ({ principal: 'ada', mayUse: ({ name }) => name !== 'write' }),
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
    return [json.error?.code, notes.get('mcp.tool'), notes.get('mcp.refusal')];
  };
  const one = { targets: [files] };
  const several = { targets: [files, other] };
  for (const [settings, name, refusal] of [
    [one, 'write', 'item rule'],
    [one, 'delete', 'view'],
    [several, 'files_write', 'item rule'],
    [several, 'files_delete', 'view'],
    [several, 'nobody_read', 'mcp_unknown_tool'],
    [{ ...one, pin: 'enforce' }, 'missing', 'pin'],
  ] as const)
    assert.deepEqual(await refusalOf(settings, name), [-32602, name, refusal]);
  assert.deepEqual(await refusalOf(several, 'files_read'), [undefined, 'files_read', undefined]);
});
