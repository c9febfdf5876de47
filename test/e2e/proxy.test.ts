/** `portcullis proxy`, with a controller's end in this process. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { join } from 'node:path';
import { test } from 'node:test';
import { Program } from '../../src/cli/program.testing.ts';
import type { HttpListener } from '../../src/model/index.ts';
import { modelWith, place, routeNamed } from '../../src/stream/model.testing.ts';
import { RedisServer, withoutRedis } from '../../src/store/redisServer.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { browserOf, newLink, operatorOf } from './adminApi.testing.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { app, move, on, say, stage, synchronized } from './proxy.testing.ts';
import { until } from '../../src/until.testing.ts';

const problems = async (gateway: GatewayProcess): Promise<readonly string[]> =>
  (await gateway.configDump()).config.problems;

test('the console of a proxy shows the model of its controller, and edits nothing', async (t) => {
  const { controller, start } = await stage(t);
  const [port = 0] = await freePorts(1);
  say(controller, on(port, modelWith([routeNamed('a', '/')])), [await app(t, 'one')]);
  await using gateway = await start('--admin=127.0.0.1:0');
  await until('it to be in use', () => synchronized(gateway));
  const viewer = await browserOf(gateway, await newLink(gateway, 'viewer'));
  const routes = (await viewer.ask('GET', '/api/v1/routes')).json as { id: string; path: string }[];
  assert.deepEqual(
    routes.map(({ path }) => path),
    ['/'],
  );
  const status = (await viewer.ask('GET', '/api/v1/status')).json as { config: { source: string } };
  assert.equal(status.config.source, 'Gateway ns/gw');
  const operator = operatorOf(gateway);
  const config = (await operator('GET', '/api/v1/config')).json as Record<string, string | boolean>;
  assert.deepEqual(
    [config['writable'], config['whyReadOnly']],
    [false, 'the controller of the cluster sends the configuration'],
  );
  const edit = { text: 'config: { storage: { mode: file } }' };
  const tag = { 'if-match': String(config['etag']) };
  assert.equal((await operator('PUT', '/api/v1/config', edit, tag)).status, 403);
  assert.equal((await viewer.ask('PUT', '/api/v1/config', edit, tag)).status, 403);
});

test('a proxy serves the model of its controller, follows changes, and disconnects cleanly', async (t) => {
  const { controller, start } = await stage(t);
  const [one, two] = [await app(t, 'one'), await app(t, 'two')];
  const [port = 0] = await freePorts(1);
  say(controller, on(port, modelWith([routeNamed('a', '/')])), [one]);
  await using gateway = await start('--log-level=debug');
  const url = `http://127.0.0.1:${String(port)}/`;
  assert.equal((await ask(url)).body, 'one');
  await until('it to be in use', () => synchronized(gateway));
  assert.deepEqual(await problems(gateway), []);
  assert.equal(await gateway.metric('portcullis_stream_connected'), 1);

  move(controller, 'a', [two]);
  await until('the other address', async () => (await ask(url)).body === 'two');
  await until('the line', () => gateway.log().includes('Addresses updated lists=1'));
  assert.equal(gateway.log().match(/Configuration loaded/g), null);

  say(controller, on(port, modelWith([routeNamed('a', '/only')])), [two]);
  await until('the other route', async () => (await ask(url)).status === 404);
  assert.equal((await ask(`${url}only`)).body, 'two');

  await until('the controller to know', () => controller.server.proxies[0]?.current);
  await gateway.stop();
  await until('the controller to know', () => controller.server.proxies.length === 0);
});

test('a port that cannot be bound is told and closes nothing else, and later models come into use', async (t) => {
  const { controller, start } = await stage(t);
  const one = await app(t, 'one');
  const [port = 0] = await freePorts(1);
  say(controller, on(port, modelWith([routeNamed('a', '/')])), [one]);
  await using gateway = await start();
  for (const name of ['a', 'b']) {
    const model = on(port, modelWith([routeNamed(name, '/')]));
    const binds = [...model.binds, ...on(one.port, modelWith([])).binds];
    say(controller, { ...model, binds }, [one]);
    await until('it to be taken', () => controller.server.proxies[0]?.current);
    await until('it to be in use', () => synchronized(gateway));
    assert.equal((await ask(`http://127.0.0.1:${String(port)}/`)).body, 'one');
    const [view] = controller.server.proxies;
    assert.deepEqual(
      view?.closed.map((closed) => [closed.port, closed.protocol]),
      [[one.port, 'TCP']],
    );
    assert.match(view?.closed[0]?.problem ?? '', /EADDRINUSE/);
  }
  const details = await (await fetch(`${gateway.admin}/readyz`)).text();
  assert.match(details, /EADDRINUSE/);
  assert.equal(await gateway.metric('portcullis_ready'), 1);
});

test('a proxy without a model is alive and not ready, and is ready as soon as there is one', async (t) => {
  const { controller, flags } = await stage(t);
  controller.server.publish(new Map(), new Map());
  const program = new Program(flags('--admin=127.0.0.1:0', '--stats=off', '--readiness=127.0.0.1:0'));
  t.after(() => program.child.kill('SIGKILL'));
  const [, admin = '', readiness = ''] = await program.saw(
    /waiting for a model.* admin=(\S+) .*readiness=(\S+)/,
  );
  const status = async (path: string): Promise<number> => (await fetch(`${readiness}${path}`)).status;
  assert.deepEqual([await status('/healthz/live'), await status('/healthz/ready')], [200, 503]);
  await until('the reason', async () => {
    const { config } = (await (await fetch(`${admin}/readyz`)).json()) as {
      config: { problems: readonly string[]; stream: { connected: boolean } };
    };
    return config.stream.connected && config.problems[0] === 'this Gateway is not there, or is not accepted';
  });
  // A client that may reach the readiness port need not be allowed to know.
  assert.deepEqual(await (await fetch(`${readiness}/readyz`)).json(), { readiness: 'starting' });
  say(controller, modelWith([]), []);
  await until('readiness', async () => (await status('/healthz/ready')) === 200);
  program.child.kill('SIGTERM');
  assert.equal((await program.ended).code, 0);
});

test('a proxy that starts while no controller is there serves with the model of the last time, its keys sealed', async (t) => {
  const { folder, controller, start, flags } = await stage(t);
  const one = await app(t, 'one');
  const [port = 0, secure = 0] = await freePorts(2);
  const { cert, key } = folder.ca.issue({ names: ['www.example.com'] });
  const plain = on(port, modelWith([routeNamed('a', '/')]));
  const tls = {
    cert: { inline: cert },
    key: { inline: key },
    ciphers: [],
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
  };
  const more = { protocol: 'HTTPS', tls } as unknown as Partial<HttpListener>;
  say(controller, { ...plain, binds: [...plain.binds, ...on(secure, modelWith([], more)).binds] }, [one]);
  const cache = join(folder.path, 'cache');
  const keeping = [`--cache=${cache}`, `--cache-key-file=${folder.write('key', randomBytes(32))}`];
  const first = await start(...keeping);
  await first.stop();
  const kept = readFileSync(join(cache, 'model.portcullis'));
  assert.equal(kept.includes('PRIVATE KEY'), false);

  await controller.server.close();
  const second = await start(...keeping);
  assert.equal((await ask(`http://127.0.0.1:${String(port)}/`)).body, 'one');
  const socket = connectTls({
    port: secure,
    host: '127.0.0.1',
    ca: folder.ca.cert,
    servername: 'www.example.com',
  });
  await once(socket, 'secureConnect');
  socket.destroy();
  assert.equal(await second.metric('portcullis_config_synchronized'), 0);
  assert.equal(await second.metric('portcullis_stream_model_info', { cached: 'true' }), 1);
  await until('the refused connection', async () => /ECONNREFUSED/.test((await problems(second)).join()));
  await second.stop();

  // A cache that was damaged meanwhile is not served.
  kept.writeUInt8(kept.readUInt8(kept.length - 100) ^ 1, kept.length - 100);
  writeFileSync(join(cache, 'model.portcullis'), kept);
  const third = new Program(flags(...keeping, '--admin=off', '--stats=off', '--readiness=127.0.0.1:0'));
  t.after(() => third.child.kill('SIGKILL'));
  await third.saw(/Cached model ignored/);
  const [, readiness = ''] = await third.saw(/waiting for a model.* readiness=(\S+)/);
  assert.equal((await fetch(`${readiness}/healthz/ready`)).status, 503);
  third.child.kill('SIGTERM');
  assert.equal((await third.ended).code, 0);
});

test('several workers take models and addresses alike, those that start later, too', async (t) => {
  const { controller, start } = await stage(t);
  const [one, two] = [await app(t, 'one'), await app(t, 'two')];
  const [port = 0] = await freePorts(1);
  say(controller, on(port, modelWith([routeNamed('a', '/')])), [one]);
  await using gateway = await start('--workers=2');
  const bodies = async (): Promise<string> => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => ask(`http://127.0.0.1:${String(port)}/`)),
    );
    return [...new Set(answers.map(({ body }) => body))].join();
  };
  assert.equal(await bodies(), 'one');
  move(controller, 'a', [two]);
  await until('both', async () => (await bodies()) === 'two');
  const workers = async () =>
    (
      (await (await fetch(`${gateway.admin}/readyz`)).json()) as {
        workers: { pid?: number; state: string }[];
      }
    ).workers;
  const [first] = await workers();
  process.kill(first?.pid ?? Number.NaN, 'SIGKILL');
  await until('its successor', async () => {
    const [next] = await workers();
    return next?.pid !== first?.pid && next?.state === 'serving';
  });
  assert.equal(await bodies(), 'two');
});

test('an unsafe cache folder is an error at the start', async (t) => {
  const { folder, flags } = await stage(t);
  const short = folder.write('short', 'x');
  const program = new Program(
    flags(
      `--cache=${join(folder.path, 'cache')}`,
      `--cache-key-file=${short}`,
      '--admin=off',
      '--stats=off',
      '--readiness=off',
    ),
  );
  const { code, err } = await program.ended;
  assert.equal(code, 3);
  assert.match(err, /shorter than 32 bytes/);
});

test(
  'a proxy continues the shared limit of another one, in a store that wants the password of a mounted Secret',
  { skip: withoutRedis },
  async (t) => {
    const redis = await RedisServer.start([
      // A key without the prefix would be refused.
      ...['--user', 'default', 'on', '>of-the-store', '~east:ns/gw:*', '&east:ns/gw:*', '+@all'],
    ]);
    t.after(() => redis.close());
    const { folder, controller, start } = await stage(t);
    const one = await app(t, 'one');
    const [port = 0] = await freePorts(1);
    const files = join(folder.path, 'store');
    mkdirSync(files);
    writeFileSync(join(files, 'password'), 'of-the-store\n');
    const limit = { maxTokens: 2, tokensPerFill: 1, fillInterval: 3_600_000, maxKeys: 1, scope: 'global' };
    const policies = [
      { name: 'localRateLimit', settings: { limits: [limit] }, place, guarded: true as const },
    ];
    say(controller, on(port, modelWith([{ ...routeNamed('a', '/'), policies }])), [one]);
    const startWithStore = async (): Promise<GatewayProcess> => {
      const gateway = await start(
        `--store=redis://127.0.0.1:${String(redis.port)}`,
        '--store-prefix=east:ns/gw:',
        `--store-files=${files}`,
      );
      await until('the model to be in use', () => synchronized(gateway));
      assert.equal(await gateway.metric('portcullis_store_connected'), 1);
      return gateway;
    };
    const status = async (): Promise<number> => (await ask(`http://127.0.0.1:${String(port)}/`)).status;

    await using first = await startWithStore();
    assert.equal(await status(), 200);
    await first.stop();
    await using second = await startWithStore();
    assert.deepEqual([await status(), await status()], [200, 429], second.log());
  },
);
