import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { GatewayError, NotEvaluated } from '../../errors.ts';
import { issuerName, makeKey, makeToken } from '../../auth/token.testing.ts';
import { redactDump } from '../../admin/redactDump.ts';
import { maskedFields } from '../../config/index.ts';
import { forgetSecrets, redactText } from '../../telemetry/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { jwtAuth } from '../jwtAuth/index.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { backendAuth } from './index.ts';

function sent(
  settings: object,
  request: FakeRequest = {},
  token?: string,
): { headers: HeaderLine[]; target: string } {
  const exchange = new FakeExchange(request);
  exchange.token = token;
  const steps = prepared(backendAuth, settings);
  assert.equal(steps.onRequest?.(exchange), undefined);
  steps.close?.();
  return {
    headers: exchange.requestHeaders.apply(exchange.request.headerLines()),
    target: exchange.forwardTarget,
  };
}

test('a key is sent as a bearer token, in place of the client credentials', () => {
  const client: FakeRequest = {
    headers: [
      ['Authorization', 'Bearer mine'],
      ['x-other', '1'],
    ],
  };
  for (const key of ['backend-key', { value: 'backend-key' }])
    assert.deepEqual(sent({ key }, client).headers, [
      ['x-other', '1'],
      ['authorization', 'Bearer backend-key'],
    ]);
});

test('a key from a file is sent without the line break at its end', () => {
  const folder = mkdtempSync(join(tmpdir(), 'key-'));
  const file = join(folder, 'key');
  writeFileSync(file, 'from-file\n');
  for (const key of [{ file }, { value: { file } }])
    assert.deepEqual(sent({ key }).headers, [['authorization', 'Bearer from-file']]);
  assert.equal(redactText('the backend said from-file'), 'the backend said [redacted]');
  forgetSecrets();
  rmSync(folder, { recursive: true });
});

test('a key may go into another header, a cookie or the query, where the client has no say', () => {
  const at = (location: object) => ({ key: { value: 'k&1', location } });
  assert.deepEqual(
    sent(at({ header: { name: 'X-Key' } }), {
      headers: [
        ['x-key', 'mine'],
        ['X-KEY', 'mine too'],
      ],
    }).headers,
    [['x-key', 'k&1']],
  );
  assert.deepEqual(
    sent(at({ cookie: { name: 'key' } }), {
      headers: [
        ['cookie', 'a=1,2; key=mine; key =mine too'],
        ['cookie', 'b=2'],
      ],
    }).headers,
    [['cookie', 'a=1,2; b=2; key=k&1']],
  );
  const query = at({ queryParameter: { name: 'api key' } });
  assert.equal(sent(query, { target: '/p?a=%41&api+key=mine&b' }).target, '/p?a=%41&b&api%20key=k%261');
  assert.equal(sent(query, { target: '/p' }).target, '/p?api%20key=k%261');
  assert.equal(sent(query, { target: '*' }).target, '*');
});

test('several credentials go to their places', () => {
  const settings = {
    key: 'one',
    credentials: [
      { key: 'two', location: { header: { name: 'x-two' } } },
      { key: 'three', location: { cookie: { name: 'c' } } },
    ],
  };
  assert.deepEqual(sent(settings).headers, [
    ['authorization', 'Bearer one'],
    ['x-two', 'two'],
    ['cookie', 'c=three'],
  ]);
});

test('a verified token is sent on, and without one nothing stands at its place', () => {
  assert.deepEqual(sent({ passthrough: {} }, {}, 'verified').headers, [['authorization', 'Bearer verified']]);
  const elsewhere = { passthrough: { location: { header: { name: 'x-user-token' } } } };
  assert.deepEqual(sent(elsewhere, { headers: [['x-user-token', 'forged']] }, 'verified').headers, [
    ['x-user-token', 'verified'],
  ]);
  assert.deepEqual(sent(elsewhere, { headers: [['x-user-token', 'forged']] }).headers, []);
});

test('the token that goes on is the one that was verified, and no other', () => {
  const key = makeKey('P-256', 'k1');
  const good = makeToken('ES256', key, {});
  const tools = toolsWith([key]);
  const settings = {
    mode: 'permissive',
    issuer: issuerName,
    audiences: ['api://test'],
    jwks: { url: 'http://idp.test/k' },
  };
  const verify = prepared(jwtAuth, settings, tools);
  const forward = prepared(backendAuth, { passthrough: {} }, tools);
  const outcome = (token: string): HeaderLine[] => {
    const exchange = new FakeExchange({ headers: [['authorization', `Bearer ${token}`]] });
    void verify.onRequest?.(exchange);
    void forward.onRequest?.(exchange);
    return exchange.requestHeaders.apply(exchange.request.headerLines());
  };
  assert.deepEqual(outcome(good), [['authorization', `Bearer ${good}`]]);
  assert.deepEqual(outcome(`${good}x`), []);
});

test('a request that is explained asks no server for a credential', () => {
  const host = { host: 'idp.test:1', clientAuth: { clientId: 'a', clientSecret: 'b' } };
  const hosts = { use: () => ({ ask: () => Promise.reject(new Error('asked')) }) };
  const tools = { ...toolsWith([]), hosts };
  const steps = prepared(backendAuth, { clientCredentials: host }, tools);
  const exchange = Object.assign(new FakeExchange(), { trial: { claims: undefined, note: () => undefined } });
  assert.throws(() => steps.onRequest?.(exchange), NotEvaluated);
  steps.close?.();
});

test('a secret that is missing refuses the request while a credential is under way', async (t) => {
  let fail = (_error: Error): void => undefined;
  const ask = () => new Promise<never>((_, reject) => (fail = reject));
  const tools = { ...toolsWith([]), hosts: { use: () => ({ ask }) } };
  const settings = {
    clientCredentials: { host: 'idp.test:1', clientAuth: { clientId: 'a', clientSecret: 'secret-of-a' } },
    credentials: [{ key: { file: '/none' }, location: { header: { name: 'x-key' } } }],
  };
  const unread: unknown[] = [];
  const note = (error: unknown): void => void unread.push(error);
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  const steps = prepared(backendAuth, settings, tools);
  await assert.rejects(async () => await steps.onRequest?.(new FakeExchange()), { code: 'policy_failed' });
  fail(new GatewayError('backend_auth_failed'));
  await new Promise(setImmediate);
  assert.deepEqual(unread, []);
  steps.close?.();
});

test('a dump of the settings shows no secret', () => {
  const settings = backendAuth.schema.parse({
    key: 'top-secret-1',
    credentials: [{ key: 'top-secret-2', location: { header: { name: 'x' } } }],
  });
  assert.doesNotMatch(
    JSON.stringify(redactDump({ name: 'backendAuth', settings }, maskedFields)),
    /top-secret/,
  );
});

test('credentials that cannot be sent, are ambiguous or unsupported are rejected', () => {
  const messages = (settings: unknown): string =>
    (backendAuth.schema.safeParse(settings).error?.issues ?? [])
      .map((issue) => JSON.stringify(issue))
      .join('; ');
  assert.match(messages({}), /expected one of key, passthrough, .*credentials/);
  assert.match(messages({ key: 'a', passthrough: {} }), /exclude each other/);
  assert.match(
    messages({ key: 'a', credentials: [{ key: 'b', location: { header: { name: 'Authorization' } } }] }),
    /two credentials/,
  );
  assert.match(messages({ key: 'a\r\nb: c' }), /cannot stand in a header/);
  assert.doesNotMatch(messages({ key: 'a\r\nsecret' }), /secret\\"|a\\r/);
  for (const prefix of ['Bearer\r\nx: y ', 'a\r\n\r\nGET / HTTP/1.1\r\n', 'b\u010d\u010a', ' a'])
    assert.match(
      messages({ key: { value: 'a', location: { header: { name: 'x', prefix } } } }),
      /visible ASCII/,
    );
  for (const name of ['Transfer-Encoding', 'content-length', 'Host', 'connection'])
    assert.match(
      messages({ key: { value: 'chunked', location: { header: { name } } } }),
      /frames the message/,
    );
  assert.match(messages({ key: '' }), /empty/);
  assert.match(messages({ key: { value: 'a', location: { expression: 'jwt.sub' } } }), /not built yet/);
  assert.match(messages({ copilot: {} }), /not built yet/);
  assert.match(messages('copilot'), /copilot is known, but not built yet: tokens of GitHub Copilot/);
});

test('settings of issued credentials that contradict each other are rejected', () => {
  const messages = (settings: object): string =>
    (backendAuth.schema.safeParse(settings).error?.issues ?? [])
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('; ');
  const endpoint = { host: 'idp.test:80' };
  const clientAuth = { clientId: 'a', clientSecret: 'b' };
  for (const [settings, why] of [
    [
      { key: 'a', clientCredentials: { ...endpoint, clientAuth } },
      /key and clientCredentials exclude each other/,
    ],
    [{ clientCredentials: endpoint }, /clientCredentials\.clientAuth: /],
    [{ oauthTokenExchange: {} }, /oauthTokenExchange: expected either host or backend/],
    [{ oauthTokenExchange: { host: 'idp.test' } }, /oauthTokenExchange\.host: .*name:port/],
    [{ oauthTokenExchange: { ...endpoint, service: {} } }, /service: known, but not built yet/],
    [
      { oauthTokenExchange: { ...endpoint, policies: { tcp: {} } } },
      /policies\.tcp: known, but not built yet/,
    ],
    [
      { oauthTokenExchange: { ...endpoint, grantType: 'jwtBearer', requestedTokenType: 'a' } },
      /requestedTokenType: is for grantType tokenExchange only/,
    ],
    [
      { oauthTokenExchange: { ...endpoint, additionalParams: { assertion: '"a"' } } },
      /additionalParams: the gateway writes these parameters itself/,
    ],
    [{ oauthTokenExchange: { ...endpoint, additionalParams: { a: '1' } } }, /expected a string/],
    [{ oauthTokenExchange: { ...endpoint, scopes: ['a b'] } }, /not a scope/],
    [
      { clientCredentials: { ...endpoint, clientAuth: { clientId: 'a' } } },
      /clientSecret: method clientSecretBasic needs clientSecret/,
    ],
    [
      { clientCredentials: { ...endpoint, clientAuth: { ...clientAuth, kid: 'k' } } },
      /kid: is for method privateKeyJwt only/,
    ],
    [
      { clientCredentials: { ...endpoint, clientAuth: { clientId: 'a', method: 'privateKeyJwt' } } },
      /signingKey: privateKeyJwt needs signingKey/,
    ],
    [{ jwtSign: { signingKey: 'no key' } }, /signingKey: expected a private key as PEM/],
    [
      { jwtSign: { signingKey: { file: '/k' }, claims: { exp: 1 } } },
      /the gateway writes these claims itself/,
    ],
    [
      { crossAppAccess: { audience: 'a', identityProvider: { ...endpoint, clientAuth } } },
      /resourceAuthorizationServer/,
    ],
  ] as const)
    assert.match(messages(settings), why, JSON.stringify(settings));
});
