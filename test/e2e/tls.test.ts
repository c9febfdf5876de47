/** The configurations under examples/tls run as they stand there. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { askSecurely, type Answer } from './http.testing.ts';
import { startEchoApp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const example = fileURLToPath(new URL('../../examples/tls/listeners.yaml', import.meta.url));

test('examples/tls/listeners.yaml', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const ca = authority();
  const partners = authority('partners');
  const shop = ca.issue({ names: ['shop.example.com'] });
  const partner = ca.issue({ names: ['*.partners.example.com'] });
  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  put('shop.pem', shop.cert);
  put('shop.key', shop.key);
  put('partners.pem', partner.cert);
  put('partners.key', partner.key);
  put('partners-ca.pem', partners.cert);
  await using echo = await startEchoApp();
  await using gateway = await startGateway('', {
    args: ['-f', example],
    env: { GATEWAY_PORT: '0', TLS_FOLDER: folder, ECHO_HOST: `127.0.0.1:${echo.port}` },
  });
  const [port = 0] = gateway.ports;
  const ask = (host: string, options: RequestOptions): Promise<Answer> =>
    askSecurely(port, host, { path: '/headers', ...options });

  const { status, body } = await ask('shop.example.com', { ca: ca.cert });
  assert.equal(status, 200);
  assert.match(body, /"X-Forwarded-Proto":\s*\[\s*"https"/);

  const acme = 'acme.partners.example.com';
  await assert.rejects(ask(acme, { ca: ca.cert }));
  assert.equal((await ask(acme, { ca: ca.cert, ...partners.issue({ name: 'acme' }) })).status, 200);
  await assert.rejects(ask(acme, { ca: ca.cert, ...ca.issue({ name: 'stranger' }) }));
  await assert.rejects(ask('other.example.com', { ca: ca.cert }));

  const certificates = async (): Promise<{ state: string; certificate: string; expiresAt: string }[]> => {
    const details = await (await fetch(`${gateway.readiness}/readyz`)).json();
    return (details as { certificates: { state: string; certificate: string; expiresAt: string }[] })
      .certificates;
  };
  assert.deepEqual(
    (await certificates()).map(({ state }) => state),
    ['ready', 'ready'],
  );
  put('shop.pem', 'broken');
  await until('the broken file is noticed', async () =>
    (await certificates()).some(
      ({ state, certificate }) => state === 'stale' && certificate.endsWith('shop.pem'),
    ),
  );
  assert.equal((await ask('shop.example.com', { ca: ca.cert })).status, 200);
  const metrics = await gateway.metrics();
  assert.match(metrics, /^portcullis_tls_handshakes_total\{result="ok"\} \d+$/m);
  assert.match(metrics, /^portcullis_tls_handshakes_total\{result="no_listener"\} 1$/m);
});
