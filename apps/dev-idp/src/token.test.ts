import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import { startDevIdp, type DevIdp } from './index.ts';

let idp: DevIdp;
const refused: string[] = [];
before(async () => {
  idp = await startDevIdp({
    port: 0,
    log: (line) => refused.push(line),
    config: {
      audience: 'api://trial',
      tokenLifetime: '10m',
      scopes: ['mcp', 'admin'],
      clients: [
        { id: 'demo', secret: 'demo-secret', groups: ['a', 'b'], scopes: ['mcp'], claims: { tenant: 'one' } },
        { id: 'other', secret: 'p%ss:w+rd', audience: 'api://other', tokenLifetime: 5 },
      ],
    },
  });
});
after(() => idp.close());

interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function askToken(
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<TokenAnswer> {
  const response = await fetch(`${idp.issuer}/v1/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}

const demo = { grant_type: 'client_credentials', client_id: 'demo', client_secret: 'demo-secret' };

test('client credentials give a JWT that verifies against the published keys and has the hosted shape', async () => {
  const answer = await askToken({ ...demo, scope: 'mcp' });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.deepEqual(
    [answer.body['token_type'], answer.body['expires_in'], answer.body['scope']],
    ['Bearer', 600, 'mcp'],
  );
  const keys = createRemoteJWKSet(new URL(`${idp.issuer}/v1/keys`));
  const verified = await jwtVerify(String(answer.body['access_token']), keys, {
    issuer: idp.issuer,
    audience: 'api://trial',
    algorithms: ['RS256'],
  });
  const { iat = 0, exp = 0, jti, ...claims } = verified.payload;
  assert.equal(exp - iat, 600);
  assert.ok(jti);
  assert.ok(verified.protectedHeader.kid);
  assert.deepEqual(claims, {
    iss: idp.issuer,
    aud: 'api://trial',
    sub: 'demo',
    cid: 'demo',
    client_id: 'demo',
    scope: 'mcp',
    scp: ['mcp'],
    groups: ['a', 'b'],
    tenant: 'one',
  });
});

test('the secret may come by Basic, form-encoded inside', async () => {
  const basic = Buffer.from(`other:${encodeURIComponent('p%ss:w+rd')}`).toString('base64');
  const { status, body } = await askToken(
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${basic}` },
  );
  assert.equal(status, 200);
  assert.equal(body['expires_in'], 5);
  const { aud, groups } = decodeJwt(String(body['access_token']));
  assert.deepEqual([aud, groups], ['api://other', []]);
});

test('a request without scopes gets all that the client may have', async () => {
  assert.equal((await askToken(demo)).body['scope'], 'mcp');
  assert.equal(
    (await askToken({ ...demo, client_id: 'other', client_secret: 'p%ss:w+rd' })).body['scope'],
    'mcp admin',
  );
});

test('a resource that the client names (RFC 8707) does not change the audience', async () => {
  const { body } = await askToken({ ...demo, resource: 'http://localhost:3000/mcp' });
  assert.equal(decodeJwt(String(body['access_token'])).aud, 'api://trial');
});

const errors: [string, Record<string, string>, number, string][] = [
  ['a wrong secret', { ...demo, client_secret: 'wrong' }, 401, 'invalid_client'],
  ['an unknown client', { ...demo, client_id: 'nobody' }, 401, 'invalid_client'],
  ['no authentication', { grant_type: 'client_credentials', client_id: 'demo' }, 401, 'invalid_client'],
  ['a scope that does not exist', { ...demo, scope: 'mcp nonsense' }, 400, 'invalid_scope'],
  ['a scope that this client may not have', { ...demo, scope: 'admin' }, 400, 'invalid_scope'],
  ['a scope about users', { ...demo, scope: 'openid' }, 400, 'invalid_scope'],
  ['a grant that is not offered', { ...demo, grant_type: 'password' }, 400, 'unsupported_grant_type'],
  [
    'a grant that is not the client’s',
    { ...demo, grant_type: 'authorization_code', code: 'x', redirect_uri: 'http://localhost/' },
    400,
    'unauthorized_client',
  ],
  ['no grant type', { client_id: 'demo', client_secret: 'demo-secret' }, 400, 'invalid_request'],
];
for (const [what, form, status, error] of errors) {
  test(`${what} is answered ${status} ${error} (RFC 6749 §5.2)`, async () => {
    const answer = await askToken(form);
    assert.deepEqual([answer.status, answer.body['error']], [status, error]);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  });
}

test('a client refused over Basic gets the challenge for it', async () => {
  const answer = await askToken(
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${btoa('demo:wrong')}` },
  );
  assert.equal(answer.status, 401);
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Basic /);
});

test('the log says why a client was refused, and no secret', async () => {
  await askToken({ ...demo, client_secret: 'not-the-secret' });
  assert.match(refused.at(-1) ?? '', /invalid_client \(invalid secret provided\)/);
  assert.doesNotMatch(refused.join('\n'), /not-the-secret|demo-secret/);
});

test('a body that is no form is refused', async () => {
  const response = await fetch(`${idp.issuer}/v1/token`, {
    method: 'POST',
    body: JSON.stringify(demo),
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(response.status, 400);
});
