import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { TLSSocket } from 'node:tls';
import { certificate } from '../proxy/certificates.testing.ts';
import { startRaw } from '../proxy/rawServer.testing.ts';
import { until } from '../until.testing.ts';
import { AnswerEnds } from './answerEnds.ts';
import { Asker, endpointAt, type EndpointInShort } from './endpoint.testing.ts';

const refusal = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 4\r\n\r\nwho?';
const endless = 'HTTP/1.1 413 Content Too Large\r\n\r\ntoo big';
const eviction = { consecutiveFailures: 1, durationMs: 60_000, maxEjectedPercent: 100 };

/** The way a backend ends its connection before it has read the whole request. */
type HangUp = 'end, then reset' | 'reset';

/** Writes a request to a backend that has answered and hung up; the answer waits in the receive buffer. */
async function uploadAfter(t: TestContext, hangUp: HangUp, answer: string, short: EndpointInShort = {}) {
  const accepted = Promise.withResolvers<Socket>();
  const server = await startRaw(t, { onConnection: accepted.resolve });
  const endpoint = endpointAt(t, server.port, { eviction, ...short });
  const connection = endpoint.take();
  const asker = new Asker();
  connection.begin(asker, false, false);
  const below = await accepted.promise;
  const there = short.tls === undefined ? below : new TLSSocket(below, { isServer: true, ...certificate() });
  for (const socket of new Set([below, there])) socket.on('error', () => undefined);
  await until('the connection is there', () => connection.connected);
  connection.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\n');
  await once(there, 'data');
  connection.pause();
  if (hangUp === 'reset') await new Promise((written) => void there.write(answer, written));
  else await once(there.end(answer), 'finish');
  below.resetAndDestroy();
  await once(below, 'close');
  connection.write('more of the body');
  return { endpoint, connection, asker };
}

const kinds: Readonly<Record<string, () => EndpointInShort>> = {
  'plain TCP': () => ({}),
  TLS: () => ({ tls: {} }),
  'watched TLS': () => ({ tls: {}, answerEnds: new AnswerEnds() }),
};

for (const [kind, short] of Object.entries(kinds))
  for (const hangUp of ['end, then reset', 'reset'] as const)
    test(`an answer is read although the backend has hung up under the request: ${kind}, ${hangUp}`, async (t) => {
      const { endpoint, connection, asker } = await uploadAfter(t, hangUp, refusal, short());
      connection.resume();
      assert.deepEqual(await asker.outcome, { status: 401, body: 'who?' });
      assert.equal(endpoint.connections, 0, 'nobody else gets the connection');
      assert.equal(endpoint.health.isEjected(Date.now()), false);
    });

for (const hangUp of ['end, then reset', 'reset'] as const)
  test(`a backend that hangs up under the request without an answer has failed: ${hangUp}`, async (t) => {
    const { endpoint, connection, asker } = await uploadAfter(t, hangUp, '');
    connection.resume();
    const { failure, fresh } = await asker.outcome;
    assert.deepEqual([failure, fresh], ['upstream_reset', true]);
    assert.equal(endpoint.connections, 0);
    assert.equal(endpoint.health.isEjected(Date.now()), true);
  });

test('an answer without a length is whole if the connection was ended before it was reset', async (t) => {
  const { connection, asker } = await uploadAfter(t, 'end, then reset', endless);
  connection.resume();
  assert.deepEqual(await asker.outcome, { status: 413, body: 'too big' });
});

test('an answer without a length has failed if the connection was only reset', async (t) => {
  const { connection, asker } = await uploadAfter(t, 'reset', endless);
  connection.resume();
  assert.equal((await asker.outcome).failure, 'upstream_reset');
});

test('an answer that cannot be read within a second of the failed write fails its request', async (t) => {
  const { endpoint, asker } = await uploadAfter(t, 'reset', refusal);
  const { failure, detail, fresh } = await asker.outcome;
  assert.deepEqual([failure, detail, fresh], ['upstream_reset', 'ECONNRESET', true]);
  assert.equal(endpoint.connections, 0);
});

test('a request takes no more bytes after a failed write', async (t) => {
  const { connection, asker } = await uploadAfter(t, 'reset', refusal);
  assert.equal(connection.write(Buffer.alloc(100_000)), false);
  connection.resume();
  assert.equal((await asker.outcome).status, 401);
  assert.equal(asker.writable, 0);
});
