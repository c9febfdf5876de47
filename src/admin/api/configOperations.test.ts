import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigConflict, ConfigFile, effectiveTree } from '../../config/index.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
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
    tree: () => undefined,
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

test('the tree of the configuration has the origin of each value, and no secret that the process knows', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tree-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'config.yaml');
  const text = 'config: { logging: { level: $LEVEL } }\nbinds:\n- port: 8080\n  listeners: []\n';
  writeFileSync(file, text);
  const env = { LEVEL: 'a-known-secret', ADMIN_ADDR: 'off' };
  rememberSecrets([env.LEVEL]);
  const document = new ConfigFile({ source: { file }, name: file, env });
  t.after(() => document.close());
  const config = configViews({
    document,
    conflict: ConfigConflict,
    schema: () => '{}',
    mask: (whole) => whole,
    tree: () =>
      effectiveTree(text, {
        file,
        env,
        flags: { ADMIN_ADDR: '--no-admin' },
        mark: '?',
        shownArguments: (list) => list,
      }),
    model: () => undefined,
    sessions: () =>
      Promise.resolve({ sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] }),
    isControlled: false,
    onWritten: () => undefined,
  });
  const views = {
    configState: () => ({ source: file }),
    model: () => undefined,
    masked: { settings: new Map(), fields: new Set() },
  } as unknown as AdminViews;
  const operations = configOperations(views, { config } as GatewayViews);
  const get = operations.find(({ method, path }) => method === 'GET' && path === '/api/v1/config');
  const { body } = await (get ?? assert.fail()).page.answer({
    method: 'GET',
    query: new URLSearchParams(),
    parameters: {},
    headers: {},
    body: '',
    caller: { role: 'viewer', by: 'session' },
  });
  interface Field {
    readonly name: string;
    readonly fields?: readonly Field[];
  }
  const { tree } = JSON.parse(String(body)) as { readonly tree: readonly Field[] };
  const at = (fields: readonly Field[], ...[first, ...rest]: string[]): Field => {
    const found = fields.find(({ name }) => name === first) ?? assert.fail(first);
    return rest.length === 0 ? found : at(found.fields ?? [], ...rest);
  };
  const port = { name: 'port', value: 8080, from: 'file', place: 'config.yaml:3:3' };
  assert.deepEqual(at(tree, 'binds', '0', 'port'), port);
  const level = { value: '[redacted]', from: 'variable', by: 'LEVEL', place: 'config.yaml:1:22' };
  assert.deepEqual(at(tree, 'config', 'logging', 'level'), { name: 'level', ...level });
  const admin = { value: 'off', from: 'flag', by: '--no-admin' };
  assert.deepEqual(at(tree, 'config', 'adminAddr'), { name: 'adminAddr', ...admin });
  const stats = { value: '[::]:15020', from: 'default' };
  assert.deepEqual(at(tree, 'config', 'statsAddr'), { name: 'statsAddr', ...stats });
});
