/** Streams that a client resumes at another gateway with `Last-Event-ID`, by way of the shared store. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RawClient } from '../../src/mcp/rawClient.testing.ts';
import { withoutRedis } from '../../src/store/redisServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import {
  addSteps,
  beginSteps,
  kill,
  lost,
  progressOf,
  sharedStage,
  written,
} from './sharedSessions.testing.ts';

const storedEvents = (gateway: GatewayProcess, count: number): Promise<unknown> =>
  until(`${count} stored events`, async () => (await written(gateway)) >= count);

/** The id of the first event of the stream that this id is of. */
const firstOf = (lastId: string): string => lastId.replace(/-\d+$/, '-1');

const resumeStatus = async ({ url }: GatewayProcess, client: RawClient, lastId: string): Promise<number> => {
  const response = await fetch(`${url}/mcp`, {
    headers: client.headers({ accept: 'text/event-stream', 'last-event-id': lastId }),
  });
  await response.body?.cancel();
  return response.status;
};

describe('streams of gateways with a store', { skip: withoutRedis }, () => {
  test('a client gets the events and the response that a killed gateway has written', async (t) => {
    const { server, redis, start, clientAt } = await sharedStage(t);
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const events = await beginSteps(client);
    const first = firstOf(events.lastId);
    await events.cancel();
    steps.release('a secret result');
    await storedEvents(here, 3);
    await kill(here);
    const same = await clientAt(there, 'alice', client.sessionId);
    const resumed = await (await same.get({ 'last-event-id': first })).rest();
    assert.deepEqual(progressOf(resumed), [2]);
    assert.match(JSON.stringify(resumed.at(-1)?.result), /a secret result/);
    assert.equal(resumed.length, 2);
    // The client has everything now.
    assert.equal(await resumeStatus(there, same, firstOf(first).replace(/-1$/, '-3')), 204);
    assert.equal(await there.metric('portcullis_mcp_stream_resumptions_total', { outcome: 'found' }), 2);

    const stored = await redis.as(async (one) => {
      const texts: string[] = [];
      for (const name of await one.keys('*')) {
        texts.push(name);
        const type = await one.type(name);
        if (type === 'list') texts.push(...(await one.lrange(name, 0, -1)));
        else if (type === 'hash') texts.push(...Object.values(await one.hgetall(name)));
        else if (type === 'zset') texts.push(...(await one.zrange(name, '0', '-1')));
        if (type !== 'string') assert.ok((await one.pttl(name)) > 0, `${name} expires`);
      }
      return texts.join('\n');
    });
    assert.match(stored, /mcp:events:/);
    assert.doesNotMatch(stored, /secret|progress|alice|jsonrpc/);
  });

  test('a client follows a call at another gateway while the first one goes on with it', async (t) => {
    const { server, start, clientAt } = await sharedStage(t);
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const events = await beginSteps(client);
    const first = firstOf(events.lastId);
    await events.cancel();
    const resumed = await (await clientAt(there, 'alice', client.sessionId)).get({ 'last-event-id': first });
    assert.equal((await resumed.next())?.params?.['progress'], 2);
    steps.release('done at last');
    assert.match(JSON.stringify((await resumed.next())?.result), /done at last/);
    assert.equal(await resumed.next(), undefined, 'with its response the stream is over');
  });

  test('a call in flight at a killed gateway fails at the next one instead of hanging', async (t) => {
    const { server, start, clientAt } = await sharedStage(t);
    addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const events = await beginSteps(client);
    await storedEvents(here, 2);
    await kill(here);
    const same = await clientAt(there, 'alice', client.sessionId);
    const resumed = await (await same.get({ 'last-event-id': firstOf(events.lastId) })).rest();
    assert.deepEqual(progressOf(resumed), [2]);
    const answer = resumed.at(-1);
    assert.equal(answer?.error?.message, 'call lost: its gateway ended');
    assert.equal(typeof answer?.id, 'number');
    // The session itself goes on.
    assert.equal(await same.call('echo', { text: 'still here' }), 'still here');
  });

  test('events are for their owner alone, whatever session and event another caller names', async (t) => {
    const { server, start, clientAt } = await sharedStage(t);
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const events = await beginSteps(client);
    const first = firstOf(events.lastId);
    await events.cancel();
    steps.release('for alice');
    await storedEvents(here, 3);
    // The stolen id of a session is worth nothing without a token of its owner.
    assert.equal(await resumeStatus(there, await clientAt(there, 'carol', client.sessionId), first), 404);
    assert.equal(await resumeStatus(there, await clientAt(there, 'bob', client.sessionId), first), 403);
    // The id of an event is worth nothing in another session, even of the same user.
    for (const user of ['carol', 'alice']) {
      const other = await clientAt(here, user);
      await other.initialize();
      const elsewhere = await clientAt(there, user, other.sessionId);
      const leave = new AbortController();
      const stream = await elsewhere.get({ 'last-event-id': first }, leave.signal);
      assert.equal((await stream.nextBlock())?.trim(), ': open');
      leave.abort();
    }
    assert.equal(
      await there.metric('portcullis_mcp_stream_resumptions_total', { outcome: 'found' }),
      undefined,
    );
    assert.equal(await there.metric('portcullis_mcp_stream_resumptions_total', { outcome: 'unknown' }), 2);
  });
});

describe('a store that fails under the streams of gateways', { skip: withoutRedis }, () => {
  test('a lost store stops no call, and a client that resumes elsewhere is told to come back', async (t) => {
    const { server, redis, start, clientAt } = await sharedStage(t);
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await same.call('echo', { text: 'held there' }), 'held there');
    const events = await beginSteps(client);
    await storedEvents(here, 2);
    await redis.kill();
    await until('the loss is noticed', async () => (await here.metric('portcullis_store_connected')) === 0);
    steps.release('never stored');
    assert.match(JSON.stringify((await events.next())?.result), /never stored/);
    assert.equal(await lost(here), 1);
    assert.equal(await resumeStatus(there, same, firstOf(events.lastId)), 503);
    // Restarted empty, the store knows nothing of the stream: a new one begins.
    await redis.restart();
    await until('it is back', async () => (await there.metric('portcullis_store_connected')) === 1);
    assert.equal(await resumeStatus(there, same, firstOf(events.lastId)), 200);
    assert.equal(
      await there.metric('portcullis_mcp_stream_resumptions_total', { outcome: 'unavailable' }),
      1,
    );
    assert.equal(await there.metric('portcullis_mcp_stream_resumptions_total', { outcome: 'unknown' }), 1);
  });

  test('a store that hangs holds up no call, and a client that resumes elsewhere for its time-out only', async (t) => {
    const { server, redis, start, clientAt } = await sharedStage(t);
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await same.call('echo', { text: 'held there' }), 'held there');
    const events = await beginSteps(client);
    await storedEvents(here, 2);
    redis.stall();
    t.after(() => redis.goOn());
    steps.release('while it hangs');
    assert.match(JSON.stringify((await events.next())?.result), /while it hangs/);
    assert.equal(await resumeStatus(there, same, firstOf(events.lastId)), 503);
    redis.goOn();
    await until('it is back', async () => (await there.metric('portcullis_store_connected')) === 1);
    assert.equal(await resumeStatus(there, same, firstOf(events.lastId)), 200);
  });

  test('a full store loses events and no call', async (t) => {
    const { server, redis, start, clientAt } = await sharedStage(t, {
      redis: ['--maxmemory-policy', 'noeviction'],
    });
    const steps = addSteps(server);
    const [here, there] = await Promise.all([start(), start()]);
    const client = await clientAt(here, 'alice');
    await client.initialize();
    await redis.as((one) => one.config('SET', 'maxmemory', '1'));
    const events = await beginSteps(client);
    steps.release('not stored');
    assert.match(JSON.stringify((await events.next())?.result), /not stored/);
    await until('the loss is counted', async () => (await lost(here)) === 3);
    await here.logged(/Events not stored.*OOM/);
    const same = await clientAt(there, 'alice', client.sessionId);
    assert.equal(await resumeStatus(there, same, firstOf(events.lastId)), 200);
    assert.equal(await there.metric('portcullis_mcp_stream_resumptions_total', { outcome: 'unknown' }), 1);
  });
});
