/** The store on a real `redis-server`, with the faults that it may have. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { RedisServer, withoutRedis } from './redisServer.testing.ts';
import { storeAt } from './testStore.testing.ts';
import type { StoreSettings } from '../model/index.ts';
import { certificate } from '../proxy/certificates.testing.ts';
import { until } from '../until.testing.ts';
import { script, StoreError, type Store } from './index.ts';

const put = script('pins', `redis.call('SET', KEYS[1], ARGV[1]); return redis.call('GET', KEYS[1])`);

const answerMs = 200;

function hurriedStore(t: TestContext, port: number, settings: Partial<StoreSettings> = {}) {
  const { store, metrics, lines } = storeAt(t, port, { commandTimeoutMs: answerMs, ...settings });
  return {
    store,
    metrics,
    reasons: () =>
      lines.flatMap(({ level, fields }) => (level === 'error' ? [String(fields['reason'])] : [])),
  };
}

async function serverOf(t: TestContext, args?: readonly string[], tls?: boolean): Promise<RedisServer> {
  const server = await RedisServer.start(args, tls);
  t.after(() => server.close());
  return server;
}

const folderOf = (t: TestContext): string => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-store-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
};

const connected = (store: Store): Promise<true> =>
  until('the store is connected', () => store.connection > 0 || undefined);

/** The reason of a failure, and how long it took in milliseconds. */
async function failure(store: Store): Promise<{ readonly reason: string; readonly ms: number }> {
  const began = performance.now();
  try {
    await store.run(put, ['a'], ['x']);
  } catch (error) {
    assert.ok(error instanceof StoreError);
    return { reason: error.message, ms: performance.now() - began };
  }
  throw new Error('it did not fail');
}

describe('the store on a server of Redis', { skip: withoutRedis }, () => {
  test('scripts run on keys with the prefix, and are counted', async (t) => {
    const server = await serverOf(t);
    const { store, metrics } = hurriedStore(t, server.port, { database: 3 });
    await store.tried();
    assert.equal(await store.run(put, ['a'], ['one']), 'one');
    assert.equal(await store.run(put, ['a'], ['two']), 'two');
    assert.equal(await server.as((redis) => redis.get('test:a'), 3), 'two');
    const text = await metrics.expose();
    assert.match(text, /store_commands_total\{use="pins",outcome="ok"\} 2/);
    assert.match(text, /store_connected 1/);
  });

  test('the scripts of a connection run in the order of their calls, whether or not the server knows them', async (t) => {
    const server = await serverOf(t);
    const { store } = hurriedStore(t, server.port);
    await store.tried();
    await store.run(put, ['a'], ['one']);
    const add = script('pins', `return redis.call('APPEND', KEYS[1], ARGV[1])`);
    const get = script('pins', `return redis.call('GET', KEYS[1])`);
    const added = store.run(add, ['a'], ['!']);
    void store.run(put, ['a'], ['two']);
    assert.deepEqual(await Promise.all([added, store.run(get, ['a'], [])]), [4, 'two']);
    await server.as((redis) => redis.script('FLUSH'));
    assert.equal(await store.run(get, ['a'], []), 'two');
  });

  test('a server that is down at the start fails every script at once, and is used when it comes up', async (t) => {
    const server = await RedisServer.prepare();
    t.after(() => server.close());
    const { store, reasons } = hurriedStore(t, server.port);
    await store.tried();
    const { reason, ms } = await failure(store);
    assert.equal(reason, 'not connected to the store');
    assert.ok(ms < answerMs, `${ms} ms`);
    assert.match(reasons().join(), /ECONNREFUSED/);
    await server.restart();
    await connected(store);
    assert.equal(await store.run(put, ['a'], ['x']), 'x');
  });

  test('a server that was killed and came back empty gets the scripts again, on a new connection', async (t) => {
    const server = await serverOf(t);
    const { store, reasons } = hurriedStore(t, server.port);
    await store.tried();
    assert.equal(await store.run(put, ['a'], ['x']), 'x');
    assert.equal(store.connection, 1);
    await server.kill();
    await until('the loss is noticed', () => store.connection === 0);
    await failure(store);
    await server.restart();
    await connected(store);
    assert.ok(store.connection > 1);
    assert.equal(await store.run(put, ['a'], ['y']), 'y');
    assert.ok(reasons().includes('the connection ended'));
  });

  test('a server that does not answer costs one time-out, and the scripts after it none', async (t) => {
    const server = await serverOf(t);
    const { store, metrics } = hurriedStore(t, server.port);
    await store.tried();
    server.stall();
    t.after(() => server.goOn());
    const all = await Promise.all([failure(store), failure(store)]);
    for (const { ms } of all) assert.ok(ms >= answerMs / 2 && ms < 20 * answerMs, `${ms} ms`);
    const { reason, ms } = await failure(store);
    assert.equal(reason, 'not connected to the store');
    assert.ok(ms < answerMs, `${ms} ms`);
    assert.match(await metrics.expose(), /store_commands_total\{use="pins",outcome="timeout"\} [12]/);
    server.goOn();
    await connected(store);
    assert.equal(await store.run(put, ['a'], ['x']), 'x');
  });

  test('a full server refuses a script that writes, and stays connected', async (t) => {
    const server = await serverOf(t, ['--maxmemory-policy', 'noeviction']);
    const { store } = hurriedStore(t, server.port);
    await store.tried();
    await store.run(put, ['a'], ['x']);
    await server.as((redis) => redis.config('SET', 'maxmemory', '1'));
    assert.match((await failure(store)).reason, /OOM/);
    assert.equal(store.connection, 1);
    await server.as((redis) => redis.config('SET', 'maxmemory', '0'));
    assert.equal(await store.run(put, ['a'], ['y']), 'y');
  });

  test('a server that became a replica is left for a new connection', async (t) => {
    const server = await serverOf(t);
    const { store, reasons } = hurriedStore(t, server.port);
    await store.tried();
    await server.as((redis) => redis.replicaof('127.0.0.1', 1));
    assert.match((await failure(store)).reason, /READONLY/);
    assert.match(reasons().join(), /READONLY/);
    await server.as((redis) => redis.replicaof('NO', 'ONE'));
    await until('it is used again', async () => {
      await connected(store);
      return (await store.run(put, ['a'], ['x'])) === 'x';
    });
  });

  test('user and password come from files, and a changed password is used without a restart', async (t) => {
    const folder = folderOf(t);
    const [user, password] = [join(folder, 'user'), join(folder, 'password')];
    writeFileSync(user, 'gateway\n');
    writeFileSync(password, 'wrong-password\n');
    const server = await serverOf(t, [
      '--user',
      'gateway',
      'on',
      '>first-password',
      '~test:*',
      '+@all',
      '-@dangerous',
    ]);
    const { store, reasons } = hurriedStore(t, server.port, {
      username: { kind: 'file', file: user },
      password: { kind: 'file', file: password },
    });
    await store.tried();
    assert.equal(store.connection, 0);
    assert.match(reasons().join(), /WRONGPASS/);
    assert.doesNotMatch(reasons().join(), /wrong-password/);
    writeFileSync(password, 'first-password\n');
    await connected(store);
    assert.equal(await store.run(put, ['a'], ['x']), 'x');
    await server.as((redis) => redis.acl('SETUSER', 'gateway', 'resetpass', '>second-password'));
    writeFileSync(password, 'second-password\n');
    await until('the new password is used', () => store.connection > 1 || undefined);
    assert.equal(await store.run(put, ['a'], ['y']), 'y');
  });

  test('TLS works with a client certificate, and only with the server that is trusted', async (t) => {
    const folder = folderOf(t);
    const authority = { ...certificate({ name: 'ca', authority: true }), name: 'ca' };
    const files: Record<string, string> = {};
    const write = (name: string, text: string): void => {
      files[name] = join(folder, name);
      writeFileSync(files[name], text);
    };
    write('ca', authority.cert);
    for (const name of ['server', 'client']) {
      const { cert, key } = certificate({ by: authority, name, names: ['redis.example.com'] });
      write(`${name}.crt`, cert);
      write(`${name}.key`, key);
    }
    const file = (name: string) => ({ file: files[name]! });
    const server = await serverOf(
      t,
      [
        '--tls-cert-file',
        files['server.crt']!,
        '--tls-key-file',
        files['server.key']!,
        '--tls-ca-cert-file',
        files['ca']!,
      ],
      true,
    );
    const tls = { hostname: 'redis.example.com', root: file('ca') };
    const client = { cert: file('client.crt'), key: file('client.key') };
    const { store } = hurriedStore(t, server.port, { tls: { ...tls, client } });
    await store.tried();
    assert.equal(await store.run(put, ['a'], ['x']), 'x');
    for (const wrong of [tls, { client }, { ...tls, client, hostname: 'other.example.com' }]) {
      const other = hurriedStore(t, server.port, { tls: wrong });
      await other.store.tried();
      assert.equal(other.store.connection, 0);
      assert.match(other.reasons().join(), /certificate|altnames|closed|socket/i);
    }
  });
});
