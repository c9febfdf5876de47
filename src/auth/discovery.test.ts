import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { KeySet } from './contract.ts';
import { metadataUrls } from './issuerMetadata.ts';
import { createKeySets } from './keySets.ts';
import { memoryLog } from './log.testing.ts';
import { startLoopback } from './loopback.testing.ts';
import { until } from '../until.testing.ts';
import { makeKey } from './token.testing.ts';

const one = makeKey('P-256', 'one');
const keys = { keys: [one.jwk] };
const issuerPath = '/oauth2/default';
const derivedPath = `${issuerPath}/usual/keys`;

/** A provider that serves these documents by path, and the key set of its issuer. */
async function provider(t: TestContext, documents: (origin: string) => Readonly<Record<string, unknown>>) {
  const server = await startLoopback(() => undefined);
  t.after(() => server.close());
  const served = new Map(Object.entries(documents(server.url)));
  server.answer = (request, response) => {
    const document = served.get(request.url ?? '');
    response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(document ?? {}));
  };
  const { log } = memoryLog();
  const keySets = createKeySets({ log, pace: { firstRetryMs: 5, maxRetryMs: 20, cooldownMs: 0 } });
  t.after(() => keySets.close());
  const issuer = `${server.url}${issuerPath}`;
  const { set } = keySets.use({
    kind: 'discovered',
    issuer,
    openid: false,
    derived: `${server.url}${derivedPath}`,
  });
  return { server, served, set, issuer, problem: () => keySets.view()[0]?.problem ?? '' };
}

const hasKey = (set: KeySet): boolean => set.find('one').length === 1;

test('the key set is found by the metadata at each of its four usual paths', async (t) => {
  const paths = metadataUrls(`https://idp.test${issuerPath}`, false).map((url) => new URL(url).pathname);
  assert.deepEqual(paths, [
    '/.well-known/oauth-authorization-server/oauth2/default',
    '/oauth2/default/.well-known/oauth-authorization-server',
    '/oauth2/default/.well-known/openid-configuration',
    '/.well-known/openid-configuration/oauth2/default',
  ]);
  for (const path of paths) {
    const { set, server } = await provider(t, (origin) => ({
      [path]: { issuer: `${origin}${issuerPath}`, jwks_uri: `${origin}/somewhere/keys` },
      '/somewhere/keys': keys,
    }));
    await until('the key set is ready', () => set.ready);
    assert.ok(hasKey(set), path);
    assert.ok(!server.asked.includes(derivedPath));
  }
});

test('an issuer without metadata has its keys at the derived address', async (t) => {
  const { set } = await provider(t, () => ({ [derivedPath]: keys }));
  await until('the key set is ready', () => set.ready);
  assert.ok(hasKey(set));
});

test('metadata of another issuer does not name the keys', async (t) => {
  const { set, server } = await provider(t, (origin) => ({
    '/.well-known/oauth-authorization-server/oauth2/default': {
      issuer: `${origin}/another`,
      jwks_uri: `${origin}/of-another/keys`,
    },
    '/of-another/keys': keys,
    [derivedPath]: { keys: [makeKey('P-256', 'two').jwk] },
  }));
  await until('the key set is ready', () => set.ready);
  assert.ok(!hasKey(set));
  assert.ok(!server.asked.includes('/of-another/keys'));
});

test('keys at another host are not fetched without TLS, and the problem says so', async (t) => {
  const other = await startLoopback((_request, response) => response.end(JSON.stringify(keys)));
  t.after(() => other.close());
  const { problem } = await provider(t, (origin) => ({
    '/.well-known/oauth-authorization-server/oauth2/default': {
      issuer: `${origin}${issuerPath}`,
      jwks_uri: `${other.url}/keys`,
    },
  }));
  await until('the problem is known', () => problem() !== '');
  assert.match(problem(), /usual\/keys: answered 404; metadata .*must use https, or the host of the issuer/);
  assert.deepEqual(other.asked, []);
});

test('keys that the provider moves are found again, and stay known while the metadata is away', async (t) => {
  const metadata = '/.well-known/oauth-authorization-server/oauth2/default';
  const { set, served, server, issuer } = await provider(t, (origin) => ({
    [metadata]: { issuer: `${origin}${issuerPath}`, jwks_uri: `${origin}/old/keys` },
    '/old/keys': keys,
  }));
  await until('the key set is ready', () => set.ready);
  served.set(metadata, { issuer, jwks_uri: `${server.url}/new/keys` });
  served.set('/new/keys', { keys: [makeKey('P-256', 'two').jwk] });
  served.delete('/old/keys');
  await set.refetch();
  assert.equal(set.find('two').length, 1);
  served.delete(metadata);
  served.set('/new/keys', keys);
  await set.refetch();
  assert.ok(hasKey(set));
  assert.ok(!server.asked.includes(derivedPath));
});
