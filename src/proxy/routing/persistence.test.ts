import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { startApp, startApps, type App } from '../apps.testing.ts';
import { authority } from '../certificates.testing.ts';
import { cookiePath } from './cookiePath.ts';
import { TestPlane, type ModelInShort, type RouteInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, fields, get, post, status, type Message } from '../wire.testing.ts';

const persistence = (settings: object = {}): Record<string, unknown> => ({
  sessionPersistence: policySchemas.sessionPersistence.parse(settings),
});

const target = (
  apps: readonly App[],
): { host: string; port: number; addresses: { host: string; port: number }[] } => ({
  host: 'app.test',
  port: 80,
  addresses: apps.map(({ host, port }) => ({ host, port })),
});

async function start(t: TestContext, routes: readonly RouteInShort[], model: ModelInShort = {}) {
  const plane = await TestPlane.start({ ...model, routes });
  t.after(() => plane.close());
  return plane;
}

/** A client that keeps cookies as a browser does: by name. */
class Browser {
  readonly cookies = new Map<string, string>();
  private readonly plane: TestPlane;

  constructor(plane: TestPlane) {
    this.plane = plane;
  }

  async ask(path = '/', ...lines: string[]): Promise<Message> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await this.plane.ask(get(path, ...(cookie === '' ? [] : [`cookie: ${cookie}`]), ...lines));
    for (const line of fields(answer, 'set-cookie')) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return answer;
  }

  async bodies(count: number, path = '/'): Promise<string[]> {
    const seen: string[] = [];
    for (let i = 0; i < count; i++) seen.push((await this.ask(path)).body.toString());
    return seen;
  }
}

test('a session stays at the address that answered its first request', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const plane = await start(t, [{ targets: [target(apps)], policies: persistence() }]);
  const homes = new Set<string>();
  for (let i = 0; i < 12; i++) {
    const browser = new Browser(plane);
    const first = await browser.ask('/');
    const home = first.body.toString();
    homes.add(home);
    assert.match(
      field(first, 'set-cookie') ?? '',
      /^portcullis-session-[0-9a-f]{8}=[\w-]{46}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    const second = await browser.ask('/');
    assert.deepEqual(fields(second, 'set-cookie'), [], 'who knows where it belongs is not told again');
    assert.deepEqual(new Set(await browser.bodies(8)), new Set([home]));
  }
  assert.ok(homes.size > 1, 'sessions are spread');
  assert.match(await plane.metricsText(), /session_persistence_total\{[^}]*result="kept"\} 108/);
});

test('the cookie says nothing of the address, and a forged, altered or foreign one begins a new session', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2');
  const plane = await start(t, [
    { prefix: '/a', targets: [target(apps)], policies: persistence({ sessionName: 's' }) },
    { prefix: '/b', targets: [target(apps)], policies: persistence({ sessionName: 's' }) },
  ]);
  const browser = new Browser(plane);
  await browser.ask('/a');
  const token = browser.cookies.get('s') ?? '';
  const bytes = Buffer.from(token, 'base64url');
  for (const { host, port } of apps) assert.ok(!bytes.includes(host) && !bytes.includes(String(port)));
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  for (const wrong of [
    bytes.toString('base64url'),
    'x',
    '',
    'A'.repeat(46),
    `${token}x`,
    'A'.repeat(4_000),
  ]) {
    const answer = await plane.ask(get('/a', `cookie: s=${wrong}`));
    assert.equal(status(answer), 200);
    assert.equal(fields(answer, 'set-cookie').length, 1, wrong);
  }
  const other = await plane.ask(get('/b', `cookie: s=${token}`));
  assert.match(field(other, 'set-cookie') ?? '', /; Path=\/b;/, 'another rule has sessions of its own');
  // A browser with cookies for several paths sends all of them.
  const both = await plane.ask(get('/a', `cookie: s=x; other=1,2; s=${token}`));
  assert.deepEqual(fields(both, 'set-cookie'), []);
});

test('cookies of the backend pass beside that of the gateway, in both directions', async (t) => {
  const app = await startApp(t);
  let got: string | undefined;
  app.behave = (request, response) => {
    got = request.headers.cookie;
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end();
  };
  const plane = await start(t, [{ targets: [target([app])], policies: persistence({ sessionName: 's' }) }]);
  const answer = await plane.ask(get('/', 'cookie: mine=1'));
  assert.deepEqual(
    fields(answer, 'set-cookie').map((line) => line.split('=')[0]),
    ['a', 'b', 's'],
  );
  assert.equal(got, 'mine=1');
});

test('a session whose address is gone goes to another one, and is told so', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2');
  const plane = await start(t, [{ targets: [target(apps)], policies: persistence() }]);
  const browser = new Browser(plane);
  const home = (await browser.ask()).body.toString();
  const [stopped, other] = apps[0]?.host === home ? apps : apps.toReversed();
  await stopped?.stop();
  const moved = await browser.ask('/', 'connection: close');
  assert.equal(moved.body.toString(), other?.host);
  assert.equal(fields(moved, 'set-cookie').length, 1);
  await stopped?.restart();
  assert.deepEqual(new Set(await browser.bodies(20)), new Set([other?.host]), 'it stays where it is now');
  assert.match(await plane.metricsText(), /session_persistence_total\{[^}]*result="moved"\} 1/);

  await plane.apply({ routes: [{ targets: [target([stopped as App])], policies: persistence() }] });
  const again = await browser.ask();
  assert.equal(again.body.toString(), stopped?.host);
  assert.equal(fields(again, 'set-cookie').length, 1);
});

test('an address that was left out for its failures loses its sessions', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2');
  const eviction = { consecutiveFailures: 2, durationMs: 600_000, maxEjectedPercent: 50 };
  const plane = await start(t, [{ targets: [{ ...target(apps), eviction }], policies: persistence() }]);
  const browser = new Browser(plane);
  const home = (await browser.ask()).body.toString();
  const broken = apps.find(({ host }) => host === home) as App;
  broken.behave = (_request, response) => response.writeHead(500).end();
  for (let i = 0; i < 2; i++) assert.equal(status(await browser.ask()), 500);
  const answer = await browser.ask();
  assert.equal(status(answer), 200);
  assert.notEqual(answer.body.toString(), home);
  assert.equal(fields(answer, 'set-cookie').length, 1);
});

test('a session stays with its backend whatever the weights become, even 0', async (t) => {
  const [blue, green] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const routes = (weights: readonly number[]): RouteInShort[] => [
    {
      targets: [target([blue]), target([green])],
      weights,
      policies: persistence(),
    },
  ];
  const plane = await start(t, routes([1, 0]));
  const old = new Browser(plane);
  assert.deepEqual(await old.bodies(3), ['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  await plane.apply({ routes: routes([0, 1]) });
  assert.deepEqual(await old.bodies(3), ['127.0.0.1', '127.0.0.1', '127.0.0.1']);
  assert.deepEqual(await new Browser(plane).bodies(3), ['127.0.0.2', '127.0.0.2', '127.0.0.2']);
  // With its backend gone altogether there is nothing left to stay with.
  await blue.stop();
  const moved = await old.ask('/', 'connection: close');
  assert.equal(status(moved), 503, 'a connection that cannot be made tells of it');
  assert.deepEqual(await old.bodies(2), ['127.0.0.2', '127.0.0.2']);
});

test('new sessions are spread by weight, and each stays with its backend', async (t) => {
  const [blue, green] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const plane = await start(t, [
    { targets: [target([blue]), target([green])], weights: [7, 3], policies: persistence() },
  ]);
  const counts = new Map<string, number>();
  for (let i = 0; i < 60; i++) {
    const browser = new Browser(plane);
    const [first = '', ...others] = await browser.bodies(3);
    assert.deepEqual(new Set(others), new Set([first]));
    counts.set(first, (counts.get(first) ?? 0) + 1);
  }
  assert.ok((counts.get('127.0.0.1') ?? 0) > (counts.get('127.0.0.2') ?? 0));
  assert.equal(counts.size, 2);
});

test('a header carries the session where that is wanted', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const plane = await start(t, [
    { targets: [target(apps)], policies: persistence({ type: 'Header', sessionName: 'X-Session' }) },
  ]);
  const first = await plane.ask(get());
  const token = field(first, 'x-session') ?? '';
  assert.match(token, /^[\w-]{46}$/);
  assert.deepEqual(fields(first, 'set-cookie'), []);
  for (let i = 0; i < 10; i++) {
    const answer = await plane.ask(get('/', `x-session: ${token}`));
    assert.equal(answer.body.toString(), first.body.toString());
    assert.deepEqual(fields(answer, 'x-session'), []);
  }
});

test('a permanent cookie says how long it stays', async (t) => {
  const app = await startApp(t);
  const settings = { absoluteTimeout: '5m', cookieConfig: { lifetimeType: 'Permanent', sameSite: 'Strict' } };
  const plane = await start(t, [{ targets: [target([app])], policies: persistence(settings) }]);
  assert.match(field(await plane.ask(get()), 'set-cookie') ?? '', /; SameSite=Strict; Max-Age=300$/);
});

test('a session ends at its age, and when it was idle for too long', async (t) => {
  const app = await startApp(t);
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 1) });
  const plane = await start(t, [
    {
      targets: [target([app])],
      policies: persistence({ sessionName: 's', absoluteTimeout: '60s', idleTimeout: '16s' }),
    },
  ]);
  const told = async (browser: Browser): Promise<number> => fields(await browser.ask(), 'set-cookie').length;
  const browser = new Browser(plane);
  assert.equal(await told(browser), 1);
  const begun = browser.cookies.get('s');
  t.mock.timers.tick(1_000);
  assert.equal(await told(browser), 0);
  t.mock.timers.tick(5_000);
  assert.equal(await told(browser), 1, 'the time of its last use is noted');
  assert.notEqual(browser.cookies.get('s'), begun);
  for (let i = 0; i < 5; i++) {
    t.mock.timers.tick(10_000);
    assert.equal(await told(browser), 1);
  }
  const text = await plane.metricsText();
  assert.match(text, /session_persistence_total\{[^}]*result="kept"\} 7/);
  t.mock.timers.tick(10_000);
  await told(browser);
  assert.match(await plane.metricsText(), /session_persistence_total\{[^}]*result="begun"\} 2/, 'its age');
  t.mock.timers.tick(17_000);
  await told(browser);
  assert.match(await plane.metricsText(), /session_persistence_total\{[^}]*result="begun"\} 3/, 'idle');
});

test('a request whose session address is full goes to another address once, and keeps its session', async (t) => {
  const [first, second] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const connections = { maxConnections: 1, maxPendingRequests: 10 };
  const plane = await start(t, [
    { targets: [{ ...target([first, second]), connections }], policies: persistence() },
  ]);
  const browser = new Browser(plane);
  const home = (await browser.ask()).body.toString();
  const full = home === first.host ? first : second;
  const waiting: (() => void)[] = [];
  full.behave = (_request, response) => void waiting.push(() => response.end('late'));
  const held = new Browser(plane);
  for (const [name, value] of browser.cookies) held.cookies.set(name, value);
  const late = held.ask();
  await until('it is at its address', () => waiting.length === 1);
  const elsewhere = await browser.ask();
  assert.notEqual(elsewhere.body.toString(), home);
  assert.deepEqual(fields(elsewhere, 'set-cookie'), []);
  waiting[0]?.();
  assert.equal((await late).body.toString(), 'late');
  full.behave = undefined;
  assert.equal((await browser.ask()).body.toString(), home);
});

test('an answer of the gateway itself begins no session; a further try moves one', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2');
  const plane = await start(t, [
    {
      targets: [target(apps)],
      policies: { ...persistence(), retry: policySchemas.retry.parse({ codes: [503], attempts: 10 }) },
    },
    { prefix: '/none', targets: [], policies: persistence() },
  ]);
  assert.deepEqual(fields(await plane.ask(get('/none')), 'set-cookie'), []);
  const browser = new Browser(plane);
  const home = (await browser.ask()).body.toString();
  const broken = apps.find(({ host }) => host === home) as App;
  broken.behave = (_request, response) => response.writeHead(503).end();
  const answer = await browser.ask();
  assert.notEqual(answer.body.toString(), home);
  assert.equal(fields(answer, 'set-cookie').length, 1);
});

test('under TLS the cookie is for TLS only, and processes with the same key know each other’s sessions', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4');
  const ca = authority();
  const { cert, key } = ca.issue({ names: ['localhost'] });
  const model: ModelInShort = {
    sessionKey: 'ab'.repeat(32),
    ports: [0],
    listeners: [
      {
        tls: {
          cert: { inline: cert },
          key: { inline: key },
          ciphers: [],
          minVersion: 'TLSv1.2',
          maxVersion: 'TLSv1.3',
        },
        routes: [{ targets: [target(apps)], policies: persistence() }],
      },
    ],
  };
  const planes = [await TestPlane.start(model), await TestPlane.start(model)];
  t.after(() => planes.forEach((plane) => plane.close()));
  const ask = async (plane: TestPlane | undefined, cookie: string): Promise<[string, string[]]> => {
    const request = httpsRequest({
      port: plane?.port ?? 0,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: ca.cert,
      agent: false,
      headers: cookie === '' ? {} : { cookie },
    }).end();
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    let body = '';
    for await (const chunk of answer) body += String(chunk);
    return [body, answer.headers['set-cookie'] ?? []];
  };
  const [home, [cookie = '']] = await ask(planes[0], '');
  assert.match(cookie, /; Secure$/);
  for (let i = 0; i < 6; i++) assert.deepEqual(await ask(planes[1], cookie.split(';')[0] ?? ''), [home, []]);
});

test('requests with a body and upgrades belong to sessions, too', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  for (const app of apps)
    app.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(`HTTP/1.1 101 Go\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n${app.host}`);
    });
  const plane = await start(t, [{ targets: [target(apps)], policies: persistence() }]);
  const browser = new Browser(plane);
  const home = (await browser.ask()).body.toString();
  const [[name, value] = ['', '']] = [...browser.cookies];
  for (let i = 0; i < 5; i++) {
    const answer = await plane.ask(post('hello', `cookie: ${name}=${value}`));
    assert.equal(answer.body.toString(), home);
    const client = await plane.client();
    client.send(get('/', 'connection: upgrade', 'upgrade: test', `cookie: ${name}=${value}`));
    await until('the tunnel has told', () => client.text.endsWith(home));
    client.close();
  }
  const client = await plane.client();
  client.send(get('/', 'connection: upgrade', 'upgrade: test'));
  await until('the tunnel has told', () => /127\.0\.0\.\d$/.test(client.text));
  assert.match(client.text, /set-cookie: portcullis-session-/);
  client.close();
});

test('the path of the cookie is that of the match', () => {
  const cases: [kind: 'exact' | 'prefix' | 'regex', written: string, path: string][] = [
    ['prefix', '/', '/'],
    ['prefix', '/app', '/app'],
    ['prefix', '/app/', '/app'],
    ['exact', '/app/', '/app/'],
    ['exact', '/login', '/login'],
    ['exact', '/a;b', '/'],
    ['regex', '/p1/p2/[^/]+/p3', '/p1/p2'],
    ['regex', '/users?/x', '/'],
    ['regex', '/a/b|/c/d', '/'],
    ['regex', '(?i)/a/b', '/'],
  ];
  for (const [kind, written, path] of cases) assert.equal(cookiePath({ kind, written }), path, written);
  assert.equal(cookiePath(undefined), '/');
});
