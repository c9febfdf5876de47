/** The configurations under examples/upstream run as they stand there, each before the backends it is about. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const start = (file: string, env: Readonly<Record<string, string>>): Promise<GatewayProcess> =>
  startGateway('', { args: ['-f', `${root}examples/upstream/${file}`], env: { GATEWAY_PORT: '0', ...env } });

const names = ['first', 'second'] as const;

/** Two apps for one backend. @returns their addresses */
async function serveTwo(
  t: TestContext,
  appOf: (index: number) => RequestListener,
): Promise<readonly [string, string]> {
  const serve = async (index: number): Promise<string> => {
    const { port, close } = await listenOnLoopback(createHttp(appOf(index)));
    t.after(close);
    return `127.0.0.1:${port}`;
  };
  return [await serve(0), await serve(1)];
}

const walks: Readonly<Record<string, (t: TestContext) => Promise<void>>> = {
  'backendTls.yaml': async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const files = (name: string): string => join(folder, name);
    const ca = authority();
    const client = ca.issue({ name: 'the gateway' });
    writeFileSync(files('ca.pem'), ca.cert);
    writeFileSync(files('client.pem'), client.cert);
    writeFileSync(files('client.key'), client.key);
    const shop = createHttps(
      { ...ca.issue({ names: ['shop.example.com'] }), ca: ca.cert, requestCert: true },
      (request, response) => {
        const socket = request.socket as TLSSocket & { servername: string };
        response.end(`${socket.servername} for ${String(socket.getPeerCertificate().subject.CN)}`);
      },
    ).listen(0, '127.0.0.1');
    t.after(() => shop.close());
    await once(shop, 'listening');
    await using gateway = await start('backendTls.yaml', {
      SHOP_HOST: `127.0.0.1:${(shop.address() as AddressInfo).port}`,
      CA_FILE: files('ca.pem'),
      CLIENT_CERT: files('client.pem'),
      CLIENT_KEY: files('client.key'),
    });
    assert.equal(await (await fetch(gateway.url)).text(), 'shop.example.com for the gateway');
  },
  'balancing.yaml': async (t) => {
    const healthy = [true, true];
    const [first, second] = await serveTwo(t, (index) => (request, response) => {
      if (request.url === '/healthz') response.statusCode = healthy[index] === true ? 204 : 503;
      response.end(response.statusCode === 204 ? undefined : `${index} as ${String(request.headers.host)}`);
    });
    await using gateway = await start('balancing.yaml', { FIRST_ADDRESS: first, SECOND_ADDRESS: second });
    const answer = async (): Promise<string> => (await fetch(gateway.url)).text();
    const seen = new Set<string>();
    while (seen.size < 2) seen.add((await answer()).slice(0, 1));
    healthy[0] = false;
    const ready = (): Promise<number | undefined> =>
      gateway.metric('portcullis_upstream_endpoint_ready', {
        backend: 'shop.example.com:80',
        endpoint: first,
      });
    while ((await ready()) !== 0) await answer();
    for (let i = 0; i < 10; i++) assert.match(await answer(), /^1/);
    healthy[0] = true;
    while ((await ready()) !== 1) await answer();
  },
  'hedge.yaml': async (t) => {
    let requests = 0;
    // The first backend that is asked does not answer.
    const [first, second] = await serveTwo(t, (index) => (_request, response) => {
      if (requests++ > 0) response.end(names[index]);
    });
    await using gateway = await start('hedge.yaml', { FIRST_ADDRESS: first, SECOND_ADDRESS: second });
    assert.match(await (await fetch(gateway.url)).text(), /^(?:first|second)$/);
    assert.equal(requests, 2);
    assert.equal(
      await gateway.metric('portcullis_hedges_total', {
        bind: '0#0',
        listener: 'listener0',
        route: 'route0',
        result: 'won',
      }),
      1,
    );
  },
  'sessionAffinity.yaml': async (t) => {
    const [first, second] = await serveTwo(
      t,
      (index) => (_request, response) => void response.end(names[index]),
    );
    await using gateway = await start('sessionAffinity.yaml', {
      FIRST_ADDRESS: first,
      SECOND_ADDRESS: second,
    });
    const answer = async (user?: string): Promise<string> =>
      (await fetch(gateway.url, user === undefined ? {} : { headers: { 'x-user': user } })).text();
    for (const user of ['alice', 'bob', undefined]) {
      const place = await answer(user);
      for (let i = 0; i < 8; i++) assert.equal(await answer(user), place);
    }
  },
  'http2.yaml': async (t) => {
    const backend = createHttp2((request, response) => {
      response.addTrailers({ 'grpc-status': '0' });
      response.setHeader('content-type', 'application/grpc');
      request.pipe(response);
    }).listen(0, '127.0.0.1');
    await once(backend, 'listening');
    await using gateway = await start('http2.yaml', {
      GRPC_HOST: `127.0.0.1:${(backend.address() as AddressInfo).port}`,
    });
    const session = connectHttp2(gateway.url);
    t.after(() => {
      session.destroy();
      backend.close();
    });
    const stream = session.request({
      ':method': 'POST',
      ':path': '/test.Echo/Say',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let trailers: Record<string, unknown> = {};
    let body = '';
    stream.on('trailers', (given) => (trailers = given));
    stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
    stream.end('hello');
    await once(stream, 'close');
    assert.equal(body, 'hello');
    assert.equal(trailers['grpc-status'], '0');
  },
};

test('every example has its walk', () => {
  assert.deepEqual(globSync('*.yaml', { cwd: `${root}examples/upstream` }).sort(), Object.keys(walks).sort());
});

for (const [file, walk] of Object.entries(walks)) test(`examples/upstream/${file}`, walk);
