import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decodeJwt } from 'jose';
import { startDevIdp, type DevIdp, type DevIdpConfig } from './index.ts';

let idp: DevIdp;
before(async () => {
  idp = await startDevIdp({ port: 0 });
});
after(() => idp.close());

async function metadata(url: string): Promise<Record<string, unknown>> {
  const response = await fetch(url);
  assert.equal(response.status, 200, url);
  return (await response.json()) as Record<string, unknown>;
}

/** Status of a request with headers that fetch would not let through. */
async function statusOf(path: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  const request = httpRequest(`http://127.0.0.1:${idp.port}${path}`, { headers, method }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

test('metadata is at all the places where clients look, and names the issuer that tokens have', async () => {
  assert.equal(idp.issuer, `http://localhost:${idp.port}/oauth2/default`);
  for (const url of [
    `${idp.issuer}/.well-known/openid-configuration`,
    `${idp.issuer}/.well-known/oauth-authorization-server`,
    `${idp.url}/.well-known/oauth-authorization-server/oauth2/default`,
    `${idp.url}/.well-known/openid-configuration/oauth2/default`,
    // By its number too, where the name would be another one.
    `http://127.0.0.1:${idp.port}/oauth2/default/.well-known/openid-configuration`,
  ]) {
    const document = await metadata(url);
    assert.equal(document['issuer'], idp.issuer);
    assert.equal(document['token_endpoint'], `${idp.issuer}/v1/token`);
    assert.equal(document['jwks_uri'], `${idp.issuer}/v1/keys`);
    assert.equal(document['authorization_endpoint'], `${idp.issuer}/v1/authorize`);
    assert.equal(document['registration_endpoint'], `${idp.issuer}/v1/clients`);
    assert.deepEqual(document['code_challenge_methods_supported'], ['S256']);
    assert.deepEqual(document['scopes_supported'], ['openid', 'offline_access', 'mcp']);
  }
  assert.equal((await fetch(`${idp.url}/.well-known/oauth-authorization-server`)).status, 404);
  assert.equal((await fetch(`${idp.url}/oauth2/other/v1/keys`)).status, 404);
});

test('pages on this machine may use every endpoint, others only read metadata and keys', async () => {
  const local = 'http://localhost:6274';
  const preflight = await fetch(`${idp.issuer}/v1/clients`, {
    method: 'OPTIONS',
    headers: {
      origin: local,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  });
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers.get('access-control-allow-origin'), local);
  const form = { grant_type: 'client_credentials', client_id: 'demo', client_secret: 'demo-secret' };
  const ask = (origin: string): Promise<Response> =>
    fetch(`${idp.issuer}/v1/token`, { method: 'POST', body: new URLSearchParams(form), headers: { origin } });
  assert.equal((await ask(local)).headers.get('access-control-allow-origin'), local);
  const foreign = await ask('https://evil.example');
  assert.deepEqual([foreign.status, foreign.headers.get('access-control-allow-origin')], [400, null]);
  const keys = await fetch(`${idp.issuer}/v1/keys`, { headers: { origin: 'https://a.example' } });
  assert.equal(keys.headers.get('access-control-allow-origin'), 'https://a.example');
});

test('a host name that is not this machine’s is refused (DNS rebinding)', async () => {
  assert.equal(await statusOf('/oauth2/default/v1/keys', { host: 'evil.example' }), 403);
  assert.equal(await statusOf('/oauth2/default/v1/keys', { host: `localhost:${idp.port}` }), 200);
});

test('admin rotates keys and makes tokens, for programs on this machine only', async () => {
  const authorization = `Bearer ${idp.adminSecret}`;
  const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(idp.url + path, { method: 'POST', body, headers: { authorization, ...headers } });
  const rotated = (await (await post('/admin/rotate', '')).json()) as { kid: string; kids: string[] };
  assert.equal(rotated.kids[0], rotated.kid);
  const answer = (await (await post('/admin/token', '{"client":"demo","expiresIn":-60}')).json()) as {
    access_token: string;
  };
  assert.ok((decodeJwt(answer.access_token).exp ?? 0) < Date.now() / 1000);
  assert.equal((await post('/admin/token', '{"expires":1}')).status, 400);
  assert.equal((await post('/admin/token', '{')).status, 400);
  assert.equal((await post('/admin/token', ' '.repeat(70_000))).status, 413);
  assert.equal((await post('/admin/constructor', '')).status, 404);
  assert.equal((await fetch(`${idp.url}/admin/rotate`, { headers: { authorization } })).status, 405);
  assert.equal((await post('/admin/rotate', '', { origin: 'http://localhost:1' })).status, 403);
  assert.equal(await statusOf('/admin/rotate', { host: 'evil.example' }, 'POST'), 403);
});

test('the admin page refuses requests without the secret of this start, also through a gateway', async () => {
  // A request as a gateway forwards it: from loopback, for a local name, with no trace of the web page or machine behind it.
  for (const path of ['/admin/token', '/admin/rotate', '/admin/nothing'])
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: idp.adminSecret }])
      assert.equal(await statusOf(path, { host: 'localhost', ...headers }, 'POST'), 401, path);
  await assert.rejects(startDevIdp({ port: 0, adminSecret: 'short' }), /fewer than 16 characters/);
});

test('it goes down and comes up again on its port with the keys it had', async () => {
  const keys = await metadata(`${idp.issuer}/v1/keys`);
  await idp.down();
  await assert.rejects(fetch(`${idp.issuer}/v1/keys`));
  await idp.up();
  assert.deepEqual(await metadata(`${idp.issuer}/v1/keys`), keys);
});

test('the server refuses a public host, unless forced and configured', async () => {
  await assert.rejects(startDevIdp({ port: 0, host: '0.0.0.0' }), /--force-public/);
  await assert.rejects(
    startDevIdp({ port: 0, host: '0.0.0.0', forcePublic: true }),
    /configuration of its own/,
  );
  const open = await startDevIdp({
    port: 0,
    host: '0.0.0.0',
    forcePublic: true,
    config: { issuer: 'https://login.example.com/oauth2/trial', clients: [{ id: 'a', secret: 'b' }] },
  });
  try {
    const document = await metadata(
      `http://127.0.0.1:${open.port}/oauth2/trial/.well-known/openid-configuration`,
    );
    assert.equal(document['issuer'], 'https://login.example.com/oauth2/trial');
    assert.equal(document['token_endpoint'], 'https://login.example.com/oauth2/trial/v1/token');
  } finally {
    await open.close();
  }
});

test('a taken port is an error', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  await assert.rejects(startDevIdp({ port: (taken.address() as { port: number }).port }), {
    code: 'EADDRINUSE',
  });
  taken.close();
});

test('a configuration is refused with everything that is wrong with it', async () => {
  const config = {
    audience: '',
    tokenLifetime: 'soon',
    clients: [
      { id: 'a' },
      { id: 'a', secret: 's', scopes: ['nope'] },
      { id: 'b', secret: 's', claims: { iss: 'x' } },
    ],
    user: [],
  } as unknown as DevIdpConfig;
  await assert.rejects(startDevIdp({ port: 0, config }), (error: Error) => {
    for (const part of [/audience/, /not a duration: "soon"/, /claims are set by the server/, /"user"/])
      assert.match(error.message, part);
    return true;
  });
  const crossed = { clients: config.clients?.slice(0, 2) };
  await assert.rejects(startDevIdp({ port: 0, config: crossed }), (error: Error) => {
    for (const part of [/a second client a/, /secret or a redirect URI/, /nope is not among the scopes/])
      assert.match(error.message, part);
    return true;
  });
});

const mainFile = fileURLToPath(new URL('main.ts', import.meta.url));

test('the program reads a YAML file, prints the issuer and stops on SIGTERM with 0', async () => {
  const config = fileURLToPath(new URL('../idp.example.yaml', import.meta.url));
  const child = spawn(process.execPath, [mainFile, '--config', config, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [lines] = (await once(child.stdout, 'data')) as [Buffer];
  const issuer = /issuer (\S+)/.exec(lines.toString())?.[1];
  const document = await metadata(`${issuer}/.well-known/openid-configuration`);
  assert.equal(document['issuer'], issuer);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('the program exits with 2 after wrong usage, and with 1 when it cannot start', async () => {
  for (const [args, code, said] of [
    [['--prot', '1'], 2, /--prot/],
    [['--port', 'x'], 2, /not a port/],
    [['--config', '/nonexistent.yaml'], 1, /ENOENT/],
    [['--host', '0.0.0.0'], 1, /--force-public/],
  ] as const) {
    const child = spawn(process.execPath, [mainFile, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const [exit] = (await once(child, 'close')) as [number];
    assert.equal(exit, code, text);
    assert.match(text, said);
  }
});
