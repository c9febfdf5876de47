import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigConflict, ConfigFile } from '../../config/index.ts';
import { configViews } from '../../gateway/index.ts';
import type { Model } from '../../model/index.ts';
import type { AdminViews, GatewayViews } from '../contract.ts';
import { configOperations } from './configOperations.ts';

test('an edit is refused with 412 where the file changes while the edit is checked', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'late-edit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  writeFileSync(file, 'binds: [] # first\n');
  const document = new ConfigFile({ source: { file }, name: file, env: {} });
  t.after(() => document.close());
  const config = configViews({
    document,
    conflict: ConfigConflict,
    schema: () => '{}',
    mask: (text) => text,
    model: () => ({ process: { consoleWrites: true }, binds: [] }) as unknown as Model,
    sessions: () =>
      Promise.resolve({ sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] }),
    isControlled: false,
    onWritten: () => assert.fail('nothing was written'),
  });
  const late: GatewayViews['config'] = {
    ...config,
    check: async (text) => {
      const result = await config.check(text);
      writeFileSync(file, 'binds: [] # of another editor\n');
      return result;
    },
  };
  const operations = configOperations({} as AdminViews, { config: late } as GatewayViews);
  const put = operations.find(({ method }) => method === 'PUT') ?? assert.fail();
  const { status, body } = await put.page.answer({
    method: 'PUT',
    query: new URLSearchParams(),
    parameters: {},
    headers: { 'content-type': 'application/json', 'if-match': config.read().etag },
    body: JSON.stringify({ text: 'binds: [] # mine\n' }),
    caller: { role: 'operator', by: 'owner' },
  });
  assert.equal(status, 412, String(body));
  assert.equal(readFileSync(file, 'utf8'), 'binds: [] # of another editor\n');
});
