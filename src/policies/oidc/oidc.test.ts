import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { TextSeal } from '../../auth/index.ts';
import { jsonAnswer, startLoopback } from '../../auth/loopback.testing.ts';
import { GatewayError, NotEvaluated } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { until } from '../../until.testing.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared, realTools, toolsWith } from '../tools.testing.ts';
import { CookieJar } from './cookies.ts';
import { oidcSchema } from './facts.ts';
import { oidc } from './index.ts';
import { OidcProvider } from './provider.ts';
import { Sessions } from './session.ts';

const written = {
  issuer: 'https://login.test',
  clientId: 'gateway',
  clientSecret: 'a-secret',
  redirectURI: 'https://app.test/oauth/callback',
};
const explicit = {
  ...written,
  authorizationEndpoint: 'https://login.test/authorize',
  tokenEndpoint: 'https://login.test/token',
  jwks: '{"keys":[]}',
};
const problems = (settings: object): string[] =>
  oidcSchema.safeParse(settings).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ??
  [];

test('settings that cannot work are refused, with the field', () => {
  assert.deepEqual(problems(written), []);
  assert.deepEqual(problems(explicit), []);
  const together = 'missing: authorizationEndpoint, tokenEndpoint and jwks go together';
  assert.deepEqual(problems({ ...explicit, tokenEndpoint: undefined, jwks: undefined }), [
    `tokenEndpoint: ${together}`,
    `jwks: ${together}`,
  ]);
  const document = JSON.stringify({ issuer: 'https://login.test' });
  assert.deepEqual(problems({ ...explicit, discovery: document }), [
    'discovery: excludes authorizationEndpoint and tokenEndpoint',
  ]);
  assert.deepEqual(problems({ ...written, discovery: '{"issuer":"https://other.test"}' }), [
    'discovery: the document names another issuer',
  ]);
  assert.deepEqual(problems({ ...explicit, tokenEndpoint: 'http://login.test/token' }), [
    'tokenEndpoint: expected https, a loopback address, or the host of an issuer with http',
  ]);
  for (const host of ['localhost:7080', '127.0.0.1', '[::1]:7080'])
    assert.deepEqual(problems({ ...explicit, tokenEndpoint: `http://${host}/token` }), []);
  for (const redirectURI of [
    '/callback',
    'https://app.test',
    'https://app.test/a?b',
    'https://app.test/a#b',
    'https://app.test/oauth/logout',
    'https://me:pw@app.test/a',
  ])
    assert.equal(problems({ ...written, redirectURI }).length, 1, redirectURI);
  assert.equal(problems({ ...written, scopes: ['two words'] }).length, 1);
});

const session = (size: number) => ({
  identity: { issuer: '', subject: '', claims: {} },
  idToken: `.${Buffer.from('{"sub":"ada"}').toString('base64url')}.${'s'.repeat(size)}`,
  refreshToken: undefined,
  until: 1,
  renewAt: 1,
});
const valueOf = ([, line]: HeaderLine): readonly [string, string] => {
  const [, name = '', value = ''] = /^__Host-portcullis-oidc-id-(\w+)=([^;]*)/.exec(line) ?? [];
  return [name, value];
};

test('a large session takes several cookies, and the cookies of a larger one before it go', () => {
  const jar = new CookieJar('id', true);
  const sessions = new Sessions(new TextSeal('secret', 'place'), jar, 'https://login.test');
  const lines = sessions.write(session(8_000), new Map()) ?? [];
  assert.equal(lines.length, 4);
  for (const [, line] of lines)
    assert.ok(line.length < 4_096 && /; HttpOnly; SameSite=Lax; Secure$/.test(line));
  const present = new Map(lines.map(valueOf));
  assert.equal(sessions.read(present)?.identity.subject, 'ada');
  assert.equal(sessions.read(new Map([...present].slice(0, 3))), undefined);
  assert.equal(sessions.read(new Map([...present, ['1', present.get('2') ?? '']])), undefined);
  const smaller = sessions.write(session(10), present) ?? [];
  assert.deepEqual(
    smaller.map(valueOf).map(([name, value]) => [name, value === '']),
    [
      ['0', false],
      ['1', true],
      ['2', true],
      ['3', true],
    ],
  );
  assert.equal(sessions.write(session(30_000), new Map()), undefined);
});

test('the callback is found in the form that the gateway gives each path', () => {
  const redirectURI = 'https://app.test/%7euser/callback';
  const steps = prepared(oidc, { ...explicit, redirectURI }, toolsWith([]));
  const ask = (target: string) =>
    steps.onRequest?.(new FakeExchange({ target, host: 'app.test', scheme: 'https' }));
  assert.throws(() => ask('/~user/callback?code=a&state=b'), { code: 'login_invalid' });
  const reply = ask('/~user/logout');
  assert.ok(reply !== undefined && !(reply instanceof Promise));
  assert.equal(reply.status, 200);
});

test('a login at the policy of one tenant is none at the same policy of another', async () => {
  const sealingKey = 'a key that all proxies share';
  const stepsOf = (tenant: string) => prepared(oidc, explicit, { ...toolsWith([]), sealingKey, tenant });
  const [own, other] = [stepsOf('shop'), stepsOf('stranger')];
  const ask = (steps: typeof own, cookie: string) => {
    const headers: HeaderLine[] = [
      ['accept', 'text/html'],
      ['cookie', cookie],
    ];
    const exchange = new FakeExchange({ host: 'app.test', scheme: 'https', headers });
    return { exchange, reply: steps.onRequest?.(exchange) };
  };
  /** The part of the cookies' names that tells one policy from another. */
  const idOf = async (steps: typeof own): Promise<string> => {
    const { headers = [] } = (await ask(steps, '').reply) ?? {};
    const [, line = ''] = headers.find(([name]) => name === 'set-cookie') ?? [];
    const [, id = ''] = /^__Host-portcullis-oidc-(\w+)-/.exec(line) ?? [];
    assert.notEqual(id, '');
    return id;
  };
  const { issuer, clientId, redirectURI } = explicit;
  const place = JSON.stringify(['oidc', issuer, clientId, redirectURI, 'shop']);
  const cookieFor = (id: string): string => {
    const sessions = new Sessions(new TextSeal(sealingKey, place), new CookieJar(id, true), issuer);
    const good = { ...session(10), until: Number.MAX_SAFE_INTEGER, renewAt: Number.MAX_SAFE_INTEGER };
    return (sessions.write(good, new Map()) ?? []).map(([, line]) => line.split(';')[0]).join('; ');
  };
  const [ownId, otherId] = [await idOf(own), await idOf(other)];
  assert.notEqual(ownId, otherId);
  const admitted = ask(own, cookieFor(ownId));
  assert.equal(await admitted.reply, undefined);
  assert.equal(admitted.exchange.identity?.subject, 'ada');
  assert.partialDeepStrictEqual(await ask(other, cookieFor(otherId)).reply, { status: 302 });
  own.close?.();
  other.close?.();
});

test('a request that is explained asks no provider', async () => {
  const steps = prepared(oidc, written, realTools());
  const explained = (target: string, claims?: object) => {
    const exchange = new FakeExchange({ target, headers: [['accept', 'text/html']] });
    const notes: string[] = [];
    const trial = {
      claims: claims as Record<string, unknown> | undefined,
      note: (what: string) => notes.push(what),
    };
    Object.assign(exchange, { trial });
    return { exchange, notes, reply: () => steps.onRequest?.(exchange) };
  };
  assert.throws(explained('/oauth/callback?code=x').reply, NotEvaluated);
  const stranger = explained('/');
  assert.partialDeepStrictEqual(await stranger.reply(), { status: 302 });
  assert.equal(stranger.notes.length, 1);
  const ada = explained('/', { sub: 'ada' });
  assert.equal(await ada.reply(), undefined);
  assert.equal(ada.exchange.identity?.subject, 'ada');
  assert.throws(explained('/', { sub: 'ada', aud: 'other' }).reply, GatewayError);
  steps.close?.();
});

/** A provider that renews each login with a new refresh token, as soon as the test lets it. */
async function renewingProvider(t: TestContext) {
  const revoked: (string | null)[] = [];
  let renewals = 0;
  const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const server = createServer((request, response) => {
    void text(request).then(async (body) => {
      const form = new URLSearchParams(body);
      if (request.url === '/revoke') revoked.push(form.get('token'));
      else {
        renewals++;
        asked.resolve();
        await mayAnswer.promise;
      }
      const granted = { access_token: 'a', token_type: 'Bearer', expires_in: 300, refresh_token: 'next' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(granted));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const at = (path: string): string => `${issuer}${path}`;
  const metadata = {
    issuer,
    authorization_endpoint: at('/authorize'),
    token_endpoint: at('/token'),
    revocation_endpoint: at('/revoke'),
    jwks_uri: at('/keys'),
  };
  const settings = { ...written, issuer, discovery: JSON.stringify(metadata) };
  return {
    settings,
    revoked,
    asked: asked.promise,
    answer: () => mayAnswer.resolve(),
    renewals: () => renewals,
  };
}

/** The policy, and requests of a browser whose login is good and has to be renewed. */
function browserToRenew({ issuer, clientId, redirectURI, ...others }: typeof written, tools = realTools()) {
  const sealingKey = 'a key';
  const steps = prepared(oidc, { issuer, clientId, redirectURI, ...others }, { ...tools, sealingKey });
  const place = JSON.stringify(['oidc', issuer, clientId, redirectURI]);
  const id = createHash('sha256').update(place).digest('base64url').replaceAll(/[_-]/g, '').slice(0, 8);
  const sessions = new Sessions(new TextSeal(sealingKey, place), new CookieJar(id, true), issuer);
  const due = { ...session(10), refreshToken: 'first', renewAt: 0, until: Number.MAX_SAFE_INTEGER };
  const cookie = (sessions.write(due, new Map()) ?? []).map(([, line]) => line.split(';')[0]).join('; ');
  const ask = (target: string) => {
    const headers: HeaderLine[] = [
      ['cookie', cookie],
      ['sec-fetch-site', 'same-origin'],
    ];
    const exchange = new FakeExchange({ target, host: 'app.test', scheme: 'https', headers });
    return { exchange, reply: Promise.resolve(steps.onRequest?.(exchange)) };
  };
  return { ask, close: () => steps.close?.() };
}

test('a response with a renewed login is for no cache, whatever the backend says', async (t) => {
  const { settings, answer } = await renewingProvider(t);
  const { ask, close } = browserToRenew(settings);
  answer();
  const { exchange, reply } = ask('/');
  assert.equal(await reply, undefined);
  const lines = exchange.responseHeaders.apply([['Cache-Control', 'public, max-age=3600']]);
  assert.deepEqual(
    lines.map(([name, value]) => [name, value.split('=')[0]?.replace(/-\w{8}-0$/, '')]),
    [
      ['cache-control', 'private, no-store'],
      ['set-cookie', '__Host-portcullis-oidc'],
    ],
  );
  close();
});

test('a login that is still good does not wait for a provider that hangs, and gets its answer later', async (t) => {
  const { settings, asked, answer, renewals } = await renewingProvider(t);
  const { ask, close } = browserToRenew(settings);
  t.after(close);
  const admitted = ask('/');
  await asked;
  assert.equal(await admitted.reply, undefined);
  assert.equal(admitted.exchange.identity?.subject, 'ada');
  assert.deepEqual(admitted.exchange.responseHeaders.lines, []);
  answer();
  await until('a request brings the renewed login', async () => {
    const { exchange, reply } = ask('/');
    assert.equal(await reply, undefined);
    return exchange.responseHeaders.lines.some(([name]) => name === 'set-cookie');
  });
  assert.equal(renewals(), 1);
});

test('a renewal in progress does not undo a logout, and its refresh token is revoked', async (t) => {
  const { settings, revoked, asked, answer } = await renewingProvider(t);
  const { ask, close } = browserToRenew(settings);
  const renewing = ask('/');
  await asked;
  assert.partialDeepStrictEqual(await ask('/oauth/logout').reply, { status: 200 });
  answer();
  assert.equal(await renewing.reply, undefined);
  assert.deepEqual(renewing.exchange.responseHeaders.lines, []);
  await until('the revocations', () => revoked.length === 2);
  assert.deepEqual(revoked, ['first', 'next']);
  close();
});

test('a reload drops no revocation of a logout', async (t) => {
  const { settings, revoked } = await renewingProvider(t);
  const { ask, close } = browserToRenew(settings);
  assert.partialDeepStrictEqual(await ask('/oauth/logout').reply, { status: 200 });
  close();
  await until('the revocation', () => revoked.length === 1);
  assert.deepEqual(revoked, ['first']);
});

test('a reload drops no renewal in progress, and a later request brings the renewed login', async (t) => {
  const { settings, asked, answer, renewals } = await renewingProvider(t);
  const tools = realTools();
  const [before, after] = [browserToRenew(settings, tools), browserToRenew(settings, tools)];
  t.after(after.close);
  const admitted = before.ask('/');
  await asked;
  assert.equal(await admitted.reply, undefined);
  before.close();
  answer();
  await until('a request brings the renewed login', async () => {
    const { exchange, reply } = after.ask('/');
    assert.equal(await reply, undefined);
    return exchange.responseHeaders.lines.some(([name]) => name === 'set-cookie');
  });
  assert.equal(renewals(), 1);
});

test('a callback that comes again is refused, and the provider is not asked again', async (t) => {
  const provider = await startLoopback(jsonAnswer({ error: 'invalid_grant' }));
  t.after(() => provider.close());
  const { url: issuer } = provider;
  const endpoints = { authorizationEndpoint: `${issuer}/authorize`, tokenEndpoint: `${issuer}/token` };
  const steps = prepared(oidc, { ...explicit, issuer, ...endpoints }, toolsWith([]));
  t.after(() => steps.close?.());
  const ask = async (target: string, cookie: string) => {
    const headers: HeaderLine[] = [
      ['accept', 'text/html'],
      ['cookie', cookie],
    ];
    return await steps.onRequest?.(new FakeExchange({ target, host: 'app.test', scheme: 'https', headers }));
  };
  const { headers = [] } = (await ask('/', '')) ?? {};
  const state = new URL(new Map(headers).get('location') ?? '').searchParams.get('state') ?? '';
  const cookie = new Map(headers).get('set-cookie')?.split(';')[0] ?? '';
  const callback = `/oauth/callback?${new URLSearchParams({ state, code: 'made up' }).toString()}`;
  await assert.rejects(ask(callback, cookie), GatewayError);
  assert.deepEqual(provider.asked, ['/token']);
  await assert.rejects(ask(callback, cookie), {
    code: 'login_invalid',
    detail: 'oidc: the callback came before',
  });
  assert.deepEqual(provider.asked, ['/token']);
});

test('a token endpoint on this machine, by plain HTTP, serves an issuer with https where the settings name it', async (t) => {
  const tokens = { access_token: 'a', token_type: 'Bearer', refresh_token: 'next', expires_in: 60 };
  const server = await startLoopback(jsonAnswer(tokens));
  t.after(() => server.close());
  const settings = oidcSchema.parse({ ...explicit, tokenEndpoint: `${server.url}/token` });
  const provider = new OidcProvider(settings, toolsWith([]));
  t.after(() => provider.close());
  assert.equal((await provider.refresh('before')).refreshToken, 'next');
  assert.deepEqual(server.asked, ['/token']);
});
