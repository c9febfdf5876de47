import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ShownSecrets } from './shownSecrets.testing.ts';

test('the look for secrets finds tokens, secrets of the configuration, and both in audit files', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shown-secrets-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, lines] = [join(folder, 'config.yaml'), join(folder, 'audit.jsonl')];
  const route = { policies: { backendAuth: { key: '${KEY}' } }, backends: [{ host: 'app:1' }] };
  const config = { audit: { sink: { file: { path: lines } } } };
  writeFileSync(file, JSON.stringify({ config, binds: [{ port: 0, listeners: [{ routes: [route] }] }] }));
  const secrets = new ShownSecrets(file, { KEY: 'key-of-the-backend' });
  secrets.check('the log', 'nothing');
  secrets.checkFiles();
  assert.throws(() => secrets.check('the log', 'sent key-of-the-backend'), /the log shows a secret/);
  const token = ['eyJhbGciOiJFUzI1NiJ9', 'eyJzdWIiOiJhbGljZSJ9', 'c2lnbmF0dXJlLW9mLTE2'].join('.');
  assert.throws(() => secrets.check('the log', `token ${token}`), /the log shows a token/);
  writeFileSync(lines, `{"a":"${token}"}\n`);
  assert.throws(() => secrets.checkFiles(), /audit\.jsonl shows a token/);
});
