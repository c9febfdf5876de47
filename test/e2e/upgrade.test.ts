/** A new program takes the place of a running one, with the real program and real connections all the time. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { Agent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { launcher } from '../../src/launcher.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { run } from '../../src/cli/program.testing.ts';
import { freePorts, listenOnLoopback } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { startHolder } from './holder.testing.ts';
import { ask, askSecurely } from './http.testing.ts';
import { startGuarded } from './keyServer.testing.ts';
import { repeat, startLoad, type Load } from './load.testing.ts';
import { openSession } from './session.testing.ts';
import { inline, rogue, rogueAlone } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The processes that reported to serve in the place of another, in their order. */
const successors = (gateway: GatewayProcess): readonly number[] =>
  [...gateway.log().matchAll(/the new process serves pid=(\d+)/g)].map(([, pid]) => Number(pid));

/** Also one that nobody has asked for its exit code. */
function isGone(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

const count = (text: string, part: string): number => text.split(part).length - 1;

const failures = (gateway: GatewayProcess): number => count(gateway.log(), 'Upgrade failed');

/** Has the process upgraded and waits until it has ended. @returns the one that serves now */
async function upgraded(gateway: GatewayProcess, pid: number): Promise<number> {
  const before = successors(gateway).length;
  process.kill(pid, 'SIGUSR2');
  const next = await until('the new program', () => successors(gateway)[before]);
  await until(
    'the end of the old one',
    () => count(gateway.log(), 'Upgrade completed: the previous process has exited') > before,
  );
  await until('its process to be gone', () => isGone(pid));
  return next;
}

/** The end of a gateway that others have followed. */
async function end(gateway: GatewayProcess, pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM');
  await gateway.ended;
  assert.deepEqual(gateway.children(), []);
}

function secureConfig(folder: string, backend: number, workers: number): string {
  const { cert, key } = authority().issue({ names: ['app.test'] });
  if (!existsSync(join(folder, 'app.pem'))) {
    writeFileSync(join(folder, 'app.pem'), cert);
    writeFileSync(join(folder, 'app.key'), key);
  }
  const routes = `routes: [{ backends: [{ host: '127.0.0.1:${backend}' }] }]`;
  return `
config: { workers: ${workers}, connectionTerminationDeadline: 60s, logging: { accessLog: none } }
binds:
- port: 0
  listeners:
  - ${routes}
- port: 0
  listeners:
  - protocol: HTTPS
    tls: { cert: ${folder}/app.pem, key: ${folder}/app.key }
    ${routes}
`;
}

/** Everything that clients do at the same time: old and new connections, with TLS and without, and probes. */
function startTraffic(t: TestContext, gateway: GatewayProcess) {
  const sound = (status: number, body: string): boolean => status === 200 && body === 'at once';
  const secure = async (agent?: Agent): Promise<void> => {
    const { status, body } = await askSecurely(gateway.ports[1] ?? 0, 'app.test', {
      rejectUnauthorized: false,
      ...(agent && { agent }),
    });
    assert.ok(sound(status, body), `${status} ${body}`);
  };
  const kept = new Agent({ keepAlive: true, maxSockets: 2 });
  const loads: Readonly<Record<string, Load>> = {
    kept: startLoad(`${gateway.url}/`, 3, sound),
    fresh: repeat(3, async () => {
      const { status, body } = await ask(gateway.url);
      assert.ok(sound(status, body), `${status} ${body}`);
    }),
    keptSecure: repeat(2, () => secure(kept), kept),
    freshSecure: repeat(1, () => secure()),
    probes: repeat(1, async () => {
      const { status, body } = await ask(`${gateway.readiness}/readyz`);
      assert.equal(status, 200, body);
    }),
  };
  const all = Object.entries(loads);
  t.after(() => all.forEach(([, load]) => void load.stop()));
  return {
    /** Resolves when each kind was served some more. */
    async goesOn(): Promise<void> {
      const seen = new Map(all.map(([name, { served }]) => [name, served]));
      for (const [name, load] of all)
        await until(name, () => load.served > (seen.get(name) ?? 0) + 10 || load.failures.length > 0);
    },
    async stop(): Promise<void> {
      await Promise.all(all.map(([, load]) => load.stop()));
      assert.deepEqual(
        all.flatMap(([name, load]) => load.failures.map((failure) => `${name}: ${failure}`)),
        [],
      );
    },
  };
}

for (const workers of [1, 2])
  test(`two upgrades in a row under load with workers: ${workers} refuse and lose no request`, async (t) => {
    await using holder = await startHolder();
    await using gateway = await startGateway(secureConfig(folderOf(t), holder.port, workers));
    const traffic = startTraffic(t, gateway);
    await traffic.goesOn();
    const waiting = ask(`${gateway.url}/held`);
    await until('the held request', () => holder.held.length === 1);
    process.kill(gateway.pid, 'SIGUSR2');
    const second = await until('the new program', () => successors(gateway)[0]);
    await traffic.goesOn();
    // The old program ends the work that began with it.
    assert.ok(!isGone(gateway.pid));
    holder.release();
    assert.equal((await waiting).body, 'at last');
    await until('the end of the old one', () =>
      gateway.log().includes('Upgrade completed: the previous process has exited'),
    );
    await until('its process to be gone', () => isGone(gateway.pid));
    await traffic.goesOn();
    const third = await upgraded(gateway, second);
    await traffic.goesOn();
    await traffic.stop();
    assert.equal(await gateway.metric('portcullis_upgrades_total', { result: 'success' }), 2);
    assert.equal(await gateway.metric('portcullis_upgrades_total', { result: 'failure' }), 0);
    const { binds } = await gateway.configDump();
    assert.deepEqual(
      binds.map(({ port }) => port),
      gateway.ports,
    );
    await end(gateway, third);
  });

test('an upgrade takes another number of workers into use, more and fewer, under load', async (t) => {
  await using holder = await startHolder();
  const folder = folderOf(t);
  await using gateway = await startGateway(secureConfig(folder, holder.port, 1));
  const traffic = startTraffic(t, gateway);
  await traffic.goesOn();
  let { pid } = gateway;
  for (const workers of [2, 3, 1]) {
    gateway.rewrite(secureConfig(folder, holder.port, workers));
    pid = await upgraded(gateway, pid);
    await traffic.goesOn();
    const { body } = await ask(`${gateway.readiness}/readyz`);
    assert.equal((JSON.parse(body) as { workers: object[] }).workers.length, workers === 1 ? 0 : workers);
  }
  await traffic.stop();
  // No socket is left on which nobody accepts.
  for (let i = 0; i < 32; i++) assert.equal((await ask(gateway.url)).status, 200);
  await end(gateway, pid);
});

for (const workers of [1, 2])
  test(`a new program with workers: ${workers} has its keys from the start and refuses no request`, async () => {
    await using guarded = await startGuarded(startGateway, workers);
    const { gateway, statuses, held } = guarded;
    guarded.hold();
    process.kill(gateway.pid, 'SIGUSR2');
    await until('the new program to ask for the keys', () => held.length > 0);
    assert.deepEqual(await statuses(), new Set([200]));
    assert.deepEqual(successors(gateway), []);
    guarded.release();
    const next = await until('the new program', () => successors(gateway)[0]);
    assert.deepEqual(await statuses(), new Set([200]));
    await end(gateway, next);
  });

/** A gateway that was started by a link, which can be turned to another program. */
async function startLinked(t: TestContext, yaml: string) {
  const folder = folderOf(t);
  const link = join(folder, 'portcullis');
  const turn = (target: string): void => {
    symlinkSync(target, `${link}.next`);
    renameSync(`${link}.next`, link);
  };
  const program = (source: string): void => {
    const file = join(folder, `${Math.random()}.cjs`);
    writeFileSync(file, source);
    turn(file);
  };
  turn(launcher);
  const gateway = await startGateway(yaml, { program: link });
  return { gateway, folder, turn, program, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

const saying = (body: string, config = '{}'): string => `
config: ${config}
binds:
- port: 0
  listeners:
  - routes:
    - policies: { directResponse: { status: 200, body: ${body} } }
`;

test('a new version that does not start leaves everything as it was, and says why', async (t) => {
  await using linked = await startLinked(t, saying('hello'));
  const { gateway, turn, program } = linked;
  const load = startLoad(gateway.url, 2, (status) => status === 200);
  t.after(() => load.stop());
  const upgrade = () => run(['upgrade', '--admin', gateway.admin]);

  program('process.exit(7)');
  const crashed = await upgrade();
  assert.equal(crashed.code, 3);
  assert.match(crashed.err, /upgrade failed: the new process exited: exit code 7/);

  turn('/nowhere');
  assert.match((await upgrade()).err, /upgrade failed: the new process exited: exit code 1/);

  // The program is fine and the configuration is not.
  turn(launcher);
  gateway.rewrite(saying('broken', '{ workers: many }'));
  await until('the refusal', () => gateway.log().includes('Configuration rejected'));
  const refused = await upgrade();
  assert.equal(refused.code, 3);
  assert.match(refused.err, /upgrade failed: .*config\.yaml:2:\d+.*workers/);
  // A port that somebody else has is found out late, when the ports of the old program are open in the new one.
  const { port, close } = await listenOnLoopback(createServer());
  gateway.rewrite(`${saying('taken')}- port: ${port}\n  listeners: [{ routes: [] }]\n`);
  assert.match((await upgrade()).err, new RegExp(`upgrade failed: port ${port} cannot be bound: EADDRINUSE`));
  await close();

  await until('four lines', () => failures(gateway) >= 4);
  assert.equal(failures(gateway), 4);
  assert.equal(await gateway.metric('portcullis_upgrades_total', { result: 'failure' }), 4);
  assert.equal((await ask(`${gateway.readiness}/readyz`)).status, 200);
  gateway.rewrite(saying('mended'));
  const done = await upgrade();
  assert.equal(done.code, 0, done.err);
  const pid = Number(/process (\d+) serves/.exec(done.out)?.[1]);
  assert.equal((await ask(gateway.url)).body, 'mended');
  assert.equal(await gateway.metric('portcullis_upgrades_total', { result: 'failure' }), 4);
  await load.stop();
  assert.deepEqual(load.failures, []);
  await end(gateway, pid);
});

test('SIGTERM during an upgrade ends the old program and the new one', async (t) => {
  await using linked = await startLinked(t, saying('hello'));
  const { gateway, program, folder } = linked;
  program(`require('fs').writeFileSync(${inline(join(folder, 'started'))}, ''); setInterval(() => {}, 1000)`);
  gateway.signal('SIGUSR2');
  await until('the start of the new one', () => existsSync(join(folder, 'started')));
  // A second one does not begin meanwhile.
  assert.match((await run(['upgrade', '--admin', gateway.admin])).err, /another upgrade is in progress/);
  assert.equal(gateway.children().length, 1);
  await gateway.stop();
  await gateway.logged(/Upgrade failed.*the gateway was told to stop in the meantime/);
});

test('the file of the process id follows the upgrades, and goes with the last program', async (t) => {
  const folder = folderOf(t);
  const [file, pidFile] = [join(folder, 'config.yaml'), join(folder, 'pid')];
  writeFileSync(file, saying('hello'));
  await using gateway = await startGateway('', { args: ['run', '-f', file, '--pid-file', pidFile] });
  const read = (): number => Number(readFileSync(pidFile, 'utf8'));
  assert.equal(read(), gateway.pid);
  const told = await run(['upgrade', '--pid', String(gateway.pid)]);
  assert.equal(told.code, 0, told.err);
  const next = await until('the new program', () => successors(gateway)[0]);
  await until('the end of the old one', () =>
    gateway.log().includes('Upgrade completed: the previous process has exited'),
  );
  assert.equal(read(), next);
  // A reader of the log that stalls must stall the new program as little as the old one, whose end puts pipes back.
  const [, flags = ''] = /flags:\s+(\d+)/.exec(readFileSync(`/proc/${next}/fdinfo/2`, 'utf8')) ?? [];
  assert.equal(Number.parseInt(flags, 8) & 0o4000, 0o4000);
  await end(gateway, next);
  assert.equal(existsSync(pidFile), false);
});

test('an admin port that is a file is there again after each upgrade', async (t) => {
  const socket = `unix:${join(folderOf(t), 'admin.sock')}`;
  await using gateway = await startGateway(saying('hello', inline({ adminAddr: socket })), {
    env: { ADMIN_ADDR: socket },
  });
  let pid = 0;
  for (let i = 0; i < 2; i++) {
    const done = await until('the admin port', async () => {
      const tried = await run(['upgrade', '--admin', socket]);
      return /ENOENT|ECONNREFUSED/.test(tried.err) ? undefined : tried;
    });
    assert.equal(done.code, 0, done.err);
    pid = Number(/process (\d+) serves/.exec(done.out)?.[1]);
  }
  await end(gateway, pid);
});

test('datagrams are answered before, during and after an upgrade', async (t) => {
  const echo = createSocket('udp4');
  echo.on('message', (bytes, from) => echo.send(bytes, from.port, from.address));
  echo.bind(0, '127.0.0.1');
  await once(echo, 'listening');
  t.after(() => echo.close());
  const [port = 0] = await freePorts(1);
  const yaml = `
binds:
- port: ${port}
  address: 127.0.0.1
  listeners:
  - protocol: UDP
    udpRoutes: [{ backends: [{ host: '127.0.0.1:${(echo.address() as AddressInfo).port}' }] }]
`;
  await using gateway = await startGateway(yaml);
  // New clients all the time: the system deals them out to both programs while both are there.
  const answered = async (): Promise<void> => {
    const client = createSocket('udp4');
    client.send('hello', port, '127.0.0.1');
    const again = setInterval(() => client.send('hello', port, '127.0.0.1'), 500);
    const [bytes] = (await once(client, 'message')) as [Buffer];
    clearInterval(again);
    client.close();
    assert.equal(bytes.toString(), 'hello');
  };
  const load = repeat(2, answered);
  t.after(() => void load.stop());
  await until('answers', () => load.served > 10);
  const next = await upgraded(gateway, gateway.pid);
  const { served } = load;
  await until('answers of the new one', () => load.served > served + 10);
  await load.stop();
  assert.deepEqual(load.failures, []);
  // The port is open for other workers, but a second gateway is refused.
  await assert.rejects(startGateway(yaml), /EADDRINUSE/);
  await end(gateway, next);
});

test('a session of the old program is unknown to the new one, and its client begins anew', async () => {
  await using gateway = await startGateway(rogueAlone());
  const session = await openSession(gateway.url);
  await session.call('echo', { text: 'before' });
  const next = await upgraded(gateway, gateway.pid);
  const answer = await session.send('POST', { id: 9, method: 'tools/list' });
  assert.equal(answer.status, 404);
  await answer.text();
  const second = await openSession(gateway.url);
  await second.call('echo', { text: 'after' });
  assert.equal(gateway.children().filter(({ command }) => command.includes(rogue)).length, 1);
  await end(gateway, next);
});
