import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import { defaults } from '../../model/index.ts';
import { createLogger } from '../../telemetry/index.ts';
import { Endpoints, type UpstreamConnection } from '../../upstream/index.ts';
import { certificate } from '../certificates.testing.ts';
import { until } from '../../until.testing.ts';
import { ok } from '../wire.testing.ts';

/** Several records of TLS, which arrive in one read. */
const BODY = 'x'.repeat(50_000);

test('a connection under TLS that was held at the end of an answer is not held for the next request', async (t) => {
  const open: TLSSocket[] = [];
  const server = createServer(certificate({ names: ['127.0.0.1'] }), (socket) => {
    open.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write(ok(BODY)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoints = new Endpoints({ log: createLogger({ level: 'error', format: 'text' }) });
  t.after(() => {
    endpoints.close();
    server.close();
    for (const socket of open) socket.destroy();
  });
  const tls = { insecure: true, insecureHost: false, subjectAltNames: [] };
  const { port } = server.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, tls };
  const destination = endpoints.use(target, defaults.upstream, defaults.limits);

  /**
   * Sends a request whose client takes a part of the answer only when the part before is written. @returns held
   * at its end
   */
  const ask = async (upstream: UpstreamConnection): Promise<boolean> => {
    let got = 0;
    let over = false;
    let held = false;
    const take = (length: number, done: boolean): boolean => {
      got += length;
      over = done;
      if (over) return true;
      held = true;
      setImmediate(() => {
        if (over) return;
        held = false;
        upstream.resume();
      });
      return false;
    };
    upstream.begin(
      {
        onInformational: () => undefined,
        onAnswer: (_head, _bytes, from, to, body) => take(to - from, body.done),
        onBody: (_bytes, from, to, done) => take(to - from, done),
        onFailure: (code, detail) => assert.fail(`${code} ${detail}`),
        onWritable: () => undefined,
      },
      false,
      false,
    );
    upstream.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    upstream.sent();
    await until('the answer is complete', () => over);
    assert.equal(got, BODY.length);
    return held;
  };

  const take = (fresh: boolean): UpstreamConnection => {
    const upstream = destination.take(fresh);
    assert.ok(upstream !== undefined);
    return upstream;
  };
  // The first connection is looked at more closely, and reads in another way.
  await ask(take(false));
  let times = 0;
  let upstream = take(true);
  for (let i = 0; i < 50 && times < 3; i++) {
    if (await ask(upstream)) times++;
    const next = take(false);
    assert.equal(next, upstream, 'the connection went back to the pool');
    upstream = next;
  }
  assert.equal(times, 3, 'answers ended while they were held');
});
