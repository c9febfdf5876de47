import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test, type TestContext } from 'node:test';
import { guardedFetch } from '../../auth/index.ts';
import { jsonAnswer, startLoopback, type Loopback } from '../../auth/loopback.testing.ts';
import { toolsWith } from '../tools.testing.ts';
import { oidcSchema } from './facts.ts';
import { OidcProvider } from './provider.ts';

const tokens = { access_token: 'a', token_type: 'Bearer', refresh_token: 'next', expires_in: 60 };

async function tokenEndpoint(t: TestContext): Promise<Loopback & { readonly bodies: string[] }> {
  const bodies: string[] = [];
  const server = await startLoopback((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      bodies.push(body);
      jsonAnswer(tokens)(request, response);
    });
  });
  t.after(() => server.close());
  return Object.assign(server, { bodies });
}

/** A provider at a Service of a cluster, by the policy of a tenant. */
function provider(t: TestContext, host: string, fetch: typeof globalThis.fetch): OidcProvider {
  const settings = oidcSchema.parse({
    issuer: `http://${host}`,
    authorizationEndpoint: `http://${host}/authorize`,
    tokenEndpoint: `http://${host}/token`,
    jwks: '{"keys":[]}',
    clientId: 'app',
    clientSecret: 'secret-of-the-app',
    redirectURI: 'https://app.test/oauth/callback',
  });
  const made = new OidcProvider(settings, { ...toolsWith([]), guarded: true, fetch });
  t.after(() => made.close());
  return made;
}

test('the policy of a tenant gets tokens from a Service of the cluster', async (t) => {
  const server = await tokenEndpoint(t);
  const fetch = guardedFetch({
    lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
    closed: new BlockList(),
  });
  const granted = await provider(t, `idp.login.svc:${server.port}`, fetch).refresh('before');
  assert.equal(granted.refreshToken, 'next');
  assert.deepEqual(server.asked, ['/token']);
  assert.equal(new URLSearchParams(server.bodies[0]).get('refresh_token'), 'before');
});

test('the policy of a tenant cannot have the proxy call a token endpoint on its own machine', async (t) => {
  const server = await tokenEndpoint(t);
  const made = provider(t, `127.0.0.1:${server.port}`, guardedFetch());
  await assert.rejects(made.refresh('before'), { code: 'login_failed' });
  assert.deepEqual(server.asked, []);
});
