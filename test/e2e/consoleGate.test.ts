/** The console on ports of the configuration, behind the policies of `ui.policies`. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import { until } from '../../src/until.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { operatorOf, operatorSecret } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { LoginBrowser } from './oidc.testing.ts';
import { inline } from './stage.testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'console-gate-'));
const audit = join(folder, 'audit.jsonl');
let idp: DevIdp;
let url: string;
let port = 0;
let gateway: GatewayProcess;

/** The password is `secret`. */
const htpasswd = 'carol:$$2b$$04$$bP6ymleiKJ4qOATF/3IV5eBsJAMYfR/voqcOWB0HrECKBIlgZ0vB.';

const configuration = (ui: object): string => `
# a comment that stays
config:
  workers: 2
  storage: { mode: file }
  session: { key: ${'cd'.repeat(32)} }
  audit: { sink: { file: { path: ${audit} } } }
gateways:
  default: { port: ${port}, address: 127.0.0.1 }
routes:
- name: app
  policies: { directResponse: { status: 204 } }
- name: orders
  matches: [{ path: { pathPrefix: /orders } }]
  policies: ${inline({
    jwtAuth: { mode: 'strict', issuer: idp.issuer, audiences: ['api://default'] },
    directResponse: { status: 200 },
  })}
ui: ${inline(ui)}
`;

const byLogin = (): object => ({
  gateways: ['default'],
  policies: {
    oidc: {
      issuer: idp.issuer,
      clientId: 'gateway',
      clientSecret: 'gateway-secret',
      redirectURI: `${url}/ui/callback`,
    },
    authorization: { rules: [{ deny: 'jwt.sub == "mallory"', name: 'not mallory' }] },
  },
  operators: { rules: ['"staff" in jwt.groups'] },
});

before(async () => {
  [port = 0] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  idp = await startDevIdp({
    port: 0,
    config: {
      clients: [{ id: 'gateway', secret: 'gateway-secret', redirectUris: [`${url}/ui/callback`] }],
      users: [{ name: 'alice', groups: ['staff'] }, { name: 'bob' }, { name: 'mallory' }],
    },
  });
  gateway = await startGateway(configuration(byLogin()));
});
after(async () => {
  await idp?.close();
  await gateway?.stop();
  rmSync(folder, { recursive: true });
});

type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** Asks the API over a port of the configuration. */
const api =
  (own: Headers, base = url) =>
  async (method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer> => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const answer = await ask(`${base}/api/v1/${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
        ...own,
        ...headers,
      },
      body: text,
    });
    const isJson = /\bjson\b/.test(answer.headers['content-type'] ?? '');
    return {
      status: answer.status,
      json: isJson ? (JSON.parse(answer.body) as Answer['json']) : {},
    };
  };

/** Logs in at the provider, as the user of a browser does. */
async function consoleOf(user: string) {
  const browser = new LoginBrowser(url);
  const page = await browser.logIn(idp, '/ui/', user);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const own = { cookie, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };
  const reader = api(own);
  const session = await reader('GET', 'session');
  const token = { 'x-portcullis-write': String(session.json['writeToken'] ?? '') };
  return { page, cookie, reader, session, token, ask: api({ ...own, ...token }) };
}

test('nothing of the console is served to a caller who has not logged in', async () => {
  for (const path of ['/ui/', '/ui/assets/x.js', '/ui/login?code=x', '/api/v1/session', '/api/v1/config']) {
    const program = await ask(url + path);
    assert.equal(program.status, 401, path);
    assert.equal(program.headers['cross-origin-opener-policy'], undefined, 'the console did not answer');
  }
  const page = await new LoginBrowser(url).open('/ui/');
  assert.equal(page.status, 302);
  assert.ok(page.headers.location?.startsWith(idp.issuer));
  const { secret } = operatorSecret(gateway);
  const withSecret = await api({ authorization: `Bearer ${secret}` })('GET', 'status');
  assert.equal(withSecret.status, 401, 'the secret of the admin port counts there only');
});

test('an operator behind a login gets a token at the issuer of a route, and nobody else ends the login', async () => {
  const alice = await consoleOf('alice');
  const routes = (await alice.reader('GET', 'routes')).json as unknown as readonly { readonly id: string }[];
  const { id: route } = routes.find(({ id }) => id.endsWith('/orders')) ?? assert.fail();
  const path = `playground/${encodeURIComponent(route)}`;
  const bob = await consoleOf('bob');
  assert.equal((await bob.ask('POST', `${path}/login`, {})).status, 403);
  const begun = await alice.ask('POST', `${path}/login`, {}, { origin: url });
  assert.equal(begun.status, 200);
  const { login, steps } = begun.json as {
    readonly login: { readonly id: string; readonly authorizeUrl: string } | null;
    readonly steps: unknown;
  };
  assert.ok(login !== null, JSON.stringify(steps));

  const browser = openBrowser(idp.url);
  const page = await browser.get(login.authorizeUrl);
  const back = (await browser.post(page.url, { user: 'alice' })).url;
  assert.ok(back.startsWith(`${url}/ui/playground/callback?`), back);
  const navigation = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  assert.equal((await ask(back, { headers: navigation })).status, 302);
  assert.equal((await ask(back, { headers: { ...navigation, cookie: bob.cookie } })).status, 403);
  assert.equal((await ask(back, { headers: { ...navigation, cookie: alice.cookie } })).status, 200);
  const token = await alice.ask('POST', `logins/${login.id}/token`);
  assert.equal(token.status, 200, JSON.stringify(token.json));
  const headers = { authorization: `Bearer ${String(token.json['accessToken'])}` };
  const played = await alice.ask('POST', path, { method: 'GET', path: '/orders', headers });
  assert.equal(played.json['status'], 200);
});

test('a user who logs in is a viewer, and ui.operators makes operators', async () => {
  const bob = await consoleOf('bob');
  assert.equal(bob.page.headers['cross-origin-opener-policy'], 'same-origin', 'the page of the console');
  const { role, by, canWrite, logoutPath } = bob.session.json;
  assert.deepEqual([role, by, canWrite, logoutPath], ['viewer', 'gateway', false, '/ui/logout']);
  assert.equal((await bob.ask('GET', 'status')).status, 200);
  assert.equal((await bob.ask('POST', 'why', { request: 'GET / HTTP/1.1\nHost: a' })).status, 200);
  const refused = await bob.ask('DELETE', 'sessions/none');
  assert.deepEqual([refused.status, /ui\.operators/.test(String(refused.json['detail']))], [403, true]);
  const alice = await consoleOf('alice');
  assert.deepEqual([alice.session.json['role'], alice.session.json['canWrite']], ['operator', true]);
  assert.equal((await alice.ask('DELETE', 'sessions/none')).status, 404);
  assert.equal((await alice.ask('POST', 'login-links', {})).status, 403, 'links stay with the admin port');
  assert.equal((await alice.ask('DELETE', 'session')).status, 409, 'the login ends at /ui/logout');
  for (const path of ['/config_dump', '/logging']) {
    const { body } = await ask(url + path, { headers: { cookie: alice.cookie } });
    assert.equal(body, '', `${path} is the route of the app`);
  }
  assert.equal((await consoleOf('mallory')).session.status, 403, 'rules of ui.policies count');
});

test('a client cannot say itself who it is', async () => {
  const forged = { role: 'operator', principal: 'x', name: 'x', origin: url, address: '1.2.3.4', port: 1 };
  const header = `x ${Buffer.from(JSON.stringify(forged)).toString('base64url')}`;
  const bob = await consoleOf('bob');
  const answer = await bob.reader('GET', 'session', undefined, { 'x-portcullis-console': header });
  assert.equal(answer.json['role'], 'viewer');
  assert.equal((await api({ 'x-portcullis-console': header })('GET', 'session')).status, 401);
});

test('pages of other sites cannot use the login', async () => {
  const alice = await consoleOf('alice');
  const get = async (headers: Headers): Promise<number> =>
    (await alice.reader('GET', 'status', undefined, headers)).status;
  assert.equal(await get({}), 200);
  assert.equal(await get({ origin: url }), 200);
  assert.equal(await get({ origin: 'https://evil.example' }), 403);
  assert.equal(await get({ origin: `http://localhost:${port}` }), 403);
  for (const site of ['cross-site', 'same-site']) assert.equal(await get({ 'sec-fetch-site': site }), 403);
  assert.equal(await get({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }), 403);
  const framed = await ask(`${url}/ui/`, {
    headers: {
      cookie: alice.cookie,
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'iframe',
    },
  });
  assert.equal(framed.status, 403);
  const end = 'sessions/none';
  assert.equal((await alice.reader('DELETE', end)).status, 403, 'the token is missing');
  const bob = await consoleOf('bob');
  assert.equal((await alice.reader('DELETE', end, undefined, bob.token)).status, 403, 'another token');
  assert.equal((await alice.ask('DELETE', end)).status, 404);
});

test('events of requests arrive while they happen', async () => {
  const bob = await consoleOf('bob');
  const filter = encodeURIComponent('request.path == "/watched"');
  const response = await fetch(`${url}/api/v1/requests?filter=${filter}`, {
    headers: { cookie: bob.cookie, 'sec-fetch-site': 'same-origin' },
  });
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = '';
  const found = (async () => {
    while (!seen.includes('/watched')) {
      const { value, done } = await reader.read();
      assert.equal(done, false);
      seen += value ?? '';
    }
  })();
  let isFound = false;
  void found.then(() => (isFound = true));
  // The workers hear of the reader a moment later.
  while (!isFound) await (await fetch(`${url}/watched`)).text();
  await found;
  await reader.cancel();
});

test('an edit of an operator is saved, and audited with the name of the user and the address', async () => {
  const alice = await consoleOf('alice');
  const { text, etag } = (await alice.ask('GET', 'config')).json as { text: string; etag: string };
  const next = text.replace('status: 204', 'status: 202');
  const saved = await alice.ask('PUT', 'config', { text: next }, { 'if-match': etag });
  assert.equal(saved.status, 200, JSON.stringify(saved.json));
  assert.equal(readFileSync(gateway.file, 'utf8'), next);
  await until('the new answer', async () => (await fetch(`${url}/app`)).status === 202);
  const bob = await consoleOf('bob');
  await bob.ask('PUT', 'config', { text: next }, { 'if-match': etag });
  const lines = await until('the lines', async () => {
    const { json } = await operatorOf(gateway)('GET', '/api/v1/audit?limit=1000');
    const found = (json as { lines: Record<string, unknown>[] }).lines.filter(
      (line) => line['api.operation'] === 'admin.api/v1/config',
    );
    return found.length === 2 ? found : undefined;
  });
  assert.deepEqual(
    lines.map((line) => [line['actor.user.name'], line['mcp.outcome'], line['src_endpoint.ip']]),
    [
      [`operator (alice at ${idp.issuer})`, 'ok', '127.0.0.1'],
      [`viewer (bob at ${idp.issuer})`, 'refused', '127.0.0.1'],
    ],
  );
});

test('a configuration that is loaded later opens the console to other callers', async () => {
  gateway.rewrite(
    configuration({ gateways: 'default', policies: { basicAuth: { htpasswd, mode: 'strict' } } }),
  );
  const basic = (password: string): Headers => ({ authorization: `Basic ${btoa(`carol:${password}`)}` });
  const session = await until('the new policies', async () => {
    const answer = await api(basic('secret'))('GET', 'session');
    return answer.status === 200 ? answer.json : undefined;
  });
  assert.deepEqual([session['role'], session['logoutPath']], ['viewer', undefined]);
  assert.equal((await api(basic('wrong'))('GET', 'session')).status, 401);
  gateway.rewrite(
    configuration({
      gateways: 'default',
      policies: { apiKey: { mode: 'optional', keys: [{ key: 'k-1' }] } },
    }),
  );
  const anonymous = await until('the optional key', async () => {
    const answer = await api({})('GET', 'session');
    return answer.status === 401 ? undefined : answer;
  });
  assert.equal(anonymous.status, 403, 'the console has no anonymous callers');
  const byKey = await api({ authorization: 'Bearer k-1' })('GET', 'session');
  assert.equal(byKey.status, 200, JSON.stringify(byKey.json));
});
