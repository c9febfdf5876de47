/** A user of Chromium logs in, works in two tabs, and logs out, over https. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { startDevIdp } from '../../apps/dev-idp/src/index.ts';
import { certificate } from '../../src/proxy/certificates.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { startGateway } from './gateway.testing.ts';
import { inline, startEchoApp } from './stage.testing.ts';

const program = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);
const path = program && spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();

test(
  'a user of Chromium logs in, works in two tabs, and logs out',
  { skip: path === undefined ? 'chromium is not installed' : false, timeout: 120_000 },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-chromium-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const [port = 0] = await freePorts(1);
    const app = `https://app.localhost:${port}`;
    const idp = await startDevIdp({
      port: 0,
      config: {
        clients: [{ id: 'app', secret: 'app-secret', redirectUris: [`${app}/oauth/callback`] }],
        users: [{ name: 'alice', groups: ['staff'] }, { name: 'bob' }],
      },
    });
    t.after(() => idp.close());
    await using echo = await startEchoApp();
    const { cert, key } = certificate({ names: ['app.localhost'] });
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
    await using gateway = await startGateway(`
config: { session: { key: ${'ef'.repeat(32)} }, workers: 2 }
binds:
- port: ${port}
  listeners:
  - protocol: HTTPS
    tls: ${inline(files)}
    routes:
    - policies: ${inline({
      oidc: {
        issuer: idp.issuer,
        clientId: 'app',
        clientSecret: 'app-secret',
        redirectURI: `${app}/oauth/callback`,
      },
      authorization: { rules: ['"staff" in jwt.groups'] },
    })}
      backends: [{ host: '127.0.0.1:${echo.port}' }]
`);
    const browser = await chromium.launch({
      executablePath: path ?? '',
      args: ['--no-sandbox', '--disable-quic'],
    });
    t.after(() => browser.close());
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await context.newPage();

    // Two tabs begin a login; the second is completed first.
    await page.goto(`${app}/anything/first?tab=1`);
    assert.ok(page.url().startsWith(idp.url), page.url());
    const second = await context.newPage();
    await second.goto(`${app}/anything/second?tab=2`);
    for (const [tab, place] of [
      [second, '/anything/second?tab=2'],
      [page, '/anything/first?tab=1'],
    ] as const) {
      await tab.getByRole('button', { name: 'alice' }).click();
      await tab.waitForURL(app + place);
    }

    const cookies = await context.cookies(app);
    assert.deepEqual(
      cookies.map(({ name, httpOnly, secure, sameSite }) => [
        /^__Host-portcullis-oidc-\w+-0$/.test(name),
        httpOnly,
        secure,
        sameSite,
      ]),
      [[true, true, true, 'Lax']],
    );
    const body = (await page.textContent('body')) ?? '';
    assert.doesNotMatch(body, /portcullis-oidc/, 'the backend got no cookie of the login');
    assert.equal(await page.evaluate('document.cookie'), '');
    const statusOf = (path: string): Promise<unknown> =>
      page.evaluate(`fetch(${JSON.stringify(path)}).then(({ status }) => status)`);
    assert.equal(await statusOf('/anything/api'), 200);

    // Another site may not log the user out: the gateway asks first.
    const other = await context.newPage();
    await other.goto(`${idp.issuer}/.well-known/openid-configuration`);
    await other.evaluate(`location.href = ${JSON.stringify(`${app}/oauth/logout`)}`);
    await other.waitForURL(`${app}/oauth/logout`);
    assert.equal(await statusOf('/anything/api'), 200);
    await other.getByRole('button', { name: 'Log out' }).click();
    await other.getByRole('heading', { name: 'Logged out' }).waitFor();
    assert.deepEqual(await context.cookies(app), []);
    assert.equal(await statusOf('/anything/api'), 401);

    await page.goto(`${app}/anything/again`);
    await page.getByRole('button', { name: 'bob' }).click();
    await page.waitForURL(`${app}/anything/again`);
    assert.match((await page.textContent('body')) ?? '', /authorization failed/);
    assert.doesNotMatch(gateway.log(), /eyJ/);
  },
);
