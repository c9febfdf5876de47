import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { makeKey, sendKeys, startKeyServer } from './keyServer.testing.ts';
import { audience, authentication, inline, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

/** A route that needs a token and answers by itself. */
const route = (name: string, policies: object): string => `
    - name: ${name}
      matches: [{ path: { pathPrefix: /${name} } }]
      policies: ${inline({ ...policies, directResponse: { status: 200, body: name } })}`;

const guard = (issuer: string, jwks: unknown): object => ({
  mcpAuthentication: { issuer, audiences: [audience], jwks },
});

const gatewayWith = (...routes: string[]): Promise<GatewayProcess> =>
  startGateway(`
binds:
- port: 0
  listeners:
  - routes:
${routes.join('')}
${route('open', {})}
`);

const statusOf = async (gateway: GatewayProcess, path: string, token?: string): Promise<number> => {
  const response = await fetch(`${gateway.url}/${path}`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  await response.body?.cancel();
  return response.status;
};

describe('key rotation', () => {
  test('a token of a new key works at once, and one of a dropped key no longer', async () => {
    await using idp = await startIdp();
    await using gateway = await gatewayWith(route('guarded', { mcpAuthentication: authentication(idp) }));
    await gateway.keysReady();
    const old = await idp.issueToken();
    assert.equal(await statusOf(gateway, 'guarded', old), 200);
    await idp.rotateKeys({ dropOld: true });
    assert.equal(await statusOf(gateway, 'guarded', old), 200, 'nobody has asked for the new set yet');
    assert.equal(await statusOf(gateway, 'guarded', await idp.issueToken()), 200);
    assert.equal(await statusOf(gateway, 'guarded', old), 401);
  });

  test('many tokens of a new key cause one fetch, and unknown keys no more of them', async () => {
    const [first, second, stranger] = await Promise.all([
      makeKey('first'),
      makeKey('second'),
      makeKey('stranger'),
    ]);
    await using server = await startKeyServer(sendKeys(first.jwk));
    await using gateway = await gatewayWith(route('guarded', guard('urn:issuer', { url: server.url })));
    await gateway.keysReady();
    assert.equal(server.asked, 1);
    server.answer(sendKeys(second.jwk));
    const fresh = await Promise.all(Array.from({ length: 20 }, () => second.token('urn:issuer')));
    const answers = await Promise.all(fresh.map((token) => statusOf(gateway, 'guarded', token)));
    assert.deepEqual(new Set(answers), new Set([200]));
    assert.equal(server.asked, 2);
    for (let i = 0; i < 5; i++)
      assert.equal(await statusOf(gateway, 'guarded', await stranger.token('urn:issuer')), 401);
    assert.equal(server.asked, 2, 'a stranger cannot make the gateway ask and ask');
  });

  test('a key set in a file is read again when it changes; one in the configuration just works', async () => {
    const [first, second] = await Promise.all([makeKey('first'), makeKey('second')]);
    const directory = mkdtempSync(join(tmpdir(), 'portcullis-keys-'));
    const file = join(directory, 'keys.json');
    const write = (...keys: object[]): void => {
      writeFileSync(`${file}.next`, JSON.stringify({ keys }));
      renameSync(`${file}.next`, file);
    };
    try {
      write(first.jwk);
      await using gateway = await gatewayWith(
        route('file', guard('urn:issuer', { file })),
        route('inline', guard('urn:issuer', { inline: JSON.stringify({ keys: [second.jwk] }) })),
      );
      await gateway.keysReady();
      const [token1, token2] = await Promise.all([first.token('urn:issuer'), second.token('urn:issuer')]);
      assert.equal(await statusOf(gateway, 'file', token1), 200);
      assert.equal(await statusOf(gateway, 'file', token2), 401);
      assert.equal(await statusOf(gateway, 'inline', token2), 200);
      write(second.jwk);
      await until('the new key of the file', async () => (await statusOf(gateway, 'file', token2)) === 200);
      assert.equal(await statusOf(gateway, 'file', token1), 401);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

test('every family of algorithms is verified', async () => {
  const algorithms = [
    'RS256',
    'RS384',
    'RS512',
    'PS256',
    'PS384',
    'PS512',
    'ES256',
    'ES384',
    'ES512',
    'EdDSA',
  ];
  const keys = await Promise.all(algorithms.map((alg) => makeKey(`key-${alg}`, alg)));
  await using server = await startKeyServer(sendKeys(...keys.map(({ jwk }) => jwk)));
  await using gateway = await gatewayWith(route('guarded', guard('urn:issuer', { url: server.url })));
  await gateway.keysReady();
  const seen = await Promise.all(
    keys.map(async (key) => await statusOf(gateway, 'guarded', await key.token('urn:issuer'))),
  );
  assert.deepEqual(
    seen,
    algorithms.map(() => 200),
  );
});

describe('a provider that is away', () => {
  test('at the start closes its routes only, with 503, until it comes', async () => {
    await using idp = await startIdp();
    await idp.down();
    await using gateway = await gatewayWith(route('guarded', { mcpAuthentication: authentication(idp) }));
    const token = await idp.issueToken();
    const response = await fetch(`${gateway.url}/guarded`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(response.status, 503);
    assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    await response.body?.cancel();
    assert.equal(await statusOf(gateway, 'guarded'), 401, 'who brings no token needs no key to hear so');
    assert.equal(await statusOf(gateway, 'open'), 200);
    await until('the problem', async () => {
      const { keySets } = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
        keySets: { state: string; problem?: string }[];
      };
      assert.equal(keySets[0]?.state, 'waiting');
      return (keySets[0].problem ?? '') !== '';
    });
    await idp.up();
    await until('the keys', async () => (await statusOf(gateway, 'guarded', token)) === 200);
  });

  test('later changes nothing for the keys that are known', async () => {
    await using idp = await startIdp();
    await using gateway = await gatewayWith(route('guarded', { mcpAuthentication: authentication(idp) }));
    await gateway.keysReady();
    await idp.down();
    const known = await idp.issueToken();
    await idp.rotateKeys();
    const unknown = await idp.issueToken();
    assert.equal(await statusOf(gateway, 'guarded', unknown), 401);
    assert.equal(await statusOf(gateway, 'guarded', known), 200);
  });
});

/** Answers that are no key set. */
const rubbish: Readonly<Record<string, (response: ServerResponse) => void>> = {
  html: (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
  broken: (response) => void response.writeHead(200).end('{"keys":['),
  noList: (response) => void response.writeHead(200).end('{"keys":{}}'),
  empty: (response) => void response.writeHead(200).end('{"keys":[]}'),
  nothing: (response) => void response.writeHead(204).end(),
  failing: (response) => void response.writeHead(500).end('{"keys":[]}'),
  // A redirect could lead a gateway to where its operator would not have it go.
  elsewhere: (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/keys' }).end(),
  // Says how long it is, and is not.
  short: (response) => {
    response.writeHead(200, { 'content-length': '5000' });
    response.write('{"keys":[', () => response.destroy());
  },
  endless: (response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  },
  silent: () => undefined,
};

test('a provider that answers rubbish, without end or not at all closes its routes until it mends', async () => {
  const names = Object.keys(rubbish);
  const key = await makeKey('good');
  await using servers = new AsyncDisposableStack();
  const started = await Promise.all(
    names.map(async (name) => servers.use(await startKeyServer(rubbish[name] ?? sendKeys()))),
  );
  await using gateway = await gatewayWith(
    ...names.map((name, index) => route(name, guard('urn:issuer', { url: started[index]?.url }))),
  );
  const token = await key.token('urn:issuer');
  await until('every provider to be asked', () => started.every(({ asked }) => asked > 0));
  assert.deepEqual(
    await Promise.all(names.map((name) => statusOf(gateway, name, token))),
    names.map(() => 503),
  );
  assert.equal(await statusOf(gateway, 'open'), 200);
  for (const server of started) server.answer(sendKeys(key.jwk));
  await until('every route to open', async () => {
    const statuses = await Promise.all(names.map((name) => statusOf(gateway, name, token)));
    return statuses.every((status) => status === 200);
  });
});

test('an unusual key in a set is left out with a warning and does not spoil the others', async () => {
  const good = await makeKey('good');
  const odd = [
    { kty: 'oct', kid: 'symmetric', k: 'c2VjcmV0' },
    { kty: 'EC', crv: 'secp256k1', kid: 'curve', x: 'AA', y: 'AA' },
    { kty: 'RSA', kid: 'small', n: Buffer.alloc(64, 0xff).toString('base64url'), e: 'AQAB' },
    { kty: 'FUTURE', kid: 'unknown' },
    { ...good.jwk, kid: undefined },
    'not even an object',
    null,
  ];
  await using server = await startKeyServer((response) =>
    response.end(JSON.stringify({ keys: [...odd, good.jwk] })),
  );
  await using gateway = await gatewayWith(route('guarded', guard('urn:issuer', { url: server.url })));
  await gateway.keysReady();
  assert.equal(await statusOf(gateway, 'guarded', await good.token('urn:issuer')), 200);
  const { keySets } = await gateway.configDump();
  assert.equal(keySets[0]?.keys, 1);
  for (const index of odd.keys())
    await until('the warning', () => new RegExp(`WARN .*skipped .*index=${index} `).test(gateway.log()));
});
