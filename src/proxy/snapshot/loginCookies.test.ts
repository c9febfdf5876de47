/** Cookies of login policies on their way to and from backends. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type RouteInShort } from '../dataPlane.testing.ts';
import { field, fields, get, ok, RawBackend, type BackendScript } from '../wire.testing.ts';

const oidc = policySchemas.oidc.parse({
  issuer: 'https://login.test',
  clientId: 'gateway',
  clientSecret: 'a-secret',
  redirectURI: 'http://app.test/app/oauth/callback',
});
const loginRoute: RouteInShort = { name: 'app', prefix: '/app', policies: { oidc }, to: 1 };

async function backendOf(t: TestContext, onRequest: BackendScript['onRequest']): Promise<RawBackend> {
  const backend = await RawBackend.start({ ...(onRequest && { onRequest }) });
  t.after(() => backend.close());
  return backend;
}

async function planeOf(t: TestContext, ...routes: readonly RouteInShort[]): Promise<TestPlane> {
  const plane = await TestPlane.start({ routes });
  t.after(() => plane.close());
  return plane;
}

test('backends get no cookie of a login after a reload has removed the policy', async (t) => {
  const backend = await backendOf(t, (_request, connection) => connection.send(ok('app')));
  const open: RouteInShort = { name: 'open', to: backend.port };
  const plane = await planeOf(t, loginRoute, open);
  const cookiesAtBackend = async (): Promise<string | undefined> => {
    await plane.ask(get('/', 'cookie: portcullis-oidc-id-0=x; a=1'));
    const request = backend.requests.at(-1);
    return request && field(request, 'cookie');
  };
  assert.equal(await cookiesAtBackend(), 'a=1');
  for (const name of ['removed', 'removed for longer']) {
    await plane.apply({ routes: [{ ...open, name }] });
    assert.equal(await cookiesAtBackend(), 'a=1', name);
  }
});

test('a gateway that never had a login policy passes the cookies of a gateway behind it', async (t) => {
  const line = 'portcullis-oidc-id-0=x; Path=/';
  const backend = await backendOf(t, (_request, connection) =>
    connection.send(ok('app', `Set-Cookie: ${line}`)),
  );
  const plane = await planeOf(t, { to: backend.port });
  const answer = await plane.ask(get('/', 'cookie: portcullis-oidc-id-0=x'));
  assert.deepEqual(fields(answer, 'set-cookie'), [line]);
  assert.equal(
    field(backend.requests[0] as (typeof backend.requests)[0], 'cookie'),
    'portcullis-oidc-id-0=x',
  );
});

test('a backend of the same host plants no login, neither in a response nor in an upgrade', async (t) => {
  const lines = ['Set-Cookie: a=1', 'Set-Cookie: portcullis-oidc-id-0=mallory; Path=/', 'Set-Cookie: b=2'];
  const backend = await backendOf(t, (request, connection) =>
    connection.send(
      field(request, 'upgrade') === undefined
        ? ok('app', ...lines)
        : `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`,
    ),
  );
  const plane = await planeOf(t, loginRoute, { name: 'plugin', to: backend.port });
  for (const upgrade of [[], ['connection: upgrade', 'upgrade: websocket']]) {
    const answer = await plane.ask(get('/', ...upgrade));
    assert.deepEqual(fields(answer, 'set-cookie'), ['a=1', 'b=2'], answer.start);
  }
});
