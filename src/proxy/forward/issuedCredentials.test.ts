/** Credentials that the gateway gets or makes for each request, as backends see them. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { decodeJwt, jwtVerify } from 'jose';
import {
  AuthorizationServer,
  thumbprintOf,
  type IssuerOptions,
} from '../../policies/backendAuth/authorizationServer.testing.ts';
import { issuerName, makeKey } from '../../auth/token.testing.ts';
import { policySchemas } from '../../policies/index.ts';
import { authority } from '../certificates.testing.ts';
import { stage, tokenOf } from './credentialStage.testing.ts';

async function issuer(t: TestContext, options: IssuerOptions = {}): Promise<AuthorizationServer> {
  const server = await AuthorizationServer.start(options);
  t.after(() => server.close());
  return server;
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

test('the backend gets the token that the user token was exchanged for', async (t) => {
  const server = await issuer(t, { clients: { gate: { secret: 's e:cret' } } });
  const { ask } = await stage(t, {
    oauthTokenExchange: {
      host: `127.0.0.1:${String(server.port)}`,
      path: '/token?tenant=1',
      audiences: ['files', 'more'],
      scopes: ['read', 'write'],
      resources: ['https://files.test/'],
      requestedTokenType: 'urn:ietf:params:oauth:token-type:access_token',
      clientAuth: { clientId: 'gate', clientSecret: 's e:cret' },
      additionalParams: { tenant: 'request.headers["x-tenant"]' },
    },
  });
  const token = await server.issue({ sub: 'alice' });
  const { status, got } = await ask({ ...bearer(token), 'x-tenant': 'blue' });
  assert.equal(status, 200);
  const { sub, client, aud, scope, resource, requested } = await server.claimsOf(tokenOf(got));
  assert.deepEqual(
    { sub, client, aud, scope, resource, requested },
    {
      sub: 'alice',
      client: 'gate',
      aud: ['files', 'more'],
      scope: 'read write',
      resource: ['https://files.test/'],
      requested: 'urn:ietf:params:oauth:token-type:access_token',
    },
  );
  const [{ form } = { form: new URLSearchParams() }] = server.requests;
  assert.equal(form.get('subject_token_type'), 'urn:ietf:params:oauth:token-type:access_token');
  assert.equal(form.get('tenant'), 'blue');
});

test('a kept token is sent again to its own user only, and every parameter of a request counts', async (t) => {
  const server = await issuer(t);
  const { ask } = await stage(t, {
    oauthTokenExchange: {
      host: `127.0.0.1:${String(server.port)}`,
      additionalParams: { tenant: 'request.headers["x-tenant"]' },
    },
  });
  const [alice, bob] = [await server.issue({ sub: 'alice' }), await server.issue({ sub: 'bob' })];
  const subject = async (token: string, tenant: string): Promise<unknown> =>
    (await server.claimsOf(tokenOf((await ask({ ...bearer(token), 'x-tenant': tenant })).got))).sub;
  for (let round = 0; round < 3; round++) {
    assert.equal(await subject(alice, 'a'), 'alice');
    assert.equal(await subject(bob, 'a'), 'bob');
  }
  assert.equal(server.requests.length, 2);
  assert.equal(await subject(alice, 'b'), 'alice');
  assert.equal(server.requests.length, 3);
});

test('requests that come together wait for one exchange', async (t) => {
  const server = await issuer(t);
  const { ask } = await stage(t, { oauthTokenExchange: { host: `127.0.0.1:${String(server.port)}` } });
  const token = await server.issue({ sub: 'alice' });
  let open = (): void => undefined;
  server.gate = new Promise((resolve) => (open = resolve));
  const answers = Array.from({ length: 8 }, () => ask(bearer(token)));
  while (server.requests.length === 0) await new Promise(setImmediate);
  open();
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    Array.from({ length: 8 }, () => 200),
  );
  assert.equal(server.requests.length, 1);
});

test('a token is not kept beyond its own end or that of the user token, nor without a cache', async (t) => {
  const token = async (server: AuthorizationServer, seconds: number): Promise<string> =>
    await server.issue({ sub: 'alice' }, seconds);
  for (const [lifetime, subjectSeconds, cache, exchanges] of [
    [0, 3_600, {}, 2],
    [3_600, 3_600, { maxEntries: 0 }, 2],
    [3_600, 3_600, {}, 1],
    [null, 3_600, {}, 1],
  ] as const) {
    const server = await issuer(t, { lifetime });
    const { ask } = await stage(t, {
      oauthTokenExchange: { host: `127.0.0.1:${String(server.port)}`, cache },
    });
    const subject = await token(server, subjectSeconds);
    for (let sent = 0; sent < 2; sent++) assert.equal((await ask(bearer(subject))).status, 200);
    assert.equal(server.requests.length, exchanges, JSON.stringify({ lifetime, cache }));
  }
});

test('an actor is named in the token, and may_act decides where it is enforced', async (t) => {
  const server = await issuer(t);
  const { ask } = await stage(t, {
    oauthTokenExchange: {
      host: `127.0.0.1:${String(server.port)}`,
      actorToken: { source: { header: { name: 'x-agent' } }, enforceMayAct: true },
    },
  });
  const agent = await server.issue({ sub: 'agent', iss: 'i' });
  const allowed = await server.issue({ sub: 'alice', may_act: { sub: 'agent', iss: 'i' } });
  const { status, got } = await ask({ ...bearer(allowed), 'x-agent': agent });
  assert.equal(status, 200);
  assert.deepEqual((await server.claimsOf(tokenOf(got)))['act'], { sub: 'agent' });
  assert.equal(got?.get('x-agent'), null);
  for (const mayAct of [undefined, { sub: 'other' }, { sub: 'agent', iss: 'other' }, 'agent', {}]) {
    const token = await server.issue({ sub: 'alice', ...(mayAct === undefined ? {} : { may_act: mayAct }) });
    const refused = await ask({ ...bearer(token), 'x-agent': agent });
    assert.equal(refused.status, 403, JSON.stringify(mayAct));
    assert.equal(refused.got, undefined);
  }
  assert.equal((await ask(bearer(allowed))).status, 403);
});

test('neither a token that authentication refused nor a key of the gateway is exchanged', async (t) => {
  const server = await issuer(t);
  const host = `127.0.0.1:${String(server.port)}`;
  const key = makeKey('P-256');
  const jwtAuth = policySchemas.jwtAuth.parse({
    mode: 'permissive',
    issuer: issuerName,
    audiences: ['me'],
    jwks: JSON.stringify({ keys: [key.jwk] }),
  });
  const apiKey = policySchemas.apiKey.parse({ keys: [{ key: 'key-of-the-gateway' }] });
  const refused = await server.issue({ sub: 'alice' });
  for (const [policies, credential] of [
    [{ jwtAuth }, refused],
    [{ apiKey }, 'key-of-the-gateway'],
  ] as const) {
    const { ask } = await stage(t, { oauthTokenExchange: { host } }, policies);
    const { status, got } = await ask(bearer(credential));
    assert.deepEqual([status, got], [403, undefined]);
  }
  assert.equal(server.requests.length, 0);
});

test('no cookie that authentication or an exchange has read reaches the backend', async (t) => {
  const server = await issuer(t);
  const fromCookie = (name: string): object => ({ source: { cookie: { name } } });
  const { ask } = await stage(
    t,
    {
      oauthTokenExchange: {
        host: `127.0.0.1:${String(server.port)}`,
        subjectToken: fromCookie('subject'),
        actorToken: fromCookie('actor'),
      },
    },
    {
      apiKey: policySchemas.apiKey.parse({
        keys: [{ key: 'key-of-the-gateway' }],
        location: { cookie: { name: 'key' } },
      }),
    },
  );
  const [subject, actor] = [await server.issue({ sub: 'alice' }), await server.issue({ sub: 'agent' })];
  const sent = ['key=key-of-the-gateway', `subject=${subject}`, `actor=${actor}`, 'prefs={"a":1,"b":2}'];
  const { status, got } = await ask({ cookie: sent.join('; ') });
  assert.equal(status, 200);
  assert.equal(got?.get('cookie'), 'prefs={"a":1,"b":2}');
});

test('no token that an expression has read reaches the backend', async (t) => {
  const server = await issuer(t);
  const fromHeader = (name: string): object => ({ source: { expression: `request.headers["${name}"]` } });
  const { ask } = await stage(t, {
    oauthTokenExchange: {
      host: `127.0.0.1:${String(server.port)}`,
      subjectToken: fromHeader('x-user'),
      actorToken: fromHeader('x-agent'),
    },
  });
  const [subject, actor] = [await server.issue({ sub: 'alice' }), await server.issue({ sub: 'agent' })];
  const cookie = `theme=dark; copy=${subject}; session=abc`;
  const { status, got } = await ask({ 'x-user': subject, 'x-agent': actor, 'x-other': 'kept', cookie });
  assert.equal(status, 200);
  assert.deepEqual(
    ['x-user', 'x-agent', 'x-other', 'cookie'].map((name) => got?.get(name)),
    [null, null, 'kept', 'theme=dark; session=abc'],
  );
});

test('jwtBearer presents the user token as an assertion', async (t) => {
  const server = await issuer(t);
  const { ask } = await stage(t, {
    oauthTokenExchange: {
      host: `127.0.0.1:${String(server.port)}`,
      grantType: 'jwtBearer',
      subjectToken: { source: { expression: 'request.headers["x-user"]' } },
      authorizationLocation: { header: { name: 'x-token' } },
      scopes: ['read'],
    },
  });
  const { got } = await ask({ 'x-user': await server.issue({ sub: 'alice' }) });
  const { sub, grant, scope } = await server.claimsOf(got?.get('x-token') ?? '');
  assert.deepEqual({ sub, grant, scope }, { sub: 'alice', grant: 'jwt-bearer', scope: 'read' });
});

test('the gateway proves itself by a post parameter, a signed assertion and a certificate', async (t) => {
  const key = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const pem = (one: { privateKey: KeyObject }): string =>
    one.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const certificate = authority().issue({ names: ['gate'] }).cert;
  const server = await issuer(t, {
    clients: {
      post: { secret: 'one' },
      rsa: { publicKey: key.publicKey },
      ec: { publicKey: ec.publicKey },
    },
  });
  const signed = { method: 'privateKeyJwt', clientId: 'rsa', signingKey: pem(key) };
  for (const [clientAuth, header] of [
    [{ method: 'clientSecretPost', clientId: 'post', clientSecret: 'one' }, undefined],
    [
      { ...signed, kid: 'k1' },
      { alg: 'RS256', typ: 'JWT', kid: 'k1' },
    ],
    [
      { ...signed, alg: 'PS256' },
      { alg: 'PS256', typ: 'JWT' },
    ],
    [
      { method: 'privateKeyJwt', clientId: 'ec', signingKey: pem(ec), alg: 'ES384' },
      { alg: 'ES384', typ: 'JWT' },
    ],
    [
      { ...signed, certificate, certificateHeader: 'x5t#S256' },
      { alg: 'RS256', typ: 'JWT', 'x5t#S256': thumbprintOf(certificate) },
    ],
    [
      { ...signed, certificate, certificateHeader: 'x5c' },
      { alg: 'RS256', typ: 'JWT', x5c: [certificate.replaceAll(/-----[^-]+-----|\s/g, '')] },
    ],
  ] as const) {
    server.requests.length = 0;
    const { ask } = await stage(t, {
      clientCredentials: { host: `127.0.0.1:${String(server.port)}`, path: '/token', clientAuth },
    });
    const { status, got } = await ask();
    assert.equal(status, 200, JSON.stringify(header));
    assert.equal((await server.claimsOf(tokenOf(got)))['client'], clientAuth.clientId);
    assert.deepEqual(server.requests[0]?.assertionHeader, header);
  }
});

test('clientCredentials gets one token for all callers, over TLS that is verified', async (t) => {
  const ca = authority();
  const server = await issuer(t, {
    clients: { gate: { secret: 'one' } },
    tls: ca.issue({ names: ['localhost'] }),
  });
  const settings = (policies?: object): object => ({
    clientCredentials: {
      host: `https://localhost:${String(server.port)}`,
      clientAuth: { clientId: 'gate', clientSecret: 'one' },
      scopes: ['all'],
      ...(policies === undefined ? {} : { policies }),
    },
  });
  const { ask } = await stage(t, settings({ backendTLS: { root: ca.cert } }));
  const tokens = [await ask(bearer('mine')), await ask()].map(({ got }) => tokenOf(got));
  assert.equal(tokens[0], tokens[1]);
  assert.equal((await server.claimsOf(tokens[0] ?? ''))['grant'], 'client');
  assert.equal(server.requests.length, 1);
  const untrusted = await stage(t, settings());
  assert.equal((await untrusted.ask()).status, 502);
  assert.equal(server.requests.length, 1);
});

test('crossAppAccess has the identity provider vouch for the user at the server of the backend', async (t) => {
  const provider = await issuer(t, { clients: { gate: { secret: 'one' } } });
  const resource = await issuer(t, { clients: { agent: { secret: 'two' } } });
  // The server of the backend trusts the assertions of the provider.
  const assertion = await resource.issue({ sub: 'alice' });
  const seen: string[] = [];
  provider.instead = (response) => {
    const { form } = provider.requests.at(-1)!;
    seen.push(
      `${form.get('requested_token_type')} ${form.get('subject_token_type')} ${form.get('audience')}`,
    );
    response.end(JSON.stringify({ access_token: assertion, token_type: 'N_A', expires_in: 60 }));
  };
  const { ask } = await stage(t, {
    crossAppAccess: {
      identityProvider: {
        host: `127.0.0.1:${String(provider.port)}`,
        clientAuth: { clientId: 'gate', clientSecret: 'one' },
      },
      resourceAuthorizationServer: {
        host: `127.0.0.1:${String(resource.port)}`,
        clientAuth: { clientId: 'agent', clientSecret: 'two' },
      },
      audience: 'https://auth.files.test',
      scopes: ['chat'],
    },
  });
  const { status, got } = await ask(bearer(await provider.issue({ sub: 'alice' })));
  assert.equal(status, 200);
  assert.deepEqual(seen, [
    'urn:ietf:params:oauth:token-type:id-jag urn:ietf:params:oauth:token-type:id_token https://auth.files.test',
  ]);
  const { sub, client, grant, scope } = await resource.claimsOf(tokenOf(got));
  assert.deepEqual(
    { sub, client, grant, scope },
    { sub: 'alice', client: 'agent', grant: 'jwt-bearer', scope: 'chat' },
  );
});

test('a request without a user token, or with a refused one, gets 403 and reaches no backend', async (t) => {
  const server = await issuer(t);
  const { ask, plane } = await stage(t, { oauthTokenExchange: { host: `127.0.0.1:${String(server.port)}` } });
  const without = await ask();
  assert.deepEqual([without.status, without.got], [403, undefined]);
  assert.equal(server.requests.length, 0);
  const foreign = await (await issuer(t)).issue({ sub: 'mallory' });
  for (let sent = 0; sent < 3; sent++) {
    const refused = await ask(bearer(foreign));
    assert.deepEqual([refused.status, refused.got], [403, undefined]);
  }
  // A refusal is kept for a moment.
  assert.equal(server.requests.length, 1);
  assert.match(plane.access.at(-1)?.reason ?? '', /status 400, invalid_grant/);
  assert.doesNotMatch(JSON.stringify(plane.access), new RegExp(foreign));
});

test('a server that fails, answers rubbish or is gone gets the caller 502, and nothing is sent on', async (t) => {
  const server = await issuer(t, { clients: { gate: { secret: 'one' } } });
  const settings = (clientSecret: string): object => ({
    clientCredentials: {
      host: `127.0.0.1:${String(server.port)}`,
      clientAuth: { clientId: 'gate', clientSecret },
      // Failures are not kept either.
      cache: { maxEntries: 0 },
    },
  });
  const wrong = await stage(t, settings('wrong-secret'));
  const refused = await wrong.ask(bearer('mine'));
  assert.deepEqual([refused.status, refused.got], [502, undefined]);
  assert.match(wrong.plane.access.at(-1)?.reason ?? '', /invalid_client/);
  assert.doesNotMatch(JSON.stringify(wrong.plane.access), /wrong-secret/);
  const { ask, plane } = await stage(t, settings('one'));
  for (const [instead, why] of [
    [(response) => response.writeHead(500).end('broken'), /status 500/],
    [(response) => response.end('<html>'), /no access_token/],
    [(response) => response.end('{"access_token":"a\\r\\nx-evil: 1"}'), /cannot stand in a header/],
    [(response) => response.end(`{"access_token":"${'a'.repeat(300_000)}"}`), /too_large|large/],
    [(response) => response.destroy(), /127\.0\.0\.1/],
  ] as const satisfies readonly (readonly [AuthorizationServer['instead'], RegExp])[]) {
    server.instead = instead;
    const answer = await ask(bearer('mine'));
    assert.deepEqual([answer.status, answer.got], [502, undefined]);
    assert.match(plane.access.at(-1)?.reason ?? '', why);
  }
  server.instead = undefined;
  assert.equal((await ask()).status, 200);
});

test('a refused grant of the gateway itself gets the caller 502, because no login changes it', async (t) => {
  const server = await issuer(t);
  const { ask, plane } = await stage(t, {
    clientCredentials: {
      host: `127.0.0.1:${String(server.port)}`,
      clientAuth: { clientId: 'gate', clientSecret: 'one' },
    },
  });
  server.instead = (response) => response.writeHead(400).end('{"error":"invalid_grant"}');
  const { status, got } = await ask(bearer('mine'));
  assert.deepEqual([status, got], [502, undefined]);
  assert.match(plane.access.at(-1)?.reason ?? '', /status 400, invalid_grant/);
});

test('jwtSign signs with the key of a file, and with the next one after it changes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'signing-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'key.pem');
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(file, key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const { ask } = await stage(t, {
    jwtSign: {
      signingKey: { file },
      alg: 'ES256',
      kid: 'k1',
      ttl: '60s',
      claims: { iss: 'gate', sub: 'service', aud: ['files'], flags: { a: true } },
    },
  });
  const { got } = await ask(bearer('mine'));
  const { payload, protectedHeader } = await jwtVerify(tokenOf(got), key.publicKey, {
    issuer: 'gate',
    audience: 'files',
  });
  assert.deepEqual(protectedHeader, { alg: 'ES256', typ: 'JWT', kid: 'k1' });
  assert.equal(payload.exp! - payload.iat!, 60);
  assert.deepEqual(payload['flags'], { a: true });
  assert.equal(decodeJwt(tokenOf((await ask()).got)).sub, 'service');
});
