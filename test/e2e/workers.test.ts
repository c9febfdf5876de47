/** Several worker processes behind one set of ports, with the real program. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { startHolder } from './holder.testing.ts';
import { ask, type Answer } from './http.testing.ts';
import { startGuarded } from './keyServer.testing.ts';
import { startLoad } from './load.testing.ts';
import { openDescriptors } from './processes.testing.ts';
import { revision } from './session.testing.ts';
import { inline, rogue, rogueBeside } from './stage.testing.ts';
import { counterStarted, portClosed } from './conditions.testing.ts';
import { until } from '../../src/until.testing.ts';

interface Worker {
  readonly worker: number;
  readonly state: string;
  readonly pid?: number;
  readonly restarts: number;
}

const saying = (word: string, ports = [0]): string => `
config: { workers: 2, logging: { level: debug, accessLog: json } }
binds:
${ports
  .map(
    (port) => `
- port: ${port}
  listeners:
  - routes:
    - policies: { directResponse: { status: 200, body: ${word} } }`,
  )
  .join('')}
`;

async function workersOf(gateway: GatewayProcess): Promise<readonly Worker[]> {
  const { workers } = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as { workers: Worker[] };
  return workers;
}

async function pidsOf(gateway: GatewayProcess): Promise<readonly [number, number]> {
  const [one, two] = await workersOf(gateway);
  return [one?.pid ?? 0, two?.pid ?? 0];
}

const allServe = (gateway: GatewayProcess): Promise<readonly Worker[] | undefined> =>
  until('both workers to serve', async () => {
    const workers = await workersOf(gateway);
    return workers.every(({ state }) => state === 'serving') ? workers : undefined;
  });

/** The answers to `count` requests on connections of their own. */
const bodies = async (url: string, count = 24): Promise<ReadonlySet<string>> =>
  new Set((await Promise.all(Array.from({ length: count }, () => ask(url)))).map(({ body }) => body));

/** The number of times that the log says so. */
const said = (gateway: GatewayProcess, what: string): number => gateway.log().split(what).length - 1;

test('the workers share one port, also one that the system chose, and their counts add up', async () => {
  await using gateway = await startGateway(saying('hello'));
  const pids = await pidsOf(gateway);
  const before = pids.map(openDescriptors);
  const clients: Socket[] = [];
  for (let i = 0; i < 40; i++) {
    const client = connect(gateway.ports[0] ?? 0, '127.0.0.1');
    clients.push(client);
    client.write('GET / HTTP/1.1\r\nhost: a.test\r\n\r\n');
    const [answer] = (await once(client, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
  }
  const taken = pids.map((pid, index) => openDescriptors(pid) - (before[index] ?? 0));
  assert.ok(
    taken.every((count) => count > 5),
    `connections of each worker: ${taken.join(' and ')}`,
  );
  assert.equal(await gateway.metric('portcullis_downstream_connections'), 40);
  assert.equal(await gateway.metric('portcullis_requests_total', { status: '200' }), 40);
  assert.equal(await gateway.metric('portcullis_request_duration_seconds_count', { route: 'route0' }), 40);
  assert.equal(await gateway.metric('portcullis_workers'), 2);
  assert.equal((await gateway.configDump()).binds[0]?.connections, 40);
  for (const client of clients) client.destroy();
  const lines = await until('the access log', () => {
    const all = gateway.accessLog().trimEnd().split('\n');
    return all.length === 40 ? all : undefined;
  });
  for (const line of lines) assert.equal((JSON.parse(line) as { status: number }).status, 200);
});

test('long lines of several workers do not break into each other', async () => {
  await using gateway = await startGateway(saying('hello'));
  const path = `/${'x'.repeat(12_000)}`;
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 25; i++) await ask(`${gateway.url}${path}`);
    }),
  );
  await gateway.stop();
  const lines = gateway.accessLog().trimEnd().split('\n');
  assert.equal(lines.length, 200);
  for (const line of lines) assert.equal((JSON.parse(line) as { path: string }).path, path);
});

test('a new configuration reaches every worker; one that is refused reaches none', async () => {
  await using gateway = await startGateway(saying('old'));
  assert.deepEqual(await bodies(gateway.url), new Set(['old']));
  gateway.rewrite(saying('new'));
  await until('the new configuration', () => gateway.log().includes('Configuration loaded'));
  assert.deepEqual(await bodies(gateway.url), new Set(['new']));

  // A port that somebody else has: it is found out only when the ports are opened.
  const { port, close } = await listenOnLoopback(createServer());
  try {
    gateway.rewrite(saying('refused', [0, port]));
    await until('the refusal', () => gateway.log().includes('Configuration rejected'));
    assert.deepEqual(await bodies(gateway.url), new Set(['new']));
    const ready = await fetch(`${gateway.readiness}/readyz`);
    assert.equal(ready.status, 200);
    const { config } = (await ready.json()) as { config: { synchronized: boolean; problems: string[] } };
    assert.equal(config.synchronized, false);
    assert.match(config.problems.join(), new RegExp(`port ${port} cannot be bound: EADDRINUSE`));
  } finally {
    await close();
  }
  // An error that only the workers themselves find is no different.
  const refusals = () => gateway.log().split('Configuration rejected').length;
  const before = refusals();
  gateway.rewrite(`${saying('refused')}
- port: 0
  listeners:
  - protocol: UDP
    udpRoutes: [{ backends: [{ host: '127.0.0.1:9' }] }]
`);
  await until('the second refusal', () => refusals() > before);
  await gateway.logged(/UDP port 0 cannot be shared by several workers/);
  assert.deepEqual(await bodies(gateway.url), new Set(['new']));

  gateway.rewrite(saying('last', [0, 0]));
  await until('the last one', () => said(gateway, 'Configuration loaded') === 2);
  const ports = (await gateway.configDump()).binds.map((bind) => bind.port);
  assert.equal(ports.length, 2);
  for (const port of ports) assert.deepEqual(await bodies(`http://127.0.0.1:${port}`), new Set(['last']));
  gateway.rewrite(saying('one'));
  await portClosed(ports[1]);
});

const preparing = 'Workers are preparing a configuration';
const refused = 'Configuration rejected';

test('a worker that dies while it prepares a configuration leaves the old one in use, in all of them', async () => {
  await using gateway = await startGateway(saying('old'));
  const [one, two] = await pidsOf(gateway);
  process.kill(one, 'SIGSTOP');
  gateway.rewrite(saying('new'));
  await until('the workers to be asked', () => gateway.log().includes(preparing));
  // The other one prepares it, and may not take it.
  process.kill(one, 'SIGKILL');
  await until('the refusal', () => gateway.log().includes(refused));
  // It is tried once more, and once more a worker dies of it.
  process.kill(two, 'SIGSTOP');
  await until('the second try', () => said(gateway, preparing) === 2);
  process.kill(two, 'SIGKILL');
  await until('the second refusal', () => said(gateway, refused) === 2);
  await allServe(gateway);
  assert.deepEqual(await bodies(gateway.url), new Set(['old']));
  gateway.rewrite(saying('newer'));
  await until('the newer configuration', () => gateway.log().includes('Configuration loaded'));
  assert.deepEqual(await bodies(gateway.url), new Set(['newer']));
  assert.equal(said(gateway, preparing), 3);
});

test('a configuration that was refused because a worker happened to die is taken when all serve again', async () => {
  await using gateway = await startGateway(saying('old'));
  const [one] = await pidsOf(gateway);
  process.kill(one, 'SIGSTOP');
  gateway.rewrite(saying('new'));
  await until('the workers to be asked', () => gateway.log().includes(preparing));
  process.kill(one, 'SIGKILL');
  await until('the refusal', () => gateway.log().includes(refused));
  await until('the second try', () => gateway.log().includes('Configuration loaded'));
  assert.deepEqual(await bodies(gateway.url), new Set(['new']));
  assert.equal((await gateway.configDump()).config.synchronized, true);
  assert.deepEqual([said(gateway, preparing), said(gateway, refused)], [2, 1]);
});

/** The last of many routes answers at `/last` alone. */
const manySaying = (word: string): string => {
  const route = (path: string): string =>
    `    - matches: [{ path: { exact: ${path} } }]\n      policies: { directResponse: { status: 200, body: ${word} } }\n`;
  const others = Array.from({ length: 2_000 }, (_, i) => route(`/${i}`));
  return `${saying(word)}${others.join('')}${route('/last')}`;
};

test('a configuration of many routes reaches every worker under load, also after a worker died while it was sent', async () => {
  await using gateway = await startGateway(saying('old'));
  const [one] = await pidsOf(gateway);
  // A stopped worker answers no portion, so the transfer to it stands still.
  process.kill(one, 'SIGSTOP');
  gateway.rewrite(manySaying('new'));
  await until('the workers to be asked', () => gateway.log().includes(preparing));
  process.kill(one, 'SIGKILL');
  await until('the refusal', () => gateway.log().includes(refused));
  await until('the second try', () => gateway.log().includes('Configuration loaded'));
  assert.deepEqual(await bodies(`${gateway.url}/last`), new Set(['new']));

  const load = startLoad(gateway.url, 4, (status, body) => status === 200 && /^new(?:er)?$/.test(body));
  await until('some load', () => load.served > 50);
  gateway.rewrite(manySaying('newer'));
  await until('the newer configuration', () => said(gateway, 'Configuration loaded') === 2);
  const servedThen = load.served;
  await until('some more load', () => load.served > servedThen + 50);
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.deepEqual(await bodies(`${gateway.url}/last`), new Set(['newer']));
});

test('a worker killed under load costs the requests that it had, and another one takes its place', async () => {
  await using gateway = await startGateway(saying('hello'));
  const connections = 8;
  const load = startLoad(gateway.url, connections, (status, body) => status === 200 && body === 'hello');
  await until('some load', () => load.served > 200);
  const [one, two] = await pidsOf(gateway);
  const counted = (await gateway.metric('portcullis_requests_total', { status: '200' })) ?? 0;
  process.kill(one, 'SIGKILL');
  await until('the replacement', async () => (await pidsOf(gateway))[0] !== one && (await allServe(gateway)));
  const servedThen = load.served;
  await until('some more load', () => load.served > servedThen + 200);
  await load.stop();
  assert.ok(load.failures.length <= connections, load.failures.join('\n'));
  for (const failure of load.failures) assert.match(failure, /ECONNRESET|socket hang up/);
  assert.equal((await pidsOf(gateway))[1], two);
  assert.equal(await gateway.metric('portcullis_worker_restarts_total', { worker: '1' }), 1);
  assert.equal(await gateway.metric('portcullis_workers'), 2);
  const after = (await gateway.metric('portcullis_requests_total', { status: '200' })) ?? 0;
  assert.ok(after >= counted + 200, `a counter fell: ${counted}, then ${after}`);
  await gateway.logged(/Worker ended: .* worker=1 .*how=SIGKILL/);
});

test('while a place is empty its connections are taken by a neighbour, however often the worker dies', async () => {
  await using gateway = await startGateway(saying('hello'));
  // Each death in short succession makes the wait longer; sooner or later there is time for all the requests.
  await until('requests to be served while a place is empty', async () => {
    const [first] = await allServe(gateway).then((workers) => workers ?? []);
    process.kill(first?.pid ?? 0, 'SIGKILL');
    await until('the death to be noticed', async () => (await workersOf(gateway))[0]?.pid !== first?.pid);
    assert.deepEqual(await bodies(gateway.url, 32), new Set(['hello']));
    return (await workersOf(gateway))[0]?.state !== 'serving';
  });
  assert.equal((await fetch(`${gateway.readiness}/healthz/ready`)).status, 200);
  await allServe(gateway);
  assert.deepEqual(await bodies(gateway.url, 32), new Set(['hello']));
});

test('a replacement worker has its keys from the start and refuses no request', async () => {
  await using guarded = await startGuarded(startGateway, 2);
  const { gateway, statuses, held } = guarded;
  assert.deepEqual(await statuses(), new Set([200]));
  guarded.hold();
  process.kill((await pidsOf(gateway))[0], 'SIGKILL');
  await until('the next one to ask for the keys', () => held.length > 0);
  assert.deepEqual(await statuses(), new Set([200]));
  assert.equal((await workersOf(gateway))[0]?.state, 'starting');
  guarded.release();
  await allServe(gateway);
  assert.deepEqual(await statuses(), new Set([200]));
});

const withChildren = (port: number): string =>
  rogueBeside(port, { workers: 2, connectionTerminationDeadline: '20s' });

test('SIGTERM drains every worker, and leaves no process behind', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(withChildren(holder.port));
  const waiting = Array.from({ length: 12 }, () => ask(`${gateway.url}/held`));
  await until('the held requests', () => holder.held.length === 12);
  // A service manager sends the signal to every process of the gateway.
  const pids = await pidsOf(gateway);
  gateway.signal('SIGTERM');
  for (const pid of pids) process.kill(pid, 'SIGTERM');
  await portClosed(gateway.ports[0]);
  assert.equal((await fetch(`${gateway.readiness}/readyz`)).status, 503);
  holder.release();
  for (const { status, body } of await Promise.all(waiting))
    assert.deepEqual([status, body], [200, 'at last']);
  await gateway.stop();
});

/** Opens a session, for which a child is started. */
const openMcp = (url: string): Promise<Answer> =>
  ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: inline({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'e2e', version: '1' } },
    }),
  });

const childrenOf = (gateway: GatewayProcess): number =>
  gateway.children().filter(({ command }) => command.includes(rogue)).length;

test('the children of a killed worker end with it, and those of other workers continue', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(withChildren(holder.port));
  const pids = await pidsOf(gateway);
  for (let i = 0; i < 12; i++) assert.equal((await openMcp(`${gateway.url}/mcp`)).status, 200);
  const { sessions } = (await gateway.configDump()).mcp as { sessions: { worker: number }[] };
  const mine = sessions.filter(({ worker }) => worker === 1).length;
  assert.equal(sessions.length, 12);
  assert.equal(childrenOf(gateway), 12);
  process.kill(pids[0], 'SIGKILL');
  await until('the end of its children', () => childrenOf(gateway) === 12 - mine);
  await allServe(gateway);
  assert.equal(childrenOf(gateway), 12 - mine);
});

test('when the main process is killed the workers and their children end by themselves', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-orphans-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await using holder = await startHolder();
  await using gateway = await startGateway(withChildren(holder.port), { env: { TMPDIR: folder } });
  for (let i = 0; i < 4; i++) assert.equal((await openMcp(`${gateway.url}/mcp`)).status, 200);
  assert.equal(childrenOf(gateway), 4);
  const waiting = ask(`${gateway.url}/held`);
  await until('the held request', () => holder.held.length === 1);
  gateway.signal('SIGKILL');
  // Running work may still finish, and the port is free for a successor.
  await portClosed(gateway.ports[0]);
  holder.release();
  assert.equal((await waiting).body, 'at last');
  await gateway.ended;
  await until('the end of all processes', () => gateway.children().length === 0);
  // The folder for the secret of the admin port belongs to the user: the next gateway uses it again.
  const left = readdirSync(folder).filter((name) => !/^portcullis\.\d+$/.test(name));
  assert.deepEqual(left, []);
});

test('a session of TLS is resumed whichever worker gets the connection', async (t) => {
  const { cert, key } = authority().issue({ names: ['app.test'] });
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-workers-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'app.pem'), cert);
  writeFileSync(join(folder, 'app.key'), key);
  await using gateway = await startGateway(`
config: { workers: 2 }
binds:
- port: 0
  listeners:
  - protocol: HTTPS
    tls: { cert: ${folder}/app.pem, key: ${folder}/app.key }
    routes:
    - policies: { directResponse: { status: 200, body: hello } }
`);
  const open = (session?: Buffer): TLSSocket =>
    connectTls({
      port: gateway.ports[0] ?? 0,
      host: '127.0.0.1',
      servername: 'app.test',
      rejectUnauthorized: false,
      ...(session && { session }),
    });
  const served = async (socket: TLSSocket): Promise<boolean> => {
    socket.write('GET / HTTP/1.1\r\nhost: app.test\r\n\r\n');
    await once(socket, 'data');
    const reused = socket.isSessionReused();
    socket.destroy();
    return reused;
  };
  const first = open();
  const [session] = (await once(first, 'session')) as [Buffer];
  assert.equal(await served(first), false);
  for (let i = 0; i < 16; i++) assert.equal(await served(open(session)), true);
});

test('a cookie that keeps a client at one backend means the same to every worker', async () => {
  const named = (name: string) => listenOnLoopback(createServer((_request, response) => response.end(name)));
  const [first, second] = await Promise.all([named('first'), named('second')]);
  try {
    await using gateway = await startGateway(`
config: { workers: 2 }
binds:
- port: 0
  listeners:
  - routes:
    - policies: { sessionPersistence: {} }
      backends:
      - host: app.test:80
        addresses: ['127.0.0.1:${first.port}', '127.0.0.1:${second.port}']
`);
    const { body, headers } = await ask(gateway.url);
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    assert.notEqual(cookie, '');
    for (let i = 0; i < 24; i++) assert.equal((await ask(gateway.url, { headers: { cookie } })).body, body);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});

test('the level of the log reaches all workers, and a signal to a worker alone ends nothing', async () => {
  await using gateway = await startGateway(saying('hello'));
  assert.equal((await gateway.change('/logging?level=debug')).status, 200);
  const pids = await pidsOf(gateway);
  for (const pid of pids) process.kill(pid, 'SIGTERM');
  assert.deepEqual(await bodies(gateway.url), new Set(['hello']));
  assert.deepEqual(await pidsOf(gateway), pids);
  assert.match(await (await fetch(`${gateway.admin}/logging`)).text(), /log level is debug/);
});

test('a rate limit holds for all workers together, over a reload and the death of a worker', async (t) => {
  const limited = (body: string, workers: number): string => `
config: { workers: ${workers} }
binds:
- port: 0
  listeners:
  - routes:
    - name: limited
      policies:
        directResponse: { status: 200, body: ${body} }
        localRateLimit:
        - { maxTokens: 70, tokensPerFill: 1, fillInterval: 2h }
        - { maxTokens: 30, tokensPerFill: 1, fillInterval: 1h, key: 'request.headers["x-client"]' }
`;
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-tokens-'));
  t.after(() => rmSync(folder, { recursive: true }));
  await using gateway = await startGateway(limited('before', 3), { env: { TMPDIR: folder } });
  await counterStarted(folder);
  /** On a connection each, so that every worker gets some. */
  const burst = async (client: string, count: number): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, () => ask(gateway.url, { headers: { 'x-client': client } })));
  const allowed = (answers: readonly Answer[]): readonly Answer[] =>
    answers.filter(({ status }) => status === 200);

  const [first, second] = await Promise.all([burst('a', 60), burst('b', 25)]);
  assert.equal(allowed(first).length, 30);
  assert.equal(allowed(second).length, 25);
  for (const { status, headers } of [...first, ...second]) {
    assert.ok(status === 200 || status === 429);
    assert.equal(headers['x-ratelimit-limit'], '30');
    assert.ok(Number(headers['x-ratelimit-reset']) > 3_000);
  }
  assert.deepEqual(
    allowed(first)
      .map(({ headers }) => Number(headers['x-ratelimit-remaining']))
      .toSorted((a, b) => a - b),
    Array.from({ length: 30 }, (_, left) => left),
    'each answer has a rest of its own',
  );

  gateway.rewrite(limited('after', 3));
  await until('the new configuration', () => gateway.log().includes('Configuration loaded'));
  const third = await burst('c', 10);
  assert.equal(allowed(third).length, 10);
  assert.equal(third[0]?.body, 'after');
  assert.equal(allowed(await burst('a', 6)).length, 0);

  process.kill((await pidsOf(gateway))[0], 'SIGKILL');
  await until('its successor', async () => (await workersOf(gateway))[0]?.restarts === 1);
  await allServe(gateway);
  const last = await burst('d', 20);
  assert.equal(allowed(last).length, 5, '70 in all');
  assert.ok(last.some(({ headers }) => headers['x-ratelimit-limit'] === '70'));
});
