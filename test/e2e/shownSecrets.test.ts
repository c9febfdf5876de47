import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkShown, usedSecret } from '../../src/usedSecrets.testing.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { ShownSecrets } from './shownSecrets.testing.ts';

// In parts, so that the file itself holds no token.
const token = ['eyJhbGciOiJFUzI1NiJ9', 'eyJzdWIiOiJhbGljZSJ9', 'c2lnbmF0dXJlLW9mLTE2'].join('.');

test('the look for secrets finds tokens, secrets of the configuration, and both in audit files', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shown-secrets-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, lines] = [join(folder, 'config.yaml'), join(folder, 'audit.jsonl')];
  const checkpoints = join(folder, 'checkpoints.jsonl');
  writeFileSync(join(folder, 'chain.key'), 'k'.repeat(48));
  const route = { policies: { backendAuth: { key: '${KEY}' } }, backends: [{ host: 'app:1' }] };
  const chain = { key: { file: join(folder, 'chain.key') }, checkpoints: { file: checkpoints } };
  const config = { audit: { sink: { file: { path: lines } }, chain } };
  writeFileSync(file, JSON.stringify({ config, binds: [{ port: 0, listeners: [{ routes: [route] }] }] }));
  const secrets = new ShownSecrets(file, { KEY: 'key-of-the-backend' });
  secrets.check('the log', 'nothing');
  secrets.checkFiles();
  assert.throws(() => secrets.check('the log', 'sent key-of-the-backend'), /the log shows a secret/);
  assert.throws(() => secrets.check('the log', `token ${token}`), /the log shows a token/);
  for (const [written, name] of [
    [lines, /audit\.jsonl shows a token/],
    [`${lines}.1`, /audit\.jsonl\.1 shows a token/],
    [checkpoints, /checkpoints\.jsonl shows a token/],
  ] as const) {
    writeFileSync(written, `{"a":"${token}"}\n`);
    assert.throws(() => secrets.checkFiles(), name);
    writeFileSync(written, '');
  }
});

test('the look for secrets knows the secrets in messages of this process', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('set-cookie', 'session=cookie-of-the-server; Path=/');
      response.end('{"access_token":"token-of-the-server"}');
    });
  });
  const { port, close } = await listenOnLoopback(server);
  try {
    const url = `http://127.0.0.1:${port}/callback?code=code-in-the-address`;
    const basic = Buffer.from('ada:password-of-ada').toString('base64');
    const headers = { authorization: `Basic ${basic}`, cookie: 'a=b; login=cookie-of-the-client' };
    await ask(url, {
      headers: { ...headers, 'mcp-session-id': 'id-of-the-session', 'x-api-key': 'key-of-ada' },
    });
    await fetch(url, {
      method: 'POST',
      headers: { authorization: 'Bearer opaque-token-of-ada' },
      body: new URLSearchParams({ client_secret: 'secret-in-the-form', scope: 'scope-in-the-form' }),
    });
  } finally {
    await close();
  }
  usedSecret('secret-of-a-helper');
  checkShown('the log', 'ada, scope-in-the-form, no secret');
  for (const shown of [
    'token-of-the-server',
    'cookie-of-the-server',
    'code-in-the-address',
    'password-of-ada',
    'cookie-of-the-client',
    'id-of-the-session',
    'key-of-ada',
    'opaque-token-of-ada',
    'secret-in-the-form',
    'secret-of-a-helper',
  ])
    assert.throws(
      () => checkShown('the log', `it has ${shown}`),
      /the log shows a secret that a test used/,
      shown,
    );
});

test('the end of a gateway reads its records of requests', async () => {
  const gateway = await startGateway('binds: [{ port: 0, listeners: [{ routes: [] }] }]');
  assert.equal((await ask(`${gateway.url}/path-that-a-record-shows`)).status, 404);
  usedSecret('path-that-a-record-shows');
  await assert.rejects(gateway.stop(), /\/api\/v1\/requests shows a secret that a test used/);
});
