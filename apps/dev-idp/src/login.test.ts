import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { openBrowser, type Visit } from './browser.testing.ts';
import { startDevIdp, type DevIdp } from './index.ts';

let idp: DevIdp;
before(async () => {
  idp = await startDevIdp({
    port: 0,
    config: {
      scopes: ['mcp'],
      clients: [{ id: 'app', redirectUris: ['http://127.0.0.1/callback'] }],
      users: [
        { name: 'alice', groups: ['mcp-users'], claims: { email: 'alice@example.com' } },
        { name: 'bob <b>', password: 'bob & co' },
      ],
    },
  });
});
after(() => idp.close());

const verifier = randomBytes(32).toString('base64url');
const challenge = createHash('sha256').update(verifier).digest('base64url');
const callback = 'http://127.0.0.1:5555/callback';

function authorizeUrl(parameters: Record<string, string> = {}): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: 'app',
    redirect_uri: callback,
    scope: 'mcp',
    state: 'the-state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...parameters,
  });
  return `${idp.issuer}/v1/authorize?${query.toString()}`;
}

async function logIn(form: Record<string, string>, parameters?: Record<string, string>): Promise<Visit> {
  const browser = openBrowser(idp.url);
  const page = await browser.get(authorizeUrl(parameters));
  return browser.post(page.url, form);
}

async function exchange(
  form: Record<string, string>,
): Promise<{ status: number; body: Record<string, string> }> {
  const response = await fetch(`${idp.issuer}/v1/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'app', redirect_uri: callback, ...form }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

const verify = async (token: string | undefined): Promise<Record<string, unknown>> =>
  (await jwtVerify(token ?? '', createRemoteJWKSet(new URL(`${idp.issuer}/v1/keys`)), { issuer: idp.issuer }))
    .payload;

test('a user chosen on the page comes back with a code that gives a token with the user’s groups', async () => {
  const browser = openBrowser(idp.url);
  const page = await browser.get(authorizeUrl());
  assert.equal(page.status, 200);
  assert.match(page.body, /<b>app<\/b> asks for <b>mcp<\/b>/);
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  const back = new URL((await browser.post(page.url, { user: 'alice' })).url);
  assert.equal(back.origin + back.pathname, callback);
  assert.deepEqual([back.searchParams.get('state'), back.searchParams.get('iss')], ['the-state', idp.issuer]);

  const code = back.searchParams.get('code') ?? '';
  const { status, body } = await exchange({
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
  });
  assert.equal(status, 200);
  const { sub, cid, scp, groups, email, aud } = await verify(body['access_token']);
  assert.deepEqual(
    { sub, cid, scp, groups, email, aud },
    {
      sub: 'alice',
      cid: 'app',
      scp: ['mcp'],
      groups: ['mcp-users'],
      email: 'alice@example.com',
      aud: 'api://default',
    },
  );

  const again = await exchange({ grant_type: 'authorization_code', code, code_verifier: verifier });
  assert.deepEqual([again.status, again.body['error']], [400, 'invalid_grant']);
});

test('a refresh token gives a new access token', async () => {
  const back = new URL((await logIn({ user: 'alice' })).url);
  const first = await exchange({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  const second = await exchange({
    grant_type: 'refresh_token',
    refresh_token: first.body['refresh_token'] ?? '',
  });
  assert.equal(second.status, 200);
  assert.equal((await verify(second.body['access_token']))['sub'], 'alice');
});

test('with openid there is an ID token, and the access token still is one for the API', async () => {
  const back = new URL((await logIn({ user: 'alice' }, { scope: 'openid mcp' })).url);
  const { body } = await exchange({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  assert.equal((await verify(body['id_token']))['aud'], 'app');
  assert.equal((await verify(body['access_token']))['aud'], 'api://default');
});

test('a client that insists on consent gets it with the login', async () => {
  const back = new URL(
    (await logIn({ user: 'alice' }, { scope: 'openid offline_access mcp', prompt: 'consent' })).url,
  );
  assert.ok(back.searchParams.get('code'));
});

test('a request without scopes gets the configured ones', async () => {
  const browser = openBrowser(idp.url);
  const page = await browser.get(authorizeUrl().replace('&scope=mcp', ''));
  const back = new URL((await browser.post(page.url, { user: 'alice' })).url);
  const { body } = await exchange({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  assert.deepEqual((await verify(body['access_token']))['scp'], ['mcp']);
});

test('a user with a password needs it', async () => {
  for (const form of [
    { user: 'bob <b>' },
    { user: 'bob <b>', password: 'wrong' },
    { user: 'nobody', password: 'x' },
  ]) {
    const wrong = await logIn(form);
    assert.equal(wrong.status, 401);
    assert.match(wrong.body, /Wrong user name or password/);
  }
  assert.ok(new URL((await logIn({ user: 'bob <b>', password: 'bob & co' })).url).searchParams.get('code'));
});

test('a client cannot inject markup into the page', async () => {
  const { body } = await openBrowser(idp.url).get(
    authorizeUrl({ redirect_uri: 'http://127.0.0.1/callback?"><script>' }),
  );
  assert.doesNotMatch(body, /<script>/);
});

test('cancelling sends the user back with access_denied', async () => {
  const back = new URL((await logIn({ cancel: 'yes' })).url);
  assert.deepEqual(
    [back.searchParams.get('error'), back.searchParams.get('state')],
    ['access_denied', 'the-state'],
  );
});

test('each login asks again, so that another user can be chosen', async () => {
  const browser = openBrowser(idp.url);
  const first = await browser.get(authorizeUrl());
  await browser.post(first.url, { user: 'alice' });
  const second = await browser.get(authorizeUrl());
  assert.equal(second.status, 200);
  const back = new URL((await browser.post(second.url, { user: 'bob <b>', password: 'bob & co' })).url);
  const { body } = await exchange({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: verifier,
  });
  assert.equal((await verify(body['access_token']))['sub'], 'bob <b>');
});

test('no code without PKCE, none for plain, none exchanged with another verifier (RFC 7636)', async () => {
  const without = new URL(
    (await openBrowser(idp.url).get(authorizeUrl().replace(/&code_challenge.*/, ''))).url,
  );
  assert.equal(without.searchParams.get('error'), 'invalid_request');
  const plain = new URL(
    (await openBrowser(idp.url).get(authorizeUrl({ code_challenge_method: 'plain' }))).url,
  );
  assert.equal(plain.searchParams.get('error'), 'invalid_request');
  const back = new URL((await logIn({ user: 'alice' })).url);
  const other = randomBytes(32).toString('base64url');
  const { body } = await exchange({
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    code_verifier: other,
  });
  assert.equal(body['error'], 'invalid_grant');
});

test('a redirect URI that is not the client’s is answered with a page, not followed', async () => {
  const visit = await openBrowser(idp.url).get(authorizeUrl({ redirect_uri: 'https://evil.example/' }));
  assert.equal(visit.status, 400);
  assert.match(visit.body, /redirect_uri/);
});

test('a login page without its cookie is over', async () => {
  const page = await openBrowser(idp.url).get(authorizeUrl());
  const stranger = await openBrowser(idp.url).post(page.url, { user: 'alice' });
  assert.equal(stranger.status, 400);
});
