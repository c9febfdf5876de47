import assert from 'node:assert/strict';
import { createHmac, createPublicKey, type webcrypto } from 'node:crypto';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import {
  authentication,
  group,
  inline,
  mcpRoute,
  node,
  rogue,
  startEchoApp,
  startIdp,
} from './stage.testing.ts';
import { openSession } from './session.testing.ts';
import { until } from '../../src/until.testing.ts';

let idp: Awaited<ReturnType<typeof startIdp>>;
let echo: Awaited<ReturnType<typeof startEchoApp>>;
let gateway: GatewayProcess;

before(async () => {
  idp = await startIdp();
  echo = await startEchoApp();
  const route = (name: string, policies: object): string => `
    - name: ${name.replaceAll('/', '-')}
      matches: [{ path: { pathPrefix: /${name} } }]
      policies: ${inline(policies)}
      backends: [{ host: '127.0.0.1:${echo.port}' }]`;
  gateway = await startGateway(`
config: { logging: { level: debug, accessLog: json } }
binds:
- port: 0
  listeners:
  - routes:
${route('anything', { mcpAuthentication: authentication(idp) })}
${route('anything/jwt', { jwtAuth: { mode: 'strict', issuer: idp.issuer, audiences: ['api://tools'], jwks: { url: `${idp.issuer}/v1/keys` } } })}
${route('anything/optional', { mcpAuthentication: authentication(idp, { mode: 'optional', authorization: undefined }) })}
${route('anything/permissive', { mcpAuthentication: authentication(idp, { mode: 'permissive', authorization: undefined }) })}
${mcpRoute({ idp, path: '/mcp', target: { cmd: node, args: [rogue] } })}
`);
  // The first answer waits for the key set, which is fetched in the background.
  await gateway.keysReady();
});
after(async () => {
  await gateway?.stop();
  await echo?.close();
  await idp?.close();
});

const ask = (headers: Record<string, string>, path = '/anything'): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers });
const present = (token: string, path?: string): Promise<Response> =>
  ask({ authorization: `Bearer ${token}` }, path);

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
const headOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()) as Record<string, unknown>;
const good = (): Promise<string> => idp.issueToken({ client: 'insider' });

/** The first key of the issuer's set. */
const publicKey = async (): Promise<webcrypto.JsonWebKey> =>
  ((await (await fetch(`${idp.issuer}/v1/keys`)).json()) as { keys: [webcrypto.JsonWebKey] }).keys[0];

const signHmac = (head: object, claims: object, secret: string): string => {
  const signed = `${part(head)}.${part(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
};

const now = (): number => Math.floor(Date.now() / 1000);

/** Tokens that are no good, and what the log says about them. */
const bad: Readonly<Record<string, readonly [reason: string, make: () => Promise<string> | string]>> = {
  'an expired one': ['expired (exp)', () => idp.issueToken({ expiresIn: -30 })],
  'one for another audience': ['audience (aud)', () => idp.issueToken({ audience: 'api://other' })],
  'one without an audience': ['missing_claim (aud)', () => idp.issueToken({ claims: { aud: null } })],
  'one whose audience only begins like ours': [
    'audience (aud)',
    () => idp.issueToken({ audience: 'api://tools.evil' }),
  ],
  'one of another issuer': ['issuer (iss)', () => idp.issueToken({ issuer: 'https://evil.example' })],
  'one without an issuer': ['missing_claim (iss)', () => idp.issueToken({ claims: { iss: null } })],
  'one with a list of issuers': ['issuer (iss)', () => idp.issueToken({ claims: { iss: [idp.issuer] } })],
  'one signed with another key': ['signature', () => idp.issueToken({ wrongKey: true })],
  'one without an end': ['missing_claim (exp)', () => idp.issueToken({ claims: { exp: null } })],
  'one that is valid later': ['not_yet_valid (nbf)', () => idp.issueToken({ claims: { nbf: now() + 600 } })],
  'one issued in the future': [
    'issued_in_future (iat)',
    () => idp.issueToken({ claims: { iat: now() + 600 } }),
  ],
  'one whose claims were changed': [
    'signature',
    async () => {
      const [head, , signature] = (await idp.issueToken({ client: 'outsider' })).split('.');
      const claims = claimsOf(await good());
      return [head, part(claims), signature].join('.');
    },
  ],
  'one with alg none': [
    'malformed',
    async () => `${part({ ...headOf(await good()), alg: 'none' })}.${part(claimsOf(await good()))}.`,
  ],
  'one with alg none and a signature': [
    'algorithm',
    async () => {
      const token = await good();
      return `${part({ ...headOf(token), alg: 'none' })}.${token.split('.').slice(1).join('.')}`;
    },
  ],
  'one signed HS256 with the public key as its secret': [
    'algorithm',
    async () => {
      const token = await good();
      const pem = createPublicKey({ key: await publicKey(), format: 'jwk' }).export({
        type: 'spki',
        format: 'pem',
      });
      return signHmac({ ...headOf(token), alg: 'HS256' }, claimsOf(token), String(pem));
    },
  ],
  'one that brings its own key': [
    'algorithm',
    async () => {
      const token = await good();
      const head = { ...headOf(token), alg: 'HS256', jwk: { kty: 'oct', k: part({ a: 1 }) } };
      return signHmac(head, claimsOf(token), 'secret');
    },
  ],
  'one with an unknown critical header': [
    'critical',
    async () => {
      const token = await good();
      const head = part({ ...headOf(token), crit: ['x'], x: 1 });
      return `${head}.${token.split('.').slice(1).join('.')}`;
    },
  ],
  'one with an unknown key id': [
    'unknown_key',
    async () => {
      const token = await good();
      return `${part({ ...headOf(token), kid: 'nobody' })}.${token.split('.').slice(1).join('.')}`;
    },
  ],
  'one with a path as key id': [
    'unknown_key',
    async () => {
      const token = await good();
      const head = part({ ...headOf(token), kid: '../../etc/passwd' });
      return `${head}.${token.split('.').slice(1).join('.')}`;
    },
  ],
  'one with padding': ['malformed', async () => `${await good()}==`],
  'one with a part too many': ['malformed', async () => `${await good()}.x`],
  'no token at all': ['malformed', () => 'nonsense'],
  'an empty one': ['malformed', () => ''],
  'a huge one': ['too_large', () => idp.issueToken({ claims: { filler: 'x'.repeat(40_000) } })],
};

const requestId = (what: string): string => `refused-${what.replaceAll(/\W+/g, '-')}`;

describe('a route with mcpAuthentication', () => {
  test('lets a good token in, in any case of the scheme, and keeps it to itself', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const response = await ask({ authorization: `${scheme} ${await good()}` });
      assert.equal(response.status, 200);
      const { headers } = (await response.json()) as { headers: Record<string, string[]> };
      assert.equal(headers['Authorization'], undefined, 'the backend gets no token');
    }
    const list = await present(await idp.issueToken({ audience: ['api://other', 'api://tools'] }));
    assert.equal(list.status, 200);
  });

  test('without a token answers 401 and says where to get one, and nothing of an error', async () => {
    const response = await ask({});
    assert.equal(response.status, 401);
    const { host } = new URL(gateway.url);
    assert.equal(
      response.headers.get('www-authenticate'),
      `Bearer resource_metadata="http://${host}/.well-known/oauth-protected-resource/anything"`,
    );
  });

  test('a token elsewhere than in the header is none', async () => {
    const token = await good();
    const attempts = [
      ask({}, `/anything?access_token=${token}`),
      ask({ authorization: `Basic ${Buffer.from(`user:${token}`).toString('base64')}` }),
      ask({ authorization: `Bearerx ${token}` }),
      ask({ 'x-authorization': `Bearer ${token}` }),
      ask({ cookie: `access_token=${token}` }),
    ];
    for (const response of await Promise.all(attempts)) {
      assert.equal(response.status, 401);
      assert.doesNotMatch(response.headers.get('www-authenticate') ?? '', /error=/);
    }
  });

  test('two Authorization headers are refused, whatever stands in them', async () => {
    const token = await good();
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(
        `${gateway.url}/anything`,
        { headers: { authorization: [`Bearer ${token}`, `Bearer ${token}`] as unknown as string } },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      sent.on('error', reject).end();
    });
    assert.ok(status === 401 || status === 400, `got ${status}`);
  });

  for (const [what, [, make]] of Object.entries(bad))
    test(`refuses ${what}`, async () => {
      const token = await make();
      const response = await ask({ authorization: `Bearer ${token}`, 'x-request-id': requestId(what) });
      assert.equal(response.status, 401);
      const challenge = response.headers.get('www-authenticate') ?? '';
      assert.match(
        challenge,
        /^Bearer error="invalid_token", error_description="[^"]+", resource_metadata="/,
      );
      const body = await response.text();
      assert.match(body, /"error":"invalid_token"|"error":"unauthorized"/);
      if (token.length > 20) assert.ok(!body.includes(token), 'the answer shows the token');
    });

  test('the access log says why each was refused', async () => {
    const said: Record<string, unknown> = {};
    const expected: Record<string, string> = {};
    for (const [what, [reason]] of Object.entries(bad)) {
      const line = await gateway.accessLine(requestId(what));
      // The expected and received values follow the reason.
      said[what] = String(line['token']).split(': ', 1)[0];
      expected[what] = reason;
    }
    assert.deepEqual(said, expected);
  });

  test('the access log has the expected and the received value, and nothing else of the token', async () => {
    const sent = await idp.issueToken({ issuer: 'https://evil.example', claims: { secret: 'top-secret' } });
    const long = await idp.issueToken({ audience: `api://\n${'x'.repeat(500)}` });
    for (const [id, token, path] of [
      ['told-issuer', sent, '/anything/jwt'],
      ['told-audience', long, '/anything/jwt'],
    ] as const)
      await (await ask({ authorization: `Bearer ${token}`, 'x-request-id': id }, path)).text();
    const issuer = await gateway.accessLine('told-issuer');
    assert.equal(issuer['token'], `issuer (iss): expected ${idp.issuer}, received https://evil.example`);
    assert.equal(issuer['policy'], 'jwtAuth');
    const audience = String((await gateway.accessLine('told-audience'))['token']);
    assert.match(audience, /^audience \(aud\): expected api:\/\/tools, received "api:\/\/\\nx+…"$/);
    assert.ok(audience.length < 250, 'the received value is cut');
    const log = gateway.accessLog();
    assert.ok(!log.includes('top-secret') && !log.includes(sent) && !log.includes(long));
  });

  test('without the group answers 403 in JSON', async () => {
    const without: Readonly<Record<string, unknown>> = {
      'in no group': [],
      'with no claim': null,
      'in other groups': ['admins', `${group}-old`, `old-${group}`],
      'with the name of the group as text': group,
      'with text that contains it': `admins ${group} others`,
      'with a number': 7,
      'with a nested list': [[group]],
      'in upper case': [group.toUpperCase()],
    };
    for (const [what, groups] of Object.entries(without)) {
      const response = await present(await idp.issueToken({ claims: { groups } }));
      assert.equal(response.status, 403, what);
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
      assert.equal(typeof ((await response.json()) as { error?: unknown }).error, 'string');
    }
    const within = await present(await idp.issueToken({ claims: { groups: ['admins', group] } }));
    assert.equal(within.status, 200);
  });

  test('answers preflights, which carry no token', async () => {
    const response = await fetch(`${gateway.url}/anything`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    assert.equal(response.status, 204, 'a page can learn where its user logs in');
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
  });

  test('publishes its metadata by itself, for its path and for the root, to every page', async () => {
    for (const [path, resource] of [
      ['/anything', '/anything'],
      ['/mcp', '/mcp'],
      ['', ''],
    ] as const) {
      const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`);
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get('access-control-allow-origin'), '*');
      assert.partialDeepStrictEqual(await response.json(), {
        resource: `${gateway.url}${resource}`,
        authorization_servers: [idp.issuer],
        bearer_methods_supported: ['header'],
      });
    }
    const server = await fetch(`${gateway.url}/.well-known/oauth-authorization-server/mcp`);
    assert.equal(server.status, 200);
    assert.partialDeepStrictEqual(await server.json(), {
      issuer: idp.issuer,
      token_endpoint: `${idp.issuer}/v1/token`,
    });
  });

  test('a path that no route serves has no metadata', async () => {
    const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource/elsewhere`);
    assert.equal(response.status, 404);
  });
});

describe('other modes and policies', () => {
  test('jwtAuth asks for a token with a bare challenge', async () => {
    const none = await ask({}, '/anything/jwt');
    assert.equal(none.status, 401);
    assert.equal(none.headers.get('www-authenticate'), 'Bearer');
    const wrong = await present(await idp.issueToken({ audience: 'api://other' }), '/anything/jwt');
    assert.equal(wrong.status, 401);
    assert.match(wrong.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/);
    assert.equal((await present(await idp.issueToken({ client: 'outsider' }), '/anything/jwt')).status, 200);
  });

  test('optional lets callers without a token pass and refuses bad tokens', async () => {
    assert.equal((await ask({}, '/anything/optional')).status, 200);
    assert.equal((await present(await good(), '/anything/optional')).status, 200);
    assert.equal((await present('nonsense', '/anything/optional')).status, 401);
  });

  test('permissive refuses nobody', async () => {
    assert.equal((await ask({}, '/anything/permissive')).status, 200);
    assert.equal((await present('nonsense', '/anything/permissive')).status, 200);
    const expired = await idp.issueToken({ expiresIn: -30 });
    assert.equal((await present(expired, '/anything/permissive')).status, 200);
  });

  test('a mode that is not strict without a rule is warned about at load', async () => {
    const { config } = await gateway.configDump();
    const warned = config.warnings.filter((warning) => /mode/.test(warning));
    assert.equal(warned.length, 2, config.warnings.join('\n'));
  });
});

describe('an MCP session', () => {
  test('belongs to the issuer and subject that opened it', async () => {
    const mine = await openSession(`${gateway.url}/mcp`, await idp.issueToken({ user: 'alice' }));
    const others = await idp.issueToken({ user: 'carol' });
    for (const method of ['POST', 'GET', 'DELETE'] as const) {
      const response = await mine.send(method, { method: 'tools/list', id: 5 }, others);
      assert.equal(response.status, 404, method);
      await response.body?.cancel();
    }
    // Another token of the same user is as good as the first one.
    const again = await mine.send(
      'POST',
      { method: 'tools/list', id: 6 },
      await idp.issueToken({ user: 'alice', expiresIn: 500 }),
    );
    assert.equal(again.status, 200);
    const expired = await mine.send(
      'POST',
      { method: 'tools/list', id: 7 },
      await idp.issueToken({ user: 'alice', expiresIn: -30 }),
    );
    assert.equal(expired.status, 401);
    await mine.close();
    const ended = await mine.send('POST', { method: 'tools/list', id: 8 });
    assert.equal(ended.status, 404);
  });

  test('cannot be opened without the group, and starts no process then', async () => {
    await until('the end of earlier children', () => gateway.children().length === 0);
    const response = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await idp.issueToken({ client: 'outsider' })}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }),
    });
    assert.equal(response.status, 403);
    assert.deepEqual(gateway.children(), []);
  });
});

test('no token is in the log or the access log, even at debug level', () => {
  const written = gateway.log() + gateway.accessLog();
  assert.match(written, /"status":401/);
  // Every token begins with the base64url of `{"`.
  assert.doesNotMatch(written, /eyJ[\w-]{10}/);
});
