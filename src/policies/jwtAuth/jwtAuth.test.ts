import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedKeys, issuerName, makeKey, makeToken, nowSeconds } from '../../auth/token.testing.ts';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { PolicyTools } from '../policy.ts';
import { prepared, realTools, toolsWith } from '../tools.testing.ts';
import { jwtAuth } from './index.ts';

const key = makeKey('P-256', 'k1');
const good = makeToken('ES256', key, { claims: { groups: ['g'] } });
const expired = makeToken('ES256', key, { claims: { exp: nowSeconds - 60 } });
const written = { issuer: issuerName, audiences: ['api://test'], jwks: { url: 'http://idp.test/keys' } };

interface Outcome {
  readonly exchange: FakeExchange;
  readonly error: GatewayError | undefined;
}

async function call(
  settings: object,
  headers: HeaderLine[],
  tools: PolicyTools = toolsWith([key]),
): Promise<Outcome> {
  const exchange = new FakeExchange({ headers });
  try {
    const reply = await prepared(jwtAuth, settings, tools).onRequest?.(exchange);
    assert.equal(reply, undefined);
    return { exchange, error: undefined };
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return { exchange, error };
  }
}

const bearer = (token: string): HeaderLine[] => [['Authorization', `Bearer ${token}`]];
const challenge = ({ error }: Outcome): string | undefined => error?.headers?.[0]?.[1];

test('a good token gives the caller an identity, and the backend does not get the token', async () => {
  const { exchange, error } = await call(written, [...bearer(good), ['x-other', '1']]);
  assert.equal(error, undefined);
  assert.equal(exchange.identity?.subject, 'alice');
  assert.equal(exchange.identity.issuer, issuerName);
  assert.deepEqual(exchange.requestHeaders.apply(exchange.request.headerLines()), [['x-other', '1']]);
});

test('a cached token is judged without a promise', () => {
  const steps = prepared(jwtAuth, written, toolsWith([key]));
  for (let i = 0; i < 2; i += 1)
    assert.equal(steps.onRequest?.(new FakeExchange({ headers: bearer(good) })), undefined);
});

test('the modes differ for a missing and for an invalid token', async () => {
  const rows: [string, HeaderLine[], string | undefined][] = [
    ['strict', [], 'token_missing'],
    ['strict', bearer(expired), 'token_invalid'],
    ['strict', bearer(''), 'token_invalid'],
    ['strict', [['authorization', 'Bearer']], 'token_invalid'],
    ['strict', [['authorization', 'Basic YTpi']], 'token_missing'],
    ['strict', [['authorization', `Bearerx ${good}`]], 'token_missing'],
    ['strict', [...bearer(good), ...bearer(good)], 'token_invalid'],
    ['optional', [], undefined],
    ['optional', [['authorization', 'Basic YTpi']], undefined],
    ['optional', bearer(expired), 'token_invalid'],
    ['optional', bearer('rubbish'), 'token_invalid'],
    ['permissive', [], undefined],
    ['permissive', bearer(expired), undefined],
    ['permissive', bearer('rubbish'), undefined],
  ];
  for (const [mode, headers, code] of rows) {
    const { exchange, error } = await call({ ...written, mode }, headers);
    assert.equal(error?.code, code, `${mode} ${JSON.stringify(headers).slice(0, 60)}`);
    assert.equal(exchange.identity, undefined);
  }
  assert.equal((await call(written, [])).error, undefined, 'optional is the default');
  const missing = (await call({ ...written, mode: 'strict' }, [])).error;
  assert.equal(missing?.detail, 'jwtAuth, mode strict', 'the log names the policy that refused');
});

test('the scheme is known in any case', async () => {
  for (const scheme of ['bearer', 'BEARER', 'Bearer '])
    assert.equal(
      (await call(written, [['authorization', `${scheme} ${good}`]])).exchange.identity?.subject,
      'alice',
    );
});

test('a Basic credential that is not ours goes on to the backend, a bad token does not', async () => {
  const basic = await call(written, [['authorization', 'Basic YTpi']]);
  assert.ok(basic.exchange.requestHeaders.empty);
  const bad = await call({ ...written, mode: 'permissive' }, bearer('rubbish'));
  assert.deepEqual(bad.exchange.requestHeaders.apply(bad.exchange.request.headerLines()), []);
});

test('the challenge names an error only for a presented token; the log has the reason', async () => {
  assert.equal(challenge(await call({ ...written, mode: 'strict' }, [])), 'Bearer');
  const late = await call({ ...written, mode: 'strict' }, bearer(expired));
  assert.equal(challenge(late), 'Bearer error="invalid_token", error_description="The access token expired"');
  assert.equal(late.error?.detail, 'expired');
  assert.match(
    String(late.exchange.annotations['token']),
    /^expired \(exp\): expired \d+ s ago, leeway 10 s$/,
  );
});

test('without keys a token cannot be judged: 503 with a time to come back, but not in permissive mode', async () => {
  const waiting = toolsWith([key], false);
  const { error } = await call(written, bearer(good), waiting);
  assert.equal(error?.code, 'keys_unavailable');
  assert.equal(error.retryAfter, 5);
  const permissive = await call({ ...written, mode: 'permissive' }, bearer(good), waiting);
  assert.equal(permissive.error, undefined);
  assert.equal(permissive.exchange.identity, undefined);
  assert.equal((await call({ ...written, mode: 'strict' }, [], waiting)).error?.code, 'token_missing');
});

test('a missing key file answers 500 to tokens, since coming back later does not help', async () => {
  const missing = { ...written, jwks: { file: '/nowhere/keys.json' } };
  const { error } = await call(missing, bearer(good), toolsWith([], false));
  assert.equal(error?.code, 'policy_failed');
  assert.match(error.detail ?? '', /keys\.json/);
  assert.equal((await call({ ...missing, mode: 'strict' }, [])).error?.code, 'token_missing');
});

test('a token may stand in another header or in a cookie, which the backend does not get either', async () => {
  const header = { ...written, location: { header: { name: 'X-Token' } } };
  const inHeader = await call(header, [['x-token', good]]);
  assert.equal(inHeader.exchange.identity?.subject, 'alice');
  assert.deepEqual(inHeader.exchange.requestHeaders.apply([['x-token', good]]), []);

  const cookie = { ...written, location: { cookie: { name: 'session' } } };
  const inCookie = await call(cookie, [['cookie', `a=1; session=${good}; b=2`]]);
  assert.equal(inCookie.exchange.identity?.subject, 'alice');
  assert.deepEqual(inCookie.exchange.requestHeaders.apply([['cookie', 'x']]), [['cookie', 'a=1; b=2']]);
  const only = await call(cookie, [['cookie', `session=${good}`]]);
  assert.deepEqual(only.exchange.requestHeaders.apply([['cookie', 'x']]), []);
  assert.equal((await call(cookie, [['cookie', `session=${good}; session=x`]])).error?.code, 'token_invalid');
  assert.equal((await call(cookie, bearer(good))).exchange.identity, undefined);
});

test('with several providers the issuer of the token chooses', async () => {
  const providers = [
    { issuer: 'https://other.test', jwks: { url: 'http://other.test/keys' } },
    { issuer: issuerName, jwks: { url: 'http://idp.test/keys' } },
  ];
  assert.equal((await call({ providers }, bearer(good))).exchange.identity?.issuer, issuerName);
  const stranger = makeToken('ES256', key, { claims: { iss: 'https://third.test' } });
  assert.equal((await call({ providers }, bearer(stranger))).error?.detail, 'issuer');
});

test('keys may be written into the configuration', async () => {
  const tools = realTools();
  const jwks = JSON.stringify({ keys: [key.jwk] });
  for (const form of [jwks, { inline: jwks }])
    assert.equal(
      (await call({ ...written, jwks: form }, bearer(good), tools)).exchange.identity?.subject,
      'alice',
    );
  tools.keySets.close();
});

test('key sets are given back when the policy closes, and when it cannot be prepared', () => {
  const tools = toolsWith([key]);
  const steps = prepared(jwtAuth, written, tools);
  assert.equal(tools.held(), 1);
  steps.close?.();
  assert.equal(tools.held(), 0);

  let taken = 0;
  const failing: PolicyTools = {
    ...tools,
    keySets: {
      ...tools.keySets,
      use: () => {
        taken += 1;
        if (taken === 2) throw new Error('no usable key');
        return { set: fixedKeys([]), release: () => (taken = 0) };
      },
    },
  };
  const providers = [1, 2].map((n) => ({ issuer: `https://${n}.test`, jwks: { url: `http://${n}.test` } }));
  assert.throws(() => prepared(jwtAuth, { providers }, failing), /no usable key/);
  assert.equal(taken, 0);
});

test('an issuer that is a URL is enough: its metadata names the keys', () => {
  const settings = { issuer: 'https://idp.test/a/', audiences: ['b'] };
  const found = {
    ...settings,
    jwks: {
      kind: 'discovered',
      issuer: settings.issuer,
      openid: false,
      derived: 'https://idp.test/a/.well-known/jwks.json',
    },
  };
  for (const written of [settings, { providers: [settings] }])
    assert.deepEqual(jwtAuth.schema.parse(written).providers, [found]);
});

test('settings that are incomplete, doubled or unsafe are refused', () => {
  const messages = (settings: object): string =>
    (jwtAuth.schema.safeParse(settings).error?.issues ?? []).map((issue) => issue.message).join('; ');
  assert.match(messages({}), /expected issuer, or providers/);
  assert.match(messages({ issuer: 'a' }), /the issuer is not a URL to find it by/);
  assert.match(messages({ providers: [{ issuer: 'a' }] }), /the issuer is not a URL to find it by/);
  assert.match(messages({ ...written, providers: [written] }), /belongs into one of the providers/);
  assert.match(messages({ providers: [written, written] }), /same issuer/);
  assert.match(messages({ ...written, jwks: { url: 'ftp://a' } }), /http or https/);
  assert.match(messages({ ...written, jwks: { url: 'https://u:p@a' } }), /password/);
  assert.match(messages({ ...written, jwks: { url: 'http://a', file: 'b' } }), /exactly one/);
  assert.match(messages({ ...written, jwks: '{"keys"' }), /JSON Web Key Set/);
  assert.match(
    messages({ ...written, jwtValidationOptions: { requiredClaims: ['jti'] } }),
    /can be required/,
  );
  assert.match(messages({ ...written, jwtValidationOptions: { leeway: '1h' } }), /leeway/);
  assert.match(messages({ ...written, location: { expression: 'request.pth' } }), /pth/);
  assert.match(messages({ ...written, location: { expression: '1' } }), /expected a string/);
});

test('a token in a parameter is accepted, and the gateway warns at load', async () => {
  const tools = toolsWith([key]);
  const steps = prepared(
    jwtAuth,
    { ...written, mode: 'strict', location: { queryParameter: { name: 't' } } },
    tools,
  );
  assert.match(tools.lines[0]?.message ?? '', /tokens in URLs end up in logs/);
  const exchange = new FakeExchange({ target: `/a?t=${makeToken('ES256', key)}` });
  await steps.onRequest?.(exchange);
  assert.equal(exchange.identity?.subject, 'alice');
  assert.equal(exchange.forwardTarget, '/a');
});
