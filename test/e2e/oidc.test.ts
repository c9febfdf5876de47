/** Browsers log in at routes with `oidc`, by real providers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import type { Echo } from '../../apps/echo/src/index.ts';
import { until } from '../../src/until.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask, type Answer } from './http.testing.ts';
import { logInAt, LoginBrowser, providerConfig } from './oidc.testing.ts';
import { inline, startEchoApp } from './stage.testing.ts';

let idp: DevIdp;
/** Its logins last for 3 seconds, and are renewed. */
let shortIdp: DevIdp;
/** Its logins last for 8 seconds, and are not. */
let endingIdp: DevIdp;
let echo: Echo;
let gateway: GatewayProcess;
let replica: GatewayProcess;
let url: string;
let document: string;
const folder = mkdtempSync(join(tmpdir(), 'portcullis-oidc-'));

before(async () => {
  idp = await startDevIdp({ port: 0, config: providerConfig() });
  shortIdp = await startDevIdp({ port: 0, config: providerConfig({ tokenLifetime: '3s' }) });
  endingIdp = await startDevIdp({
    port: 0,
    // A code is good for as long as the refresh token, which a busy machine must not outlast.
    config: providerConfig({ tokenLifetime: '8s', refreshTokenLifetime: '4s' }),
  });
  echo = await startEchoApp();
  const [port = 0, second = 0] = await freePorts(2);
  url = `http://127.0.0.1:${port}`;
  const login = (provider: DevIdp, path: string, more: object = {}): object => ({
    issuer: provider.issuer,
    clientId: 'gateway',
    clientSecret: 'gateway-secret',
    redirectURI: `http://127.0.0.1:${port}/${path}/oauth/callback`,
    ...more,
  });
  const explicit = {
    authorizationEndpoint: `${idp.issuer}/v1/authorize`,
    tokenEndpoint: `${idp.issuer}/v1/token`,
    tokenEndpointAuth: 'clientSecretPost',
    jwks: { url: `${idp.issuer}/v1/keys` },
    scopes: ['offline_access'],
  };
  const wellKnown = `${idp.issuer}/.well-known/openid-configuration`;
  const metadata = (await (await fetch(wellKnown)).json()) as object;
  const file = join(folder, 'discovery.json');
  writeFileSync(file, inline(metadata));
  const discovery = { inline: inline({ ...metadata, end_session_endpoint: `${idp.issuer}/v1/logout` }) };
  const route = (path: string, policies: object): string => `
    - name: ${path}
      matches: [{ path: { pathPrefix: /${path} } }]
      policies: ${inline({ urlRewrite: { path: { prefix: '/anything' } }, ...policies })}
      backends: [{ host: '127.0.0.1:${echo.port}' }]`;
  document = `
config: { session: { key: ${'cd'.repeat(32)} }, workers: 2, logging: { accessLog: json } }
binds:
- port: ${port}
  listeners:
  - routes:
${route('app', { oidc: login(idp, 'app') })}
${route('staff', { oidc: login(idp, 'app'), authorization: { rules: ['"staff" in jwt.groups'] } })}
${route('short', { oidc: login(shortIdp, 'short') })}
${route('ending', { oidc: login(endingIdp, 'ending') })}
${route('explicit', { oidc: login(idp, 'explicit', explicit) })}
${route('written', { oidc: login(idp, 'written', { discovery }) })}
${route('fetched', { oidc: login(idp, 'fetched', { discovery: { url: wellKnown } }) })}
${route('filed', { oidc: login(idp, 'filed', { discovery: { file }, tokenEndpointAuth: 'clientSecretBasic' }) })}
${route('forged', { oidc: login(idp, 'forged', { jwks: { url: `${shortIdp.issuer}/v1/keys` } }) })}
${route('open', {})}
- port: ${second}
  listeners:
  - policies: ${inline({ oidc: { ...login(idp, 'listener'), redirectURI: `http://127.0.0.1:${second}/listener/oauth/callback` } })}
    routes: []
`;
  gateway = await startGateway(document);
  replica = await startGateway(
    document.replace(`port: ${port}`, 'port: 0').replace(`port: ${second}`, 'port: 0'),
  );
});
after(async () => {
  await gateway?.stop();
  await replica?.stop();
  await echo?.close();
  rmSync(folder, { recursive: true });
  await Promise.all([idp?.close(), shortIdp?.close(), endingIdp?.close()]);
});

const browse = (): LoginBrowser => new LoginBrowser(url);

/** The headers that the backend has got. */
const received = ({ body }: Answer): Record<string, string[]> =>
  (JSON.parse(body) as { headers: Record<string, string[]> }).headers;

test('a browser logs in, comes back to its page, and the backend gets no cookie of the login', async () => {
  const browser = browse();
  browser.cookies.set('theme', 'dark');
  const first = await browser.open('/app/page?a=1&b=%2F');
  assert.equal(first.status, 302);
  assert.equal(first.headers['cache-control'], 'no-store');
  const [cookie = ''] = first.headers['set-cookie'] ?? [];
  assert.match(cookie, /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/);
  const asked = new URL(first.headers.location ?? '').searchParams;
  assert.equal(asked.get('code_challenge_method'), 'S256');
  assert.equal(asked.get('scope'), 'openid');
  assert.ok((asked.get('nonce')?.length ?? 0) >= 43);

  const callback = await logInAt(idp, first.headers.location ?? '', 'alice');
  const back = await browser.open(callback);
  assert.equal(back.headers.location, `${url}/app/page?a=1&b=%2F`);
  const page = await browser.open(back.headers.location ?? '', { 'x-request-id': 'the-page' });
  assert.equal(page.status, 200);
  assert.deepEqual(received(page)['Cookie'], ['theme=dark']);
  assert.deepEqual([...browser.cookies.keys()].length, 2, 'the cookie of the login under way is gone');

  // A route without oidc gets the cookies, too, because they are for the whole host.
  assert.deepEqual(received(await browser.open('/open/x'))['Cookie'], ['theme=dark']);
  const line = await gateway.accessLine('the-page');
  assert.equal(line['subject'], 'alice');
});

test('programs and scripts get 401', async () => {
  for (const headers of [
    { accept: 'application/json' },
    { accept: 'text/html', 'sec-fetch-mode': 'cors' },
    { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-purpose': 'prefetch' },
    { accept: 'text/html', 'x-requested-with': 'XMLHttpRequest' },
  ] satisfies Record<string, string>[]) {
    const { status, headers: answered } = await ask(`${url}/app/api`, {
      headers: headers as Record<string, string>,
    });
    assert.equal(status, 401);
    assert.equal(answered['www-authenticate'], 'Cookie');
    assert.equal(answered['set-cookie'], undefined);
  }
  assert.equal(
    (await ask(`${url}/app/api`, { method: 'POST', headers: { accept: 'text/html' } })).status,
    401,
  );
  assert.equal((await ask(`${url}/app/api`, { headers: { accept: 'text/html' } })).status, 302);
});

test('a callback is good for the browser that began the login, once', async () => {
  const [browser, other] = [browse(), browse()];
  const callback = await logInAt(idp, await browser.begin('/app/page'), 'alice');
  await other.begin('/app/page');
  const wrong = (change: (query: URLSearchParams) => void): string => {
    const changed = new URL(callback);
    change(changed.searchParams);
    return changed.href;
  };
  assert.equal((await other.open(callback)).status, 400, 'another browser');
  const bad = [
    wrong((query) => query.set('state', 'x'.repeat(43))),
    wrong((query) => query.delete('state')),
    wrong((query) => query.append('state', query.get('state') ?? '')),
    `${url}/app/oauth/callback`,
  ];
  for (const address of bad) assert.equal((await browser.open(address)).status, 400, address);
  assert.equal((await browser.open(callback)).status, 302);
  assert.equal((await browser.open(callback)).status, 400, 'replayed');
  assert.equal((await browser.open('/app/page')).status, 200, 'the session is not disturbed');
});

test('a response of another issuer, and a refusal of the user, end the login with 400', async () => {
  const browser = browse();
  const callback = new URL(await logInAt(idp, await browser.begin('/app/'), 'alice'));
  callback.searchParams.set('iss', 'https://evil.test');
  assert.equal((await browser.open(callback.href)).status, 400);
  const state = new URL(await browser.begin('/app/')).searchParams.get('state') ?? '';
  const refused = new URLSearchParams({ state, error: 'access_denied', iss: idp.issuer });
  assert.equal((await browser.open(`/app/oauth/callback?${refused.toString()}`)).status, 400);
  const again = new URL(await browser.begin('/app/')).searchParams.get('state') ?? '';
  const code = new URLSearchParams({ state: again, code: 'made-up', iss: idp.issuer });
  assert.equal((await browser.open(`/app/oauth/callback?${code.toString()}`)).status, 400);
  assert.deepEqual(browser.sessions(), []);
});

test('several tabs log in at the same time, and forgotten logins make room', async () => {
  const browser = browse();
  const [one, two] = [await browser.begin('/app/one'), await browser.begin('/app/two')];
  for (const address of [await logInAt(idp, two, 'alice'), await logInAt(idp, one, 'alice')])
    assert.equal((await browser.open(address)).status, 302);
  const tabs = browse();
  for (let tab = 0; tab < 9; tab++) await tabs.begin(`/app/${tab}`);
  assert.equal(tabs.cookies.size, 5);
});

test('cookies that were changed, or are of another route, begin a new login', async () => {
  const browser = browse();
  await browser.logIn(idp, '/app/page', 'alice');
  const [name = ''] = browser.sessions();
  const value = browser.cookies.get(name) ?? '';
  const spoilt = `${value.slice(0, 40)}${value[40] === 'A' ? 'B' : 'A'}${value.slice(41)}`;
  const explicit = browse();
  await explicit.logIn(idp, '/explicit/page', 'alice');
  const [foreign = ''] = explicit.sessions();
  for (const cookies of [
    { [name]: spoilt },
    { [name]: value.slice(0, -4) },
    { [name]: `9${value.slice(1)}` },
    { [name]: explicit.cookies.get(foreign) ?? '' },
    { [foreign]: explicit.cookies.get(foreign) ?? '' },
  ]) {
    const stranger = browse();
    for (const [one, text] of Object.entries(cookies)) stranger.cookies.set(one, text);
    assert.equal((await stranger.fetch('/app/page')).status, 401);
    assert.equal((await stranger.open('/app/page')).status, 302);
  }
  const twice = { cookie: `${name}=${value}; ${name}=${value}` };
  assert.equal((await ask(`${url}/app/page`, { headers: twice })).status, 401);
  assert.equal((await browser.open('/app/page')).status, 200);
  assert.equal((await browser.open('/explicit/page')).status, 302);
});

test('rules judge the claims of the ID token, on every route with the same client and callback', async () => {
  const [alice, bob] = [browse(), browse()];
  assert.equal((await alice.logIn(idp, '/staff/page', 'alice')).status, 200);
  assert.equal((await bob.logIn(idp, '/staff/page', 'bob')).status, 403);
  assert.equal((await bob.open('/app/page')).status, 200);
});

test('the metadata of the provider may be fields, a text, a file, or at another address', async () => {
  for (const name of ['explicit', 'written', 'fetched', 'filed'])
    assert.equal((await browse().logIn(idp, `/${name}/page`, 'alice')).status, 200, name);
});

test('an ID token that another key has signed logs nobody in', async () => {
  const browser = browse();
  const callback = await logInAt(idp, await browser.begin('/forged/page'), 'alice');
  assert.equal((await browser.open(callback, { 'x-request-id': 'forged' })).status, 500);
  assert.deepEqual(browser.sessions(), []);
  const { reason } = await gateway.accessLine('forged');
  assert.match(String(reason), /^the ID token was not accepted: unknown_key/);
});

test('another replica and another worker accept the login', async () => {
  const browser = browse();
  await browser.logIn(idp, '/app/page', 'alice');
  const there = new LoginBrowser(replica.url);
  for (const [name, value] of browser.cookies) there.cookies.set(name, value);
  for (let i = 0; i < 6; i++) {
    assert.equal((await there.fetch('/app/page')).status, 200);
    assert.equal((await browser.fetch('/app/page')).status, 200);
  }
});

test('a reload during a login does not disturb it', async () => {
  const browser = browse();
  const callback = await logInAt(idp, await browser.begin('/app/page'), 'alice');
  gateway.rewrite(document.replaceAll('name: open', 'name: reopened'));
  await until('the reload', async () =>
    JSON.stringify((await gateway.configDump()).model).includes('reopened'),
  );
  assert.equal((await browser.open(callback)).status, 302);
  assert.equal((await browser.open('/app/page')).status, 200);
});

test('a logout ends the login here and at the provider, and other sites cannot ask for it', async () => {
  const browser = browse();
  await browser.logIn(idp, '/written/page', 'alice');
  for (const [method, site] of [
    ['GET', 'cross-site'],
    ['GET', 'same-site'],
    ['POST', 'cross-site'],
  ] as const) {
    const page = await browser.open('/written/oauth/logout', { 'sec-fetch-site': site }, method);
    assert.equal(page.status, 200);
    assert.match(page.body, /<form method="post">/);
    assert.equal(page.headers['x-frame-options'], 'DENY');
  }
  assert.equal((await browser.open('/written/page')).status, 200);
  const ended = await browser.open('/written/oauth/logout', { 'sec-fetch-site': 'same-origin' }, 'POST');
  const location = new URL(ended.headers.location ?? '');
  assert.equal(location.href.split('?')[0], `${idp.issuer}/v1/logout`);
  assert.equal(location.searchParams.get('client_id'), 'gateway');
  assert.match(location.searchParams.get('id_token_hint') ?? '', /^eyJ/);
  assert.deepEqual(browser.sessions(), []);
  assert.equal((await browser.open('/written/page')).status, 302);

  const other = browse();
  await other.logIn(idp, '/app/page', 'alice');
  const page = await other.open('/app/oauth/logout');
  assert.match(page.body, /Logged out/);
  assert.equal((await other.fetch('/app/page')).status, 401);
});

test('a listener demands a login of every path, and leads to no other site afterwards', async () => {
  const base = `http://127.0.0.1:${gateway.ports[1] ?? 0}`;
  const browser = new LoginBrowser(base);
  const path = '//evil.test/x';
  const begun = await browser.open(base + path);
  assert.equal(begun.status, 302);
  const back = await browser.open(await logInAt(idp, begun.headers.location ?? '', 'alice'));
  assert.equal(new URL(back.headers.location ?? '').origin, base);
  assert.equal((await browser.open('/listener/nothing')).status, 404);
});

test('a login is renewed before it ends, once for parallel requests, and after it has ended', async () => {
  const browser = browse();
  const idle = browse();
  const began = Date.now();
  await browser.logIn(shortIdp, '/short/page', 'alice');
  await idle.logIn(shortIdp, '/short/page', 'bob');
  const before = [...browser.cookies.values()].join();
  await until('the renewal', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => browser.fetch('/short/page')));
    for (const { status } of answers) assert.equal(status, 200);
    return [...browser.cookies.values()].join() !== before;
  });
  await until('the end of the login', () => Date.now() - began > 4_500);
  const answers = await Promise.all(Array.from({ length: 4 }, () => idle.fetch('/short/page')));
  for (const { status, headers } of answers) {
    assert.equal(status, 200);
    assert.equal(headers['set-cookie']?.length, 1);
  }
});

test('a login that the provider does not renew begins anew', async () => {
  const browser = browse();
  assert.equal((await browser.logIn(endingIdp, '/ending/page', 'alice')).status, 200);
  await until('the end of the login', async () => (await browser.fetch('/ending/page')).status === 401);
  await browser.begin('/ending/page');
  assert.deepEqual(browser.sessions(), [], 'the cookies of the old login are gone');
});

test('logins fail with 500 while the provider is down, and work when it is back', async () => {
  const browser = browse();
  const callback = await logInAt(shortIdp, await browser.begin('/short/page'), 'alice');
  await shortIdp.down();
  assert.equal((await browser.open(callback)).status, 500);
  assert.equal((await browse().fetch('/short/page')).status, 401);
  await shortIdp.up();
  assert.equal((await browser.logIn(shortIdp, '/short/page', 'alice')).status, 200);
});

test('no token, code or state is in a log', () => {
  for (const text of [gateway.log(), gateway.accessLog()])
    for (const secret of [/eyJ/, /code=/, /state=/, /gateway-secret/]) assert.doesNotMatch(text, secret);
});
