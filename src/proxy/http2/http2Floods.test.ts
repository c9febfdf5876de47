/** Floods of frames that cost their sender nothing: each ends its connection, and only that. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { frame } from '../../http/frame.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import {
  END_HEADERS,
  END_STREAM,
  flood,
  floods,
  HEADERS,
  PING,
  preface,
  request,
} from './http2Floods.testing.ts';
import { get, ok, RawBackend, status } from '../wire.testing.ts';

async function start(t: TestContext): Promise<TestPlane> {
  const backend = await RawBackend.start({
    onRequest: (_request, connection) => connection.send(ok('hello')),
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  t.after(async () => {
    plane.close();
    await backend.close();
  });
  return plane;
}

for (const [name, round] of Object.entries(floods))
  test(`a flood ends its connection: ${name}`, async (t) => {
    const plane = await start(t);
    const client = await plane.client();
    client.socket.setMaxListeners(0);
    const before = process.memoryUsage().rss;
    const sent = await flood(client, round);
    assert.notEqual(client.ending, 'open', `${sent} bytes were taken`);
    assert.ok(process.memoryUsage().rss - before < 200_000_000);
    assert.equal(status(await plane.ask(get())), 200);
  });

test('a client that measures the line with a PING behind each answer is not a flood', async (t) => {
  const plane = await start(t);
  const session = connect(`http://127.0.0.1:${plane.port}`);
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  const answers = 600;
  for (let i = 0; i < answers; i++) {
    const stream = session.request({ ':path': '/', ':authority': 'app.test' });
    stream.resume();
    await once(stream, 'end');
    const acknowledged = new Promise<void>((resolve, reject) => {
      session.ping((error) => (error === null ? resolve() : reject(error)));
    });
    await acknowledged;
  }
  assert.equal(plane.access.length, answers);
});

test('the traffic of a busy client is not a flood', async (t) => {
  const plane = await start(t);
  const client = await plane.client();
  client.socket.write(preface);
  for (let i = 0; i < 150; i++) client.socket.write(frame(PING, 0, 0, Buffer.alloc(8)));
  for (let i = 0; i < 60; i++)
    client.socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, request(2)));
  // Acknowledgements of the pings: 150 frames of 17 bytes, among the rest.
  await client.find('answers to everything', () => (plane.access.length === 60 ? true : undefined));
  assert.equal(client.ending, 'open');
});
