import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { defaults, type ListenAddress, type Model } from '../model/index.ts';
import { createLogger, createMetrics, type LogLevel } from '../telemetry/index.ts';
import type {
  AdminViews,
  BrokenRoute,
  ConfigState,
  GatewayViews,
  Readiness,
  RequestViews,
} from './contract.ts';
import { findOperatorSecret, keepOperatorSecret, readSecret } from './operatorSecret.ts';
import { adminPages, readinessPages, statsPages } from './pages.ts';
import { startAdmin, type Admin } from './start.ts';

const loopback: ListenAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 };

const model: Model = {
  process: { ...defaults, fixed: { ...defaults.fixed, sessionKey: 'ab'.repeat(32) } },
  binds: [{ port: 3000, listeners: [] }],
};

/** State that a test changes while the servers run. */
const state = () => ({
  readiness: 'starting' as Readiness,
  level: 'info' as LogLevel,
  drains: 0,
  broken: [] as readonly BrokenRoute[],
  config: {
    source: 'config.yaml',
    loadedAt: Date.parse('2026-11-21T10:00:00Z'),
    triedAt: Date.parse('2026-11-21T10:00:00Z'),
    synchronized: true,
    problems: [],
    warnings: [],
  } as ConfigState,
});

const start = async (
  t: TestContext,
  where: Partial<Record<'admin' | 'stats' | 'readiness', ListenAddress>> = {},
  others: Partial<AdminViews> = {},
  showLink?: (url: string) => void,
  inherited?: Admin['handles'],
) => {
  const now = state();
  const views: AdminViews = {
    version: '1.2.3',
    masked: { settings: new Map(), fields: new Set() },
    model: () => model,
    configState: () => now.config,
    serving: () =>
      Promise.resolve({
        keySets: [{ source: 'http://idp/keys', keys: 0, state: 'waiting', problem: 'connection refused' }],
        binds: [{ key: '3000', port: 3000, connections: 2 }],
        closedPorts: [{ port: 53, problem: 'port 53 cannot be bound: EACCES' }],
        brokenRoutes: now.broken,
        certificates: [
          {
            certificate: '/tls/a.pem',
            state: 'ready',
            problem: undefined,
            expiresAt: Date.parse('2027-01-01T00:00:00Z'),
          },
        ],
        mcp: { sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] },
        workers: [{ worker: 1, state: 'serving', pid: 4711, restarts: 3 }],
      }),
    readiness: () => now.readiness,
    logLevel: () => now.level,
    setLogLevel: (level) => (now.level = level),
    drain: () => (now.drains += 1),
    ...others,
  };
  const log = createLogger({ level: 'error', format: 'text' });
  const admin = await startAdmin({
    admin: loopback,
    stats: loopback,
    readiness: loopback,
    ...where,
    views,
    log,
    metrics: createMetrics({ process: false }),
    showLink,
    inherited,
  });
  t.after(async () => {
    await admin.close();
    log.close();
  });
  return { now, ...admin.addresses, close: async () => await admin.close(), openRest: admin.openRest };
};

/** A request of the operator's user that changes something. */
const change = async (admin: string | undefined, path: string): Promise<Response> => {
  const { hostname: host, port } = new URL(admin ?? '');
  const { secret } = findOperatorSecret({ host, port: Number(port) }) ?? assert.fail('there is no secret');
  return await fetch(`${admin}${path}`, { method: 'POST', headers: { authorization: `Bearer ${secret}` } });
};

test('the configuration dump shows the running configuration without secrets', async (t) => {
  const { admin } = await start(t);
  const response = await fetch(`${admin}/config_dump`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  const text = await response.text();
  assert.ok(!text.includes('abab'));
  const dump = JSON.parse(text);
  assert.equal(dump.model.binds[0].port, 3000);
  assert.equal(dump.model.process.fixed.sessionKey, '[redacted]');
  assert.equal(dump.config.loadedAt, '2026-11-21T10:00:00.000Z');
  assert.equal(dump.keySets[0].problem, 'connection refused');
  assert.deepEqual(dump.mcp, { sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] });
});

test('the index lists every page, and an unknown one is 404', async (t) => {
  const { admin } = await start(t);
  const index = await (await fetch(`${admin}/`)).text();
  for (const path of ['/config_dump', '/logging', '/quitquitquit']) assert.ok(index.includes(path), path);
  assert.equal((await fetch(`${admin}/nothing`)).status, 404);
});

test('the log level is set by POST, and a wrong one is refused', async (t) => {
  const { admin, now } = await start(t);
  assert.equal((await change(admin, '/logging?level=debug')).status, 200);
  assert.equal(now.level, 'debug');
  const refused = await change(admin, '/logging?level=loud');
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /debug, info, warn, error/);
  assert.equal(now.level, 'debug');
});

test('a query is read to its end, with further question marks', async (t) => {
  const { admin, now } = await start(t);
  assert.equal((await change(admin, '/logging?level=debug?')).status, 400);
  assert.equal((await change(admin, '/logging?x=a?b&level=warn')).status, 200);
  assert.equal(now.level, 'warn');
});

test('quitquitquit drains on POST only', async (t) => {
  const { admin, now } = await start(t);
  const get = await fetch(`${admin}/quitquitquit`);
  assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST']);
  assert.equal(now.drains, 0);
  assert.equal((await change(admin, '/quitquitquit')).status, 202);
  assert.equal(now.drains, 1);
});

test('every page that changes something refuses a request without the secret over TCP', async (t) => {
  const { admin, now } = await start(t);
  const pages = adminPages({} as AdminViews, [], []);
  const changing = pages.filter(({ method }) => method !== 'GET');
  assert.deepEqual(changing.map(({ path }) => path).toSorted(), ['/logging', '/quitquitquit', '/upgrade']);
  for (const { method, path } of changing)
    for (const authorization of ['', 'Bearer', 'Bearer x', `Basic ${'A'.repeat(43)}`]) {
      const refused = await fetch(`${admin}${path}`, { method, headers: { authorization } });
      assert.equal(refused.status, 401, path);
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer /);
    }
  assert.deepEqual([now.level, now.drains], ['info', 0]);
});

test('the ports that every address reaches have no page that changes something', () => {
  const pages = [...statsPages(() => Promise.resolve(''), ''), ...readinessPages({} as AdminViews)];
  assert.deepEqual([...new Set(pages.map(({ method }) => method))], ['GET']);
});

test('the secret is in a file that only its user can read, and goes with the gateway', async (t) => {
  const { admin, close } = await start(t);
  const address = { host: '127.0.0.1', port: Number(new URL(admin ?? '').port) };
  const { file } = findOperatorSecret(address) ?? assert.fail('there is no secret');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(dirname(file))).mode & 0o777, 0o700);
  await close();
  await assert.rejects(stat(file));
});

test('the secret is not written into a folder of another user or through a planted link', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'secret-'));
  t.after(async () => await rm(directory, { recursive: true }));
  const env = { XDG_RUNTIME_DIR: directory };
  const address = { host: '127.0.0.1', port: 9 };
  const folder = join(directory, `portcullis.${process.getuid?.() ?? 0}`);
  // Other accounts may write into it.
  await mkdir(folder, { mode: 0o777 });
  await chmod(folder, 0o777);
  const elsewhere = keepOperatorSecret(address, false, env);
  t.after(() => elsewhere.remove());
  assert.notEqual(dirname(elsewhere.file), folder);

  await chmod(folder, 0o700);
  const victim = join(directory, 'victim');
  await writeFile(victim, 'kept');
  await symlink(victim, join(folder, 'admin-127.0.0.1-9'));
  const kept = keepOperatorSecret(address, false, env);
  assert.equal(dirname(kept.file), folder);
  assert.equal(await readFile(victim, 'utf8'), 'kept');
  assert.ok((await lstat(kept.file)).isFile());
  assert.ok(kept.admits(`Bearer ${readSecret(kept.file)}`));
  await chmod(kept.file, 0o644);
  assert.throws(() => readSecret(kept.file), /other users must not read it/);
});

test('a program that takes over knows the secret of the one before, and does not remove it when it fails', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'secret-'));
  t.after(async () => await rm(directory, { recursive: true }));
  const env = { XDG_RUNTIME_DIR: directory };
  const address = { host: '::1', port: 9 };
  const first = keepOperatorSecret(address, false, env);
  const second = keepOperatorSecret(address, true, env);
  assert.ok(second.admits(`Bearer ${readSecret(first.file)}`));
  const third = keepOperatorSecret(address, false, env);
  first.remove();
  assert.equal(readSecret(third.file).length, 43, 'it is another gateway’s by now');
  assert.equal(findOperatorSecret({ host: 'localhost', port: 9 }, env)?.file, third.file);
});

test('readiness follows the state: 503, 200, 503', async (t) => {
  const { readiness, now } = await start(t);
  const probe = async () => {
    const response = await fetch(`${readiness}/healthz/ready`);
    return [response.status, (await response.text()).trim()];
  };
  assert.deepEqual(await probe(), [503, 'starting']);
  now.readiness = 'ready';
  assert.deepEqual(await probe(), [200, 'ready']);
  now.readiness = 'draining';
  assert.deepEqual(await probe(), [503, 'draining']);
});

test('it is alive in every state, as long as it answers', async (t) => {
  const { readiness, now } = await start(t);
  for (const state of ['starting', 'ready', 'draining'] as const) {
    now.readiness = state;
    assert.equal((await fetch(`${readiness}/healthz/live`)).status, 200);
  }
});

test('with a controller, the readiness port shows only the state, and the admin port shows the problem', async (t) => {
  const { now, admin, readiness } = await start(t, {}, { isShared: true });
  now.config = { ...now.config, synchronized: false, problems: ['keys of https://10.0.0.1/: not reachable'] };
  const status = async (url = ''): Promise<number> => (await fetch(`${url}/readyz`)).status;
  now.readiness = 'ready';
  assert.equal(await (await fetch(`${readiness}/readyz`)).text(), '{\n  "readiness": "ready"\n}\n');
  assert.match(await (await fetch(`${admin}/readyz`)).text(), /10\.0\.0\.1/);
  assert.deepEqual([await status(readiness), await status(admin)], [200, 200]);
  now.readiness = 'draining';
  assert.deepEqual([await status(readiness), await status(admin)], [503, 503]);
});

test('readyz tells that a newer configuration was refused, and why', async (t) => {
  const { readiness, now } = await start(t);
  now.readiness = 'ready';
  now.config = { ...now.config, synchronized: false, problems: ['config.yaml:3:1: unknown field'] };
  const response = await fetch(`${readiness}/readyz`);
  assert.equal(response.status, 200);
  const details = (await response.json()) as Record<string, Record<string, unknown>>;
  assert.equal(details['config']?.['synchronized'], false);
  assert.deepEqual(details['config']?.['problems'], ['config.yaml:3:1: unknown field']);
  assert.equal('model' in details, false);
});

test('a route that is closed shows in the details and in the dump', async (t) => {
  const { admin, readiness, now } = await start(t);
  now.readiness = 'ready';
  now.broken = [{ route: 'binds[0].listeners[0].routes[1]', problem: 'jwtAuth: no key set' }];
  for (const url of [`${admin}/config_dump`, `${readiness}/readyz`]) {
    const { brokenRoutes } = (await (await fetch(url)).json()) as { brokenRoutes: unknown };
    assert.deepEqual(brokenRoutes, now.broken);
  }
});

test('the stats port serves metrics, with the state of the configuration among them', async (t) => {
  const { stats, now } = await start(t);
  const read = async () => await (await fetch(`${stats}/metrics`)).text();
  const before = await read();
  assert.match(before, /^portcullis_config_synchronized 1$/m);
  assert.match(before, /^portcullis_config_last_reload_success_timestamp_seconds 1795255200$/m);
  assert.match(before, /^portcullis_build_info\{version="1.2.3"\} 1$/m);
  now.config = { ...now.config, synchronized: false };
  assert.match(await read(), /^portcullis_config_synchronized 0$/m);
});

/** A request with headers that fetch would not let a test set. */
const ask = async (url: string, headers: Record<string, string>, method = 'GET'): Promise<number> => {
  const request = httpRequest(url, { method, headers, agent: false }).end();
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  response.resume();
  await once(response, 'end');
  return response.statusCode;
};

test('the admin port refuses a foreign Host: DNS rebinding', async (t) => {
  const { admin = '' } = await start(t);
  for (const host of [
    'evil.example',
    'evil.example:15000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ])
    assert.equal(await ask(`${admin}/config_dump`, { host }), 403, host);
  for (const host of ['localhost', 'localhost:15000', 'LOCALHOST.', '127.0.0.1:1', '[::1]:15000'])
    assert.equal(await ask(`${admin}/config_dump`, { host }), 200, host);
});

test('the admin port refuses requests of pages of other sites', async (t) => {
  const { admin = '', now } = await start(t);
  const hostile: readonly Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost:9' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of hostile)
    assert.equal(await ask(`${admin}/quitquitquit`, headers, 'POST'), 403, JSON.stringify(headers));
  assert.equal(now.drains, 0);
  const own = new URL(admin).host;
  assert.equal(await ask(`${admin}/`, { origin: `http://${own}`, 'sec-fetch-site': 'same-origin' }), 200);
  assert.equal(await ask(`${admin}/`, { 'sec-fetch-site': 'none' }), 200);
});

test('an address that other machines can reach opens no page without the secret', async (t) => {
  const { admin = '' } = await start(t, { admin: { kind: 'tcp', host: '0.0.0.0', port: 0 } });
  const { port } = new URL(admin);
  const local = `http://127.0.0.1:${port}`;
  for (const path of ['/', '/config_dump', '/readyz', '/logging'])
    assert.equal((await fetch(`${local}${path}`)).status, 401, path);
  const { secret } =
    findOperatorSecret({ host: '0.0.0.0', port: Number(port) }) ?? assert.fail('there is no secret');
  const headers = { authorization: `Bearer ${secret}` };
  assert.equal((await fetch(`${local}/config_dump`, { headers })).status, 200);
});

test('an address that other machines can reach is not opened where no secret can be stored', async (t) => {
  const { getuid } = process;
  const useId = (value: typeof getuid): void =>
    void Object.defineProperty(process, 'getuid', { value, configurable: true, writable: true });
  t.after(() => useId(getuid));
  // A platform without user ids.
  useId(undefined);
  const exposed: ListenAddress = { kind: 'tcp', host: '0.0.0.0', port: 0 };
  await assert.rejects(start(t, { admin: exposed }), /could not store the secret/);
  const { admin } = await start(t);
  assert.equal((await fetch(`${admin}/config_dump`)).status, 200, 'loopback is read without a secret');
});

test('a terminal gets the first link, and then no file has it', async (t) => {
  const links: string[] = [];
  const views = { gateway: {} as GatewayViews, requests: {} as RequestViews };
  const { admin = '' } = await start(t, {}, views, (url) => links.push(url));
  assert.equal(links.length, 1);
  assert.ok(links[0]?.startsWith(`${admin}/ui/login?code=`));
  const { hostname: host, port } = new URL(admin);
  const { file } = findOperatorSecret({ host, port: Number(port) }) ?? assert.fail('there is no secret');
  await assert.rejects(stat(join(dirname(file), `console-${host}-${port}`)));
  const login = await fetch(links[0] ?? '', { redirect: 'manual' });
  assert.match(login.headers.get('set-cookie') ?? '', /^portcullis-console-/);
});

test('the file with the first link goes with the gateway', async (t) => {
  const views = { gateway: {} as GatewayViews, requests: {} as RequestViews };
  const { admin = '', close } = await start(t, {}, views);
  const { hostname: host, port } = new URL(admin);
  const { file } = findOperatorSecret({ host, port: Number(port) }) ?? assert.fail('there is no secret');
  const link = join(dirname(file), `console-${host}-${port}`);
  assert.equal((await stat(link)).mode & 0o777, 0o600);
  await close();
  await assert.rejects(stat(link));
});

test('an address that is off is not opened', async (t) => {
  const addresses = await start(t, { admin: { kind: 'off' }, stats: { kind: 'off' } });
  assert.deepEqual([addresses.admin, addresses.stats], [undefined, undefined]);
  assert.equal((await fetch(`${addresses.readiness}/healthz/ready`)).status, 503);
});

test('the address :: is reached over IPv4', async (t) => {
  const { stats = '' } = await start(t, { stats: { kind: 'tcp', host: '::', port: 0 } });
  assert.equal((await fetch(`http://127.0.0.1:${new URL(stats).port}/metrics`)).status, 200);
});

test('a port in use is an error that names the purpose, and leaves nothing open', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  await assert.rejects(
    start(t, { readiness: { kind: 'tcp', host: '127.0.0.1', port } }),
    new RegExp(`cannot open the readiness address: .*127\\.0\\.0\\.1:${String(port)}.*readinessAddr`),
  );
});

test('the address of a unix socket is known before an upgrade opens it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-admin-'));
  t.after(async () => await rm(folder, { recursive: true }));
  const path = join(folder, 'admin.sock');
  const { admin, openRest } = await start(t, { admin: { kind: 'unix', path } }, {}, undefined, new Map());
  assert.equal(admin, `unix:${path}`);
  await assert.rejects(stat(path), /ENOENT/);
  await openRest();
  assert.equal((await stat(path)).isSocket(), true);
});

test('a unix socket is private, replaces a dead one, and never a living one', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'portcullis-'));
  t.after(async () => await rm(directory, { recursive: true }));
  const path = join(directory, 'admin.sock');
  // A process that dies without closing its socket leaves the file.
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await once(spawn(process.execPath, ['-e', script]), 'exit');
  assert.ok((await stat(path)).isSocket());

  const first = await start(t, { admin: { kind: 'unix', path } });
  assert.equal(first.admin, `unix:${path}`);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const request = httpRequest({ socketPath: path, path: '/', headers: { host: 'localhost' } }).end();
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  assert.equal(response.statusCode, 200);
  response.resume();
  const quit = httpRequest({ socketPath: path, path: '/quitquitquit', method: 'POST' }).end();
  const [done] = (await once(quit, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  assert.equal(done.statusCode, 202, 'only its owner can connect: no secret is needed');
  done.resume();

  await assert.rejects(start(t, { admin: { kind: 'unix', path } }), /cannot open the admin address/);
  assert.ok((await stat(path)).isSocket());
  await first.close();
  await assert.rejects(stat(path));
});

test('silent connections on the operator’s ports keep no probe and no scraper out', async (t) => {
  const { now, ...ports } = await start(t);
  now.readiness = 'ready';
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  for (const [address, page] of [
    [ports.readiness, '/healthz/ready'],
    [ports.stats, '/metrics'],
    [ports.admin, '/config_dump'],
  ] as const) {
    const port = Number(new URL(address ?? '').port);
    for (let i = 0; i < 600; i++) {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => undefined).resume();
      sockets.push(socket);
      await once(socket, 'connect');
    }
    const [oldest] = sockets.splice(0, 600);
    const answer = await fetch(`${address}${page}`, { headers: { connection: 'close' } });
    assert.equal(answer.status, 200, page);
    await answer.text();
    if (oldest?.readableEnded === false && !oldest.destroyed) await once(oldest, 'close');
  }
});
