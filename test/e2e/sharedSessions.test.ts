/** Sessions of several gateways with a shared store: calls that are taken back, and sessions that end, elsewhere. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawClient } from '../../src/mcp/rawClient.testing.ts';
import { withoutRedis } from '../../src/store/redisServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import { addSteps, beginSteps, sharedStage } from './sharedSessions.testing.ts';

const cancel = (client: RawClient, requestId: unknown): Promise<{ readonly status: number }> =>
  client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'enough' } });

const pingStatus = async (client: RawClient): Promise<number> =>
  (await client.post(client.request('ping'))).status;

const connected = async (gateway: GatewayProcess): Promise<boolean> =>
  (await gateway.metric('portcullis_store_connected')) === 1;

describe('sessions of gateways with a store', { skip: withoutRedis }, () => {
  test('a cancellation reaches the call of its session at another gateway, and no other call', async (t) => {
    const { server, start, clientAt } = await sharedStage(t);
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    // The first request of each session after initialize has the same id.
    const events = await beginSteps(client);
    const requestId = 2;
    const stolen = await clientAt(there, 'carol', client.sessionId);
    assert.equal((await cancel(stolen, requestId)).status, 404);
    for (const user of ['alice', 'carol']) {
      const other = await clientAt(there, user);
      await other.initialize();
      assert.equal((await cancel(other, requestId)).status, 202);
      const elsewhere = await clientAt(here, user, other.sessionId);
      assert.equal(await elsewhere.call('echo', { text: 'a call of its own' }), 'a call of its own');
    }
    await until(
      'the cancellations were passed on',
      async () => (await there.metric('portcullis_mcp_peer_messages_total', { outcome: 'sent' })) === 2,
    );
    assert.deepEqual(server.of('notifications/cancelled'), []);
    assert.equal((await cancel(await clientAt(there, 'alice', client.sessionId), requestId)).status, 202);
    const told = await until('the server is told', () => server.of('notifications/cancelled').at(0));
    assert.equal(told.message.params?.['requestId'], steps.calls[0]!.id);
    assert.equal(told.headers['mcp-session-id'], steps.calls[0]!.seen.headers['mcp-session-id']);
    assert.equal(await events.next(), undefined, 'the stream of the call has ended');
  });

  test('a session that was ended at one gateway is over at all, though its server does not say so', async (t) => {
    const { server, start, clientAt } = await sharedStage(t);
    server.stateful = false;
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await pingStatus(same), 200);
    assert.equal(await same.delete(), 204);
    await until('the first gateway has heard of it', async () => (await pingStatus(client)) === 404);
    const third = await start();
    assert.equal(await pingStatus(await clientAt(third, 'alice', client.sessionId)), 404);
  });

  test('the end of a session that the store missed reaches all gateways when the store is back', async (t) => {
    const { server, redis, start, clientAt } = await sharedStage(t);
    server.stateful = false;
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await pingStatus(same), 200);
    await redis.kill();
    for (const gateway of [here, there]) await until('the loss', async () => !(await connected(gateway)));
    assert.equal(await same.delete(), 204);
    assert.equal(await pingStatus(same), 404);
    assert.equal(await pingStatus(client), 200);
    await redis.restart();
    await until('the first gateway has heard of it', async () => (await pingStatus(client)) === 404);
  });
});
