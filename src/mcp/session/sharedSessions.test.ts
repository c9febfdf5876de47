/** Sessions of gateways with one key and one store: what one gateway hears of the others. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import { RedisServer, withoutRedis } from '../../store/redisServer.testing.ts';
import { connectedStore } from '../../store/testStore.testing.ts';
import { until } from '../../until.testing.ts';
import {
  catalog,
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
} from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { startRemote } from '../remoteServer.testing.ts';

const program = stdioTarget({ stateless: true });

/** Two gateways that hear each other. */
async function stage(t: TestContext, backend: McpBackend) {
  const redis = await RedisServer.start();
  t.after(() => redis.close());
  const start = async (): Promise<Harness> => {
    const { store } = await connectedStore(t, redis);
    const made = await startHarness({ backend, runtime: { keyHolders: 'others', store } });
    t.after(() => made.close());
    return made;
  };
  const [here, there] = [await start(), await start()];
  const listeners = async (): Promise<unknown> =>
    (await redis.as((client) => client.pubsub('NUMSUB', 'test:mcp:peers')))[1];
  await until('both gateways listen', async () => (await listeners()) === 2);
  return { redis, here, there, listeners };
}

/** A client with a session at the first gateway. */
async function clientAt(gateway: Harness): Promise<RawClient> {
  const client = new RawClient(gateway.url);
  assert.equal((await client.initialize()).status, 200);
  return client;
}

/** The same client, as it comes to another gateway. */
function moved(client: RawClient, to: Harness): RawClient {
  const same = new RawClient(to.url);
  same.sessionId = client.sessionId;
  return same;
}

const statusOf = async (client: RawClient): Promise<number> =>
  (await client.post(client.request('tools/list'))).status;

describe('sessions of gateways with a store', { skip: withoutRedis }, () => {
  test('the servers that a gateway began for a session end when the session is ended at another gateway', async (t) => {
    const server = await startRemote(t);
    const backend = mcpBackend({ targets: [program, remoteTarget(server.url)] });
    const { here, there } = await stage(t, backend);
    const client = await clientAt(here);
    const same = moved(client, there);
    assert.equal(await same.call('fixture_echo', { text: 'there' }), 'there');
    assert.equal(await same.call('remote_echo', { text: 'there' }), 'there');
    assert.equal(server.sessions.size, 2);
    assert.equal(await same.delete(), 204);
    await until('the first gateway has heard of it', () => here.runtime.view().sessions.length === 0);
    await until('its child has ended', () => here.runtime.view().children === 0);
    await until('its session at the server has ended', () => server.sessions.size === 0);
  });

  test('a session that is ended while another gateway begins it anew does not go on there', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-shared-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const gate = join(folder, 'gate');
    const slow = catalog({ name: 'slow', waitsFor: { method: 'initialize', file: gate } });
    const { here, there } = await stage(t, mcpBackend({ targets: [{ ...slow, stateless: true }] }));
    writeFileSync(gate, '');
    const client = await clientAt(here);
    rmSync(gate);
    const same = moved(client, there);
    const beginning = statusOf(same);
    await until('the program starts there', () => there.runtime.view().children === 1);
    assert.equal(await client.delete(), 204);
    writeFileSync(gate, '');
    await beginning;
    await until('the session is over', async () => (await statusOf(same)) === 404);
    await until('its child has ended', () => there.runtime.view().children === 0);
  });

  test('a gateway that could not hear the others for a moment finds out which sessions have ended', async (t) => {
    const { redis, here, there, listeners } = await stage(t, mcpBackend({ targets: [program] }));
    const client = await clientAt(here);
    here.runtime.tick();
    const same = moved(client, there);
    assert.equal(await statusOf(same), 200);
    await redis.as((operator) => operator.client('KILL', 'TYPE', 'PUBSUB'));
    assert.equal(await same.delete(), 204);
    await until('both gateways listen again', async () => (await listeners()) === 2);
    await until('the session is over', () => {
      here.runtime.tick();
      return here.runtime.view().sessions.length === 0;
    });
  });
});
