/** Certificates that are renewed while connections come all the time: nobody is refused, and nobody sees a mixture. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import type { ServerTls } from '../../model/index.ts';
import { authority, type Identity } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawClient, status } from '../wire.testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-rotation-'));
after(() => rmSync(folder, { recursive: true }));

const at = (name: string): string => join(folder, name);
const put = (name: string, text: string): void => {
  writeFileSync(at(`${name}.new`), text);
  renameSync(at(`${name}.new`), at(name));
};

/** Loops that go on until they are stopped; what goes wrong is gathered. */
class Load {
  readonly failures: string[] = [];
  done = 0;
  private running = true;
  private readonly loops: Promise<void>[] = [];

  run(loops: number, once: () => Promise<void>): void {
    for (let i = 0; i < loops; i++)
      this.loops.push(
        (async () => {
          while (this.running)
            try {
              await once();
              this.done++;
            } catch (error) {
              this.failures.push(String(error));
              this.running = false;
            }
        })(),
      );
  }

  /** Waits for so many rounds more. */
  async more(rounds: number): Promise<void> {
    const before = this.done;
    await until('there was more load', () => this.done >= before + rounds || this.failures.length > 0);
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.loops);
  }
}

test('renewed certificates of a listener reach every new connection without a failed handshake or request', async (t) => {
  const ca = authority();
  const identity = (name: string): Identity => ca.issue({ names: ['app.test'], name });
  const first = identity('first');
  put('app.pem', first.cert);
  put('app.key', first.key);
  const tls: ServerTls = {
    cert: { file: at('app.pem') },
    key: { file: at('app.key') },
    ciphers: ['TLS_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
    minVersion: 'TLSv1.2',
    maxVersion: 'TLSv1.3',
  };
  const handler = {
    handler: (_request: unknown, reply: { send(r: object): void }) => reply.send({ status: 200, body: 'hi' }),
  };
  const plane = await TestPlane.start({ listeners: [{ tls, routes: [handler] }] });
  t.after(() => plane.close());
  const secure = (options: object = {}) =>
    RawClient.secure(plane.port, {
      servername: 'app.test',
      ca: ca.cert,
      rejectUnauthorized: true,
      ...options,
    });
  const ask = async (client: RawClient): Promise<void> => {
    assert.equal(status(await client.ask(get())), 200);
  };

  const load = new Load();
  const shown = new Set<string>();
  // Full handshakes, checked by the client as any client does.
  load.run(3, async () => {
    const client = await secure();
    shown.add(String((client.socket as TLSSocket).getPeerCertificate().subject.CN));
    await ask(client);
    client.close();
  });
  // Sessions that are resumed over the change.
  let session: Buffer | undefined;
  let resumed = 0;
  load.run(1, async () => {
    const client = await secure({ maxVersion: 'TLSv1.2', ...(session && { session }) });
    const socket = client.socket as TLSSocket;
    if (socket.isSessionReused()) resumed++;
    session = socket.getSession();
    await ask(client);
    client.close();
  });
  // Connections that stay.
  for (const kept of await Promise.all([secure(), secure()])) load.run(1, () => ask(kept));

  for (const name of ['second', 'third', 'fourth']) {
    await load.more(50);
    const next = identity(name);
    // The two files are never replaced at the same moment: for a while they do not belong together.
    put('app.pem', next.cert);
    await until('that was seen', () => plane.plane.certificates[0]?.state === 'stale');
    await load.more(20);
    put('app.key', next.key);
    await until('both were taken', () => plane.plane.certificates[0]?.state === 'ready');
    await until('it is shown', () => shown.has(name) || load.failures.length > 0);
    shown.clear();
    await load.more(50);
    assert.deepEqual([...shown], [name], 'nobody is shown an old one any more');
  }
  await load.stop();
  assert.deepEqual(load.failures, []);
  assert.ok(resumed > 0);
});

test('renewed certificates towards a backend, and of the backend itself, cost no request', async (t) => {
  const old = authority('old');
  const next = authority('next');
  const server = old.issue({ names: ['127.0.0.1'] });
  const seen = new Set<string>();
  const backend = createServer(
    { ...server, ca: [old.cert, next.cert], requestCert: true, rejectUnauthorized: true },
    (socket) => {
      seen.add(String(socket.getPeerCertificate().subject.CN));
      socket.on('error', () => undefined).on('data', () => socket.write(ok('x')));
    },
  ).listen(0, '127.0.0.1');
  await once(backend, 'listening');
  t.after(() => backend.close());
  const client = (name: string, by = old): void => {
    const { cert, key } = by.issue({ names: [], name });
    // Both in one file, so that they change together.
    put('client.pem', `${cert}${key}`);
  };
  client('first');
  put('root.pem', old.cert);
  const { port } = backend.address() as AddressInfo;
  const tls = {
    insecure: false,
    insecureHost: false,
    subjectAltNames: [],
    root: { file: at('root.pem') },
    client: { cert: { file: at('client.pem') }, key: { file: at('client.pem') } },
  };
  // Every connection carries few requests, so that handshakes never cease.
  const connections = { maxPendingRequests: 100, maxRequestsPerConnection: 3 };
  const plane = await TestPlane.start({
    routes: [{ targets: [{ host: '127.0.0.1', port, tls, connections }] }],
  });
  t.after(() => plane.close());
  const load = new Load();
  for (const kept of await Promise.all([plane.client(), plane.client(), plane.client()]))
    load.run(1, async () => {
      const answer = await kept.ask(get());
      assert.equal(status(answer), 200, answer.body.toString());
    });
  await load.more(50);
  // First everybody trusts both, then the certificates change, then the old authority goes.
  put('root.pem', old.cert + next.cert);
  client('second', next);
  await until('the second is used', () => seen.has('second') || load.failures.length > 0);
  backend.setSecureContext({ ...next.issue({ names: ['127.0.0.1'] }), ca: next.cert });
  await load.more(50);
  put('root.pem', next.cert);
  client('third', next);
  await until('the third is used', () => seen.has('third') || load.failures.length > 0);
  await load.more(50);
  await load.stop();
  assert.deepEqual(load.failures, []);
});
