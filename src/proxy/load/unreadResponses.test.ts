/** Unread answers of HTTP/2 clients are bounded, for a connection and for all, and their memory is given back. */
import assert from 'node:assert/strict';
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Limits } from '../../model/index.ts';
import { memoryLog } from '../../auth/log.testing.ts';
import { TestPlane, type LocalHandler } from '../dataPlane.testing.ts';
import { UnreadResponses, defaultLimit } from './unreadResponses.ts';
import { until } from '../../until.testing.ts';
import { get, RawBackend, status } from '../wire.testing.ts';

/** Bytes of a read of the gateway: the most that it keeps for a stalled stream. */
const READ = 65_536;

async function start(t: TestContext, limits: Partial<Limits>): Promise<TestPlane> {
  const head = `HTTP/1.1 200 OK\r\ncontent-length: ${4 * READ}\r\n\r\n`;
  const answer = Buffer.concat([Buffer.from(head), Buffer.alloc(4 * READ, 'a')]);
  const backend = await RawBackend.start({ onRequest: (_request, connection) => connection.send(answer) });
  const plane = await TestPlane.start({ limits, routes: [{ to: backend.port }] });
  t.after(async () => {
    plane.close();
    await backend.close();
  });
  return plane;
}

/** A client that takes nothing of its answers. */
function stalled(t: TestContext, plane: TestPlane, localAddress = '127.0.0.1'): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${plane.port}`, {
    settings: { initialWindowSize: 0 },
    createConnection: () => connectTcp({ port: plane.port, host: '127.0.0.1', localAddress }),
  });
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  return session;
}

interface Asked {
  readonly stream: ClientHttp2Stream;
  answered: boolean;
}

function ask(session: ClientHttp2Session, count: number): Asked[] {
  return Array.from({ length: count }, () => {
    const stream = session.request({ ':path': '/large' });
    const asked: Asked = { stream, answered: false };
    stream.on('error', () => undefined);
    stream.on('response', () => (asked.answered = true));
    return asked;
  });
}

const held = async (plane: TestPlane): Promise<number> =>
  Number(/^portcullis_unread_answer_bytes (\d+)$/m.exec(await plane.metricsText())?.[1]);

const answered = (all: readonly Asked[]): boolean => all.every((one) => one.answered);
const ended = (all: readonly Asked[]): Asked[] =>
  all.filter(({ stream }) => stream.rstCode === constants.NGHTTP2_ENHANCE_YOUR_CALM);

test('a stalled stream holds one read, and gives it back when it ends', async (t) => {
  const plane = await start(t, {});
  const session = stalled(t, plane);
  const streams = ask(session, 20);
  await until('all are answered', () => answered(streams));
  const bytes = await held(plane);
  assert.ok(bytes > 0 && bytes <= 20 * READ, `${bytes} bytes`);
  for (const { stream } of streams) stream.close(constants.NGHTTP2_CANCEL);
  await until('the streams are over', () => plane.access.length === 20);
  assert.equal(await held(plane), 0);
});

test('unread responses of a connection are bounded: the longest stalled streams end', async (t) => {
  const most = 6 * READ;
  const plane = await start(t, { maxUnreadBytesPerConnection: most });
  const session = stalled(t, plane);
  const streams: Asked[] = [];
  for (let i = 0; i < 30; i++) {
    streams.push(...ask(session, 1));
    await until('it is answered', () => streams.at(-1)?.answered === true);
  }
  await until('some have had to give way', () => ended(streams).length >= 5);
  assert.deepEqual(ended(streams), streams.slice(0, ended(streams).length), 'the oldest first');
  assert.ok((await held(plane)) <= most);
  assert.equal(session.destroyed, false, 'the connection goes on');
  assert.match(String(plane.access[0]?.reason), /limits\.maxUnreadBytes/);
});

test('unread responses of all connections are bounded: the largest holder loses streams', async (t) => {
  const most = 8 * READ;
  const plane = await start(t, { maxUnreadBytes: most });
  const small = ask(stalled(t, plane, '127.0.0.3'), 2);
  await until('the small ones are answered', () => answered(small));
  const flood: Asked[] = [];
  for (let round = 0; round < 6; round++) {
    flood.push(...ask(stalled(t, plane, '127.0.0.2'), 5));
    await until('the flood is answered, or ended', () =>
      flood.every(({ stream, answered: done }) => done || stream.closed),
    );
  }
  await until('the flood has given way', () => ended(flood).length >= 12);
  assert.ok((await held(plane)) <= most);
  assert.equal(ended(small).length, 0);
  assert.equal(status(await plane.ask(get())), 200);
  const warning = plane.log.find(({ message }) => message.includes('limits.maxUnreadBytes'));
  assert.equal(warning?.fields?.['holder'], '127.0.0.2');
});

test('whole answers that wait for their clients count in the limit over all, and give their bytes back', async (t) => {
  const body = Buffer.alloc(32 * READ, 'a');
  const most = 4 * body.length;
  const handler: LocalHandler = (_request, reply) => reply.send({ status: 200, body });
  const plane = await TestPlane.start({ limits: { maxUnreadBytes: most }, routes: [{ handler }] });
  t.after(() => plane.close());
  const streams = ask(stalled(t, plane), 10);
  await until('some have given way', () => ended(streams).length >= 6);
  const bytes = await held(plane);
  assert.ok(bytes > body.length && bytes <= most, `${bytes} bytes`);
  for (const { stream } of streams) stream.close(constants.NGHTTP2_CANCEL);
  await until('the streams are over', () => plane.access.length === 10);
  assert.equal(await held(plane), 0);
});

test('the limit over all follows the memory that the system grants', () => {
  assert.equal(defaultLimit(4 * 2 ** 30), 2 ** 30);
  assert.equal(defaultLimit(64 * 2 ** 20), 64 * 2 ** 20);
});

test('after much was freed the runtime is asked once to collect it, and not for a little', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let collections = 0;
  const unread = new UnreadResponses(
    memoryLog().log,
    () => [],
    () => void collections++,
  );
  const MiB = 2 ** 20;
  unread.change(200 * MiB);
  unread.change(-60 * MiB);
  t.mock.timers.tick(60_000);
  assert.equal(collections, 0);
  for (let i = 0; i < 140; i++) unread.change(-MiB);
  assert.equal(unread.held, 0);
  assert.equal(collections, 0, 'not in the middle of it');
  t.mock.timers.tick(60_000);
  assert.equal(collections, 1);
  unread.close();
});
