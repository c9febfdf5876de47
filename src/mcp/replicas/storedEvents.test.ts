/** The events of sessions on a real `redis-server`. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test, type TestContext } from 'node:test';
import { RedisServer, withoutRedis } from '../../store/redisServer.testing.ts';
import { connectedStore } from '../../store/testStore.testing.ts';
import { until } from '../../until.testing.ts';
import { StoredEvents, type SessionEvents } from './storedEvents.ts';

async function stage(t: TestContext) {
  const server = await RedisServer.start();
  t.after(() => server.close());
  const { store, log } = await connectedStore(t, server);
  const counts = { written: 0, lost: 0 };
  const all = (owner: string): StoredEvents => {
    const made = new StoredEvents({
      store,
      owner,
      ageMs: 60_000,
      log,
      onWritten: (outcome, count) => void (counts[outcome] += count),
    });
    t.after(() => made.close());
    return made;
  };
  const events = all('one');
  const session = (name = 'a', key = Buffer.alloc(32, name), holder = 'h'): SessionEvents =>
    events.of({ name, holder, key });
  return { server, store, counts, events, session, all };
}

const settled = ({ counts }: { readonly counts: { written: number; lost: number } }, count: number) =>
  until(`${count} events settled`, () => counts.written + counts.lost >= count || undefined);

const numbers = async (session: SessionEvents, stream = 1): Promise<unknown> =>
  (await session.read(stream, 0))?.events.map(({ seq }) => seq);

describe('events in a store', { skip: withoutRedis }, () => {
  test('another process reads a stream, its requests and its end', async (t) => {
    const x = await stage(t);
    const session = x.session();
    session.opened(1, '["7"]');
    session.wrote(1, 1, 'first');
    await settled(x, 1);
    assert.deepEqual(await session.read(1, 0), {
      requests: '["7"]',
      alive: true,
      last: undefined,
      events: [{ seq: 1, text: 'first' }],
    });
    session.wrote(1, 2, 'second €');
    session.finished(1, 2);
    await settled(x, 2);
    const found = await x
      .all('two')
      .of({ name: 'a', holder: 'h', key: Buffer.alloc(32, 'a') })
      .read(1, 1);
    assert.deepEqual(found?.events, [{ seq: 2, text: 'second €' }]);
    assert.equal(found.last, 2);
    assert.equal(await session.read(2, 0), undefined);
    await x.events.close();
    assert.equal((await session.read(1, 0))?.alive, false, 'a process that ended is dead at once');
  });

  test('a stream opens with the key of its session only, and an event at its own place only', async (t) => {
    const x = await stage(t);
    const session = x.session();
    session.opened(1, '[]');
    session.wrote(1, 1, 'first');
    session.wrote(1, 2, 'second');
    await settled(x, 2);
    assert.equal(await x.session('a', randomBytes(32)).read(1, 0), undefined);
    await x.server.as(async (redis) => {
      const [first] = await redis.lrange('test:mcp:events:a', 0, 0);
      await redis.lset('test:mcp:events:a', 1, first!.replace('1-1 ', '1-2 '));
    });
    assert.deepEqual((await session.read(1, 0))?.events, [{ seq: 1, text: 'first' }]);
  });

  test('the oldest events go when a session has too many, or too much', async (t) => {
    const x = await stage(t);
    const session = x.session();
    session.opened(1, '[]');
    for (let seq = 1; seq <= 260; seq++) session.wrote(1, seq, 'x');
    await settled(x, 260);
    assert.deepEqual(
      await numbers(session),
      Array.from({ length: 256 }, (_, i) => i + 5),
    );
    const large = x.session('b');
    large.opened(1, '[]');
    for (let seq = 1; seq <= 4; seq++) large.wrote(1, seq, 'y'.repeat(600_000));
    large.wrote(1, 5, 'z'.repeat(1_100_000));
    await settled(x, 265);
    assert.deepEqual(await numbers(large), [3, 4]);
    assert.deepEqual(x.counts, { written: 264, lost: 1 });
  });

  test('the oldest streams of a session go, and the session of a principal that was written longest ago', async (t) => {
    const x = await stage(t);
    const session = x.session();
    for (let stream = 1; stream <= 65; stream++) {
      session.opened(stream, '[]');
      session.wrote(stream, 1, 'x');
    }
    await settled(x, 65);
    assert.equal(await session.read(1, 0), undefined);
    assert.deepEqual(await numbers(session, 65), [1]);
    for (let i = 0; i < 32; i++) {
      const other = x.session(`other-${i}`);
      other.opened(1, '[]');
      other.wrote(1, 1, 'x');
      await settled(x, 66 + i);
      // Another principal takes nothing from this one.
      const stranger = x.session(`stranger-${i}`, undefined, 'else');
      stranger.opened(1, '[]');
    }
    assert.equal(await session.read(65, 0), undefined);
    assert.deepEqual(await numbers(x.session('other-0')), [1]);
    assert.deepEqual(
      await x.server.as((redis) => redis.keys('test:mcp:*:a')),
      [],
      'nothing of the session is left',
    );
  });

  test('a store that does not answer gets no more than its share of memory', async (t) => {
    const x = await stage(t);
    x.server.stall();
    t.after(() => x.server.goOn());
    const session = x.session();
    for (let seq = 1; seq <= 12; seq++) session.wrote(1, seq, 'y'.repeat(500_000));
    assert.equal(x.counts.lost, 4);
    x.server.goOn();
    await settled(x, 12);
    assert.deepEqual(x.counts, { written: 8, lost: 4 });
  });
});
