import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGateway } from './gateway.testing.ts';
import { startLoad } from './load.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import {
  authentication,
  inline,
  mcpRoute,
  node,
  rogue,
  rogueBackends,
  startEchoApp,
  startIdp,
} from './stage.testing.ts';
import { RawClient } from '../../src/mcp/rawClient.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { until } from '../../src/until.testing.ts';

/** A configuration with the echo app on every path and, before it, these paths answered by the gateway. */
const configuration = (echoPort: number, paths: readonly string[], extra = ''): string => `
${extra}
binds:
- port: 0
  listeners:
  - routes:
${paths
  .map(
    (path) => `
    - name: fixed${path.replaceAll('/', '-')}
      matches: [{ path: { exact: ${path} } }]
      policies: { directResponse: { status: 200, body: '${path}' } }`,
  )
  .join('')}
    - name: mcp
      matches: [{ path: { pathPrefix: /mcp } }]
      backends: ${rogueBackends}
    - name: echo
      backends: [{ host: '127.0.0.1:${echoPort}' }]
`;

test('a file that breaks and is mended under load, again and again, fails no request', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(echo.port, ['/one']));
  const session = await openSession(`${gateway.url}/mcp`);
  const pid = resultText(await session.call('pid'));
  const held = session.call('hold');
  const load = startLoad(`${gateway.url}/get`, 6, (status, body) => status === 200 && body.includes('"url"'));
  const text = async (path: string): Promise<string> => await (await fetch(`${gateway.url}${path}`)).text();
  const synchronized = () => gateway.metric('portcullis_config_synchronized');
  const details = async () =>
    (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
      config: { synchronized: boolean; problems: string[] };
    };
  try {
    await until('the load', () => load.served > 100);
    const broken: readonly (readonly [yaml: string, problem: RegExp])[] = [
      ['binds: [', /config\.yaml:1/],
      [configuration(echo.port, ['/one']).replace('backends:', 'backend:'), /did you mean .*backends/i],
      [configuration(echo.port, ['/one']).replace('port: 0', 'port: $NO_SUCH_VARIABLE'), /NO_SUCH_VARIABLE/],
      ['', /./],
    ];
    for (const [round, [yaml, problem]] of broken.entries()) {
      const path = `/round-${round}`;
      gateway.rewrite(configuration(echo.port, [path]));
      await until('the new route', async () => (await text(path)) === path);
      await until('it to be in use', async () => (await synchronized()) === 1);

      gateway.rewrite(yaml);
      await until('the refusal to be seen', async () => (await synchronized()) === 0);
      const { config } = await details();
      assert.equal(config.synchronized, false);
      assert.match(config.problems.join('\n'), problem);
      assert.equal(await text(path), path, 'the last good configuration stays');
      const probe = await fetch(`${gateway.readiness}/healthz/ready`);
      assert.equal(probe.status, 200, 'who still serves is ready');
    }
    gateway.rewrite(configuration(echo.port, []));
    await until('the routes to go', async () => (await text('/round-3')) !== '/round-3');
    await until('that to be in use', async () => (await details()).config.synchronized);
    assert.deepEqual((await details()).config.problems, []);
    const before = load.served;
    await until('some more load', () => load.served > before + 100);
  } finally {
    await load.stop();
  }
  assert.deepEqual(load.failures, []);
  await gateway.logged(/ERROR Configuration rejected; the previous configuration stays in use/);
  // All this time the session was there, with its child and its running call.
  assert.equal(resultText(await session.call('pid')), pid);
  await session.call('release');
  assert.equal(resultText(await held), 'released');
  await session.close();
});

test('a port can be added and removed, while the others stay open', async () => {
  const one = (body: string): string => `
- port: 0
  listeners: [{ routes: [{ policies: { directResponse: { status: 200, body: ${body} } } }] }]`;
  await using gateway = await startGateway(`binds:${one('first')}`);
  const [first = 0] = gateway.ports;
  const load = startLoad(gateway.url, 2, (status, body) => status === 200 && body === 'first');
  try {
    gateway.rewrite(`binds:${one('first')}${one('second')}`);
    // It is 0 until it is open.
    const second = await until('a second port', async () => {
      const { binds } = await gateway.configDump();
      return binds[1]?.port || undefined;
    });
    assert.equal(await (await fetch(`http://127.0.0.1:${second}`)).text(), 'second');
    gateway.rewrite(`binds:${one('first')}`);
    await until('the port to close', () =>
      fetch(`http://127.0.0.1:${second}`).then(
        () => false,
        () => true,
      ),
    );
    assert.deepEqual(
      (await gateway.configDump()).binds.map(({ port }) => port),
      [first],
    );
  } finally {
    await load.stop();
  }
  assert.deepEqual(load.failures, []);
});

test('a part that cannot change while it runs is named, the rest of the file is taken', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(echo.port, []));
  gateway.rewrite(configuration(echo.port, ['/new'], 'config: { mcp: { sessionTtl: 5m } }'));
  await until('the new route', async () => (await (await fetch(`${gateway.url}/new`)).text()) === '/new');
  await until('the warning', () => /WARN .*after a restart/.test(gateway.log()));
});

test('an MCP route that is taken away ends its sessions and their children', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(echo.port, []));
  const session = await openSession(`${gateway.url}/mcp`);
  assert.equal(gateway.children().length, 1);
  gateway.rewrite(`
binds:
- port: 0
  listeners:
  - routes:
    - { name: echo, backends: [{ host: '127.0.0.1:${echo.port}' }] }
`);
  await until('the end of the child', () => gateway.children().length === 0);
  const response = await session.send('POST', { id: 9, method: 'tools/list' });
  assert.equal(response.status, 404, 'the echo app knows no /mcp');
});

test('a rule that a reload brings holds for the sessions that are open', async () => {
  await using idp = await startIdp();
  const withRule = (rule: string): string => `
binds:
- port: 0
  listeners:
  - routes:
${mcpRoute({
  idp,
  path: '/mcp',
  target: { cmd: node, args: [rogue] },
  policies: { mcpAuthentication: authentication(idp, { authorization: { rules: [rule] } }) },
})}
`;
  await using gateway = await startGateway(withRule('jwt.sub == "alice"'));
  await gateway.keysReady();
  const session = await openSession(`${gateway.url}/mcp`, await idp.issueToken({ user: 'alice' }));
  const status = async (): Promise<number> => {
    const response = await session.send('POST', { id: 9, method: 'ping' });
    await response.body?.cancel();
    return response.status;
  };
  /** Resolves with what had come when the stream ended. */
  const listen = async () => {
    const response = await session.send('GET');
    return { status: response.status, ended: response.text() };
  };
  assert.equal(await status(), 200);
  const stream = await listen();
  assert.equal(stream.status, 200);
  gateway.rewrite(withRule('jwt.sub == "carol"'));
  // The stream ends, because the rule does not allow it any more.
  await stream.ended;
  assert.equal(await status(), 403);
  assert.equal((await listen()).status, 403);
  gateway.rewrite(withRule('jwt.sub == "alice"'));
  await until('the old rule', async () => (await status()) === 200);
  // A change that does not concern a stream leaves it open.
  const again = await listen();
  assert.equal(again.status, 200);
  gateway.rewrite(`${withRule('jwt.sub == "alice"')}
    - name: other
      matches: [{ path: { exact: /other } }]
      policies: { directResponse: { status: 200, body: other } }
`);
  await until(
    'the other route',
    async () => (await (await fetch(`${gateway.url}/other`)).text()) === 'other',
  );
  assert.equal(await Promise.race([again.ended, Promise.resolve('open')]), 'open');
  await session.close();
  await again.ended;
});

/** A route for the holders of keys. */
interface KeyedRoute {
  readonly keys: readonly string[];
  readonly rules: readonly string[];
  readonly targets?: readonly string[];
  /** The body that `/other` answers with. */
  readonly other?: string;
}

const keyedRoute = ({ keys, rules, targets = ['one'], other = 'first' }: KeyedRoute): string => `
binds:
- port: 0
  listeners:
  - routes:
    - name: other
      matches: [{ path: { exact: /other } }]
      policies: { directResponse: { status: 200, body: ${other} } }
    - name: mcp
      matches: [{ path: { exact: /mcp } }]
      policies:
        apiKey: ${inline({ location: { header: { name: 'x-key' } }, keys: keys.map((key) => ({ key })) })}
        mcpAuthorization: ${inline({ rules })}
      backends: ${inline([
        { mcp: { targets: targets.map((name) => ({ name, stdio: { cmd: node, args: [rogue] } })) } },
      ])}
`;

const everyItem = 'has(mcp.tool) || has(mcp.resource)';

/** A gateway with the route, and what changes it. */
async function startKeyed(route: KeyedRoute) {
  const gateway = await startGateway(keyedRoute(route));
  const url = new URL(`${gateway.url}/mcp`);
  let version = 0;
  return {
    gateway,
    modern: (key: string) => new RawModernClient(url, {}, { 'x-key': key }),
    legacy: (key: string) => new RawClient(url, { 'x-key': key }),
    /** Resolves when the next request is served under the new configuration. */
    reload: async (next: KeyedRoute): Promise<void> => {
      const other = `version-${String(++version)}`;
      gateway.rewrite(keyedRoute({ ...next, other }));
      await until(
        'the new configuration',
        async () => (await (await fetch(`${gateway.url}/other`)).text()) === other,
      );
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

const updated = (client: RawModernClient, uri: string) =>
  client.post('tools/call', { name: 'updateLater', arguments: { uris: [uri] } });

test('a modern client stops listening when a reload hides a resource or removes its key, and not before', async () => {
  const keys = ['alice', 'bob'];
  const route: KeyedRoute = { keys, rules: [everyItem] };
  await using stage = await startKeyed(route);
  const uri = 'file:///a';
  const filter = { resourceSubscriptions: [uri] };
  const alice = stage.modern('alice');
  const { events, honoured } = await alice.listen(filter);
  assert.deepEqual(honoured, filter);
  await stage.reload(route);
  await updated(alice, uri);
  assert.equal((await events.next())?.method, 'notifications/resources/updated');

  await stage.reload({ keys, rules: [`has(mcp.tool)`] });
  const [end, ...more] = await events.rest();
  assert.deepEqual(more, []);
  assert.equal((end?.result as { resultType?: string }).resultType, 'complete');
  assert.deepEqual((await alice.listen(filter)).honoured, {});

  await stage.reload(route);
  const again = await alice.listen(filter);
  await stage.reload({ keys: ['bob'], rules: [everyItem] });
  assert.equal((await again.events.rest()).length, 1);
  assert.equal((await alice.post('server/discover')).status, 401);
});

const toolsChanged = 'notifications/tools/list_changed';

for (const targets of [['one'], ['one', 'two']])
  test(`clients hear of changed lists after a change of the rules, with ${targets.join(' and ')}`, async () => {
    const keys = ['alice', 'bob'];
    const rules = [everyItem];
    const stricter = ['has(mcp.tool)'];
    await using stage = await startKeyed({ keys, rules, targets });
    const legacy = stage.legacy('alice');
    await legacy.initialize();
    const before = await legacy.get();
    const modern = stage.modern('bob');
    const listening = await modern.listen({ toolsListChanged: true });

    await stage.reload({ keys, rules: stricter, targets });
    await before.rest();
    const after = await legacy.get();
    assert.equal((await after.next())?.method, toolsChanged);
    assert.equal((await listening.events.rest()).length, 1);
    // Another request first: the news waits for the stream.
    await modern.post('tools/list');
    const again = await modern.listen({ toolsListChanged: true });
    assert.equal((await again.events.next())?.method, toolsChanged);

    // A change that does not concern the route says nothing.
    await stage.reload({ keys, rules: stricter, targets });
    const call = { name: targets.length === 1 ? 'changed' : 'one_changed' };
    await legacy.post(legacy.request('ping'));
    await modern.post('tools/call', call);
    assert.equal((await again.events.next())?.method, toolsChanged);
    await again.events.cancel();
    await after.cancel();
    assert.equal(again.events.raw.match(/list_changed/g)?.length, 2);
    assert.equal(after.raw.match(/tools\/list_changed/g)?.length, 1);
  });

test('a FIFO in the place of the file or of a file that it names stops neither traffic nor the end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-fifo-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const users = join(folder, 'users');
  // The hash of "secret".
  writeFileSync(users, 'alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n');
  const withUsers = `
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { exact: /one } }]
      policies: { directResponse: { status: 200, body: one } }
    - policies: { basicAuth: { htpasswd: { file: ${users} } }, directResponse: { status: 200, body: in } }
`;
  await using gateway = await startGateway(withUsers);
  const fifo = (path: string): void => {
    execFileSync('mkfifo', [`${path}.fifo`]);
    renameSync(`${path}.fifo`, path);
  };
  const one = async (): Promise<string> => await (await fetch(`${gateway.url}/one`)).text();
  fifo(users);
  await until('the user database to be refused', () => /users.*is not a regular file/.test(gateway.log()));
  assert.equal(await one(), 'one');
  fifo(gateway.file);
  await until('the configuration to be refused', async () =>
    (await gateway.configDump()).config.problems.some((problem) => /is not a regular file/.test(problem)),
  );
  assert.equal(await one(), 'one');
  await gateway.stop();
});

test('a gateway without a port lives until it is told to stop', async () => {
  const off = { ADMIN_ADDR: 'off', STATS_ADDR: 'off', READINESS_ADDR: 'off' };
  await using gateway = await startGateway('binds: []', { env: off });
  await gateway.stop();
});

test('a missing file closes its route alone, /readyz names the route, and it opens when the file comes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-missing-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const users = join(folder, 'users');
  const keys = join(folder, 'keys.json');
  await using gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - name: open
      matches: [{ path: { exact: /open } }]
      policies: { directResponse: { status: 200, body: open } }
    - name: users
      matches: [{ path: { exact: /users } }]
      policies: { basicAuth: { htpasswd: { file: ${users} } }, directResponse: { status: 200, body: in } }
    - name: keys
      matches: [{ path: { exact: /keys } }]
      policies: { jwtAuth: { issuer: i, jwks: { file: ${keys} } }, directResponse: { status: 200, body: in } }
    - name: program
      matches: [{ path: { exact: /program } }]
      backends: [{ mcp: { targets: [{ name: a, stdio: { cmd: no-such-program } }] } }]
`);
  const statusOf = async (path: string): Promise<number> => {
    const headers = { authorization: `Basic ${btoa('alice:secret')}` };
    return (await fetch(`${gateway.url}${path}`, { headers })).status;
  };
  const broken = async (): Promise<readonly string[]> => {
    const details = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
      brokenRoutes?: readonly { route: string; problem: string }[];
    };
    return (details.brokenRoutes ?? (await gateway.configDump()).brokenRoutes).map(
      ({ route, problem }) => `${route}: ${problem.replaceAll(folder, '')}`,
    );
  };
  assert.equal(await statusOf('/open'), 200);
  assert.equal(await statusOf('/users'), 500);
  const claims = Buffer.from('{"iss":"i"}').toString('base64url');
  const token = `eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.${claims}.AAAA`;
  const tokened = await fetch(`${gateway.url}/keys`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(tokened.status, 500);
  await tokened.body?.cancel();
  const [first = '', second = '', ...rest] = await broken();
  assert.match(first, /^users: basicAuth\.htpasswd: \/users: ENOENT/);
  assert.match(second, /^keys: jwks: \/keys\.json: /);
  assert.deepEqual(rest, []);
  await gateway.logged(/WARN .*no-such-program: there is no such program/);

  writeFileSync(users, 'alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n');
  await until('the route to open', async () => (await statusOf('/users')) === 200);
  assert.equal((await broken()).length, 1);
});

test('a route that was closed for want of its backendTLS file opens when the file comes', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-late-'));
  const root = join(folder, 'ca.pem');
  const ca = authority();
  const backend = createServer(ca.issue({ names: ['127.0.0.1'] }), (_request, response) =>
    response.end('secure'),
  );
  backend.listen(0, '127.0.0.1');
  await once(backend, 'listening');
  t.after(() => {
    backend.close();
    backend.closeAllConnections();
    rmSync(folder, { recursive: true });
  });
  const { port } = backend.address() as AddressInfo;
  await using gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - backends:
      - host: 127.0.0.1:${port}
        policies: { backendTLS: { root: ${root} } }
`);
  const statusNow = async (): Promise<number> => {
    const response = await fetch(gateway.url);
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await statusNow(), 500);
  writeFileSync(`${root}.new`, ca.cert);
  renameSync(`${root}.new`, root);
  await until('the route to open', async () => (await statusNow()) === 200);
  assert.deepEqual((await gateway.configDump()).brokenRoutes, []);
});
