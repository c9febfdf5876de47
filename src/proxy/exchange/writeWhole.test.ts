/** Whole answers, which the gateway holds in memory, reach their clients as these take them. */
import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { createConnection } from 'node:net';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type RouteInShort } from '../dataPlane.testing.ts';
import { RawBackend } from '../wire.testing.ts';

/** More than the system takes, and than a connection of HTTP/2 may leave unread. */
const size = 12 * 1_048_576;
const body = Buffer.alloc(size, 'a');

const kinds: Readonly<Record<string, (t: TestContext) => Promise<readonly RouteInShort[]>>> = {
  'an answer of the gateway': () =>
    Promise.resolve([{ handler: (_request, reply) => reply.send({ status: 200, body }) }]),
  'a buffered answer of a backend': async (t) => {
    const answer = Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`), body]);
    const backend = await RawBackend.start({
      onRequest: (_request, connection) => connection.send(answer),
    });
    t.after(() => backend.close());
    const buffer = policySchemas.buffer.parse({ response: { maxBytes: 2 * size } });
    return [{ to: backend.port, policies: { buffer } }];
  },
};

for (const [kind, routesOf] of Object.entries(kinds)) {
  test(`${kind} is not cut where many of them wait for one HTTP/2 connection`, async (t) => {
    const plane = await TestPlane.start({ routes: await routesOf(t) });
    t.after(() => plane.close());
    const session = connect(`http://127.0.0.1:${plane.port}`);
    t.after(() => session.destroy());
    const ask = () =>
      new Promise<readonly [code: number | undefined, bytes: number]>((resolve) => {
        const stream = session.request({ ':path': '/' });
        let bytes = 0;
        stream.on('data', (piece: Buffer) => (bytes += piece.length));
        stream.on('error', () => undefined);
        stream.on('close', () => resolve([stream.rstCode, bytes]));
      });
    const answers = await Promise.all(Array.from({ length: 3 }, ask));
    assert.deepEqual(
      answers,
      answers.map(() => [0, size]),
    );
  });

  test(`${kind} reaches a client that reads it for longer than limits.bodyTimeout`, async (t) => {
    const bodyTimeoutMs = 300;
    const plane = await TestPlane.start({ routes: await routesOf(t), limits: { bodyTimeoutMs } });
    t.after(() => plane.close());
    const client = createConnection({ port: plane.port, host: '127.0.0.1' });
    t.after(() => client.destroy());
    client.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
    const begin = performance.now();
    let bytes = 0;
    // It reads steadily, in four times the time that it may be silent.
    for await (const piece of client as AsyncIterable<Buffer>) {
      bytes += piece.length;
      const due = begin + (bytes / size) * 4 * bodyTimeoutMs;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    }
    assert.ok(bytes > size, `${bytes} bytes`);
    assert.equal(plane.access[0]?.error, undefined);
  });
}
