/** Credentials that a policy of a tenant has the proxies ask for. */
import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test, type TestContext } from 'node:test';
import { guardedFetch } from '../../auth/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { AuthorizationServer } from './authorizationServer.testing.ts';
import { backendAuth } from './index.ts';

const atService = guardedFetch({
  lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  closed: new BlockList(),
});

async function start(t: TestContext): Promise<AuthorizationServer> {
  const server = await AuthorizationServer.start({ clients: { gateway: { secret: 's e' } } });
  t.after(() => server.close());
  return server;
}

/** The Authorization field that the backend gets. */
async function sent(host: string, token: string, fetch: typeof globalThis.fetch): Promise<string> {
  const clientAuth = { clientId: 'gateway', clientSecret: 's e' };
  const steps = prepared(
    backendAuth,
    { oauthTokenExchange: { host, path: '/token', audiences: ['shop'], clientAuth } },
    { ...toolsWith([]), now: Date.now, guarded: true, fetch },
  );
  const exchange = new FakeExchange({ headers: [['authorization', `Bearer ${token}`]] });
  await steps.onRequest?.(exchange);
  return exchange.requestHeaders.apply(exchange.request.headerLines())[0]?.[1] ?? '';
}

test('the policy of a tenant exchanges tokens at a Service of the cluster', async (t) => {
  const server = await start(t);
  const header = await sent(`idp.login.svc:${server.port}`, await server.issue({ sub: 'alice' }), atService);
  const { sub, aud, client } = await server.claimsOf(header.replace('Bearer ', ''));
  assert.deepEqual([sub, aud, client], ['alice', ['shop'], 'gateway']);
});

test('the policy of a tenant shows no token to a server on the machine of the proxy', async (t) => {
  const server = await start(t);
  const token = await server.issue({ sub: 'alice' });
  for (const host of [`https://127.0.0.1:${server.port}`, `http://127.0.0.1:${server.port}`])
    await assert.rejects(sent(host, token, guardedFetch()), { code: 'backend_auth_failed' });
  assert.deepEqual(server.requests, []);
});

test('a Service that refuses the grant of a user asks the user for another login', async (t) => {
  const server = await start(t);
  await assert.rejects(sent(`idp.login.svc:${server.port}`, 'foreign', atService), (error: Error) => {
    assert.match(JSON.stringify(error), /backend_login_(?:required|denied)/);
    return true;
  });
});
