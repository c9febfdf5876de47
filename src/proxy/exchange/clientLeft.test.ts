/** The access line of a request whose client leaves tells it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { createConnection } from 'node:net';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { until } from '../../until.testing.ts';
import { TestPlane, type LocalHandler } from '../dataPlane.testing.ts';
import { get } from '../wire.testing.ts';

const reason = 'the client left';

/** Answers that are not complete when their client leaves, with their status. */
const answers: Readonly<Record<string, readonly [status: number, handler: LocalHandler]>> = {
  'before an answer': [0, () => undefined],
  'within a stream': [200, (_request, reply) => void reply.open(200, []).write('a')],
  'within a whole answer': [
    200,
    (_request, reply) => reply.send({ status: 200, body: Buffer.alloc(32 * 1_048_576) }),
  ],
};

/** Sends a request to the port, waits for the first byte of an answer with a status, and leaves. */
const leavers: Readonly<Record<string, (port: number, answered: boolean) => Promise<void>>> = {
  'a client of HTTP/1.1 that hangs up': async (port, answered) => {
    const socket = createConnection({ port, host: '127.0.0.1' }).on('error', () => undefined);
    socket.write(get());
    if (answered) await once(socket, 'readable');
    else await once(socket, 'connect');
    socket.end();
    socket.destroy();
  },
  'a client of HTTP/2 that resets its stream': async (port, answered) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request({ ':path': '/' });
    if (answered) await once(stream, 'response');
    else await once(session, 'remoteSettings');
    stream.close(8);
    await once(stream, 'close');
    session.close();
  },
  'a client of HTTP/2 that hangs up': async (port, answered) => {
    const session = connect(`http://127.0.0.1:${port}`).on('error', () => undefined);
    const stream = session.request({ ':path': '/' }).on('error', () => undefined);
    if (answered) await once(stream, 'response');
    else await once(session, 'remoteSettings');
    session.destroy();
  },
};

for (const [leaver, leave] of Object.entries(leavers))
  for (const [when, [status, handler]] of Object.entries(answers))
    test(`the access line of ${leaver} ${when} names the reason`, async (t) => {
      let asked = 0;
      const plane = await TestPlane.start({
        routes: [
          {
            handler: (request, reply, caller) => {
              asked++;
              handler(request, reply, caller);
            },
          },
        ],
      });
      t.after(() => plane.close());
      const left = leave(plane.port, status !== 0);
      await until('the request arrives', () => asked === 1 || plane.access.length === 1);
      await left;
      await until('the access line is written', () => plane.access.length === 1);
      const [line] = plane.access;
      assert.deepEqual([line?.status, line?.error, line?.reason], [status, undefined, reason]);
    });

test('the access line of an answer that the gateway cuts keeps its own reason', async (t) => {
  const plane = await TestPlane.start({
    routes: [
      {
        handler: (_request, reply) => {
          const answer = reply.open(200, []);
          answer.write('a');
          answer.destroy(new GatewayError('upstream_reset', { detail: 'the backend hung up' }));
        },
      },
    ],
  });
  t.after(() => plane.close());
  await assert.rejects(plane.ask(get()));
  assert.deepEqual(
    plane.access.map(({ status, error, reason: given }) => [status, error, given]),
    [[200, 'upstream_reset', 'the backend hung up']],
  );
});
