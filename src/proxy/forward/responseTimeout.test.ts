import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { startApp } from '../apps.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, status } from '../wire.testing.ts';

/** As short as the clock can tell. */
const limits = { responseTimeoutMs: 1_000 };

describe('the time to the head of an answer', { concurrency: true }, () => {
  test('an answer that does not begin is 504; what goes on by itself, or is limited otherwise, goes on', async (t) => {
    const app = await startApp(t);
    const owed = new Map<string, () => void>();
    app.behave = (request, response) => {
      const { url = '' } = request;
      if (url === '/quick') response.end('quick');
      else if (url === '/events') {
        response.write('first');
        owed.set(url, () => response.end(' last'));
      } else if (url === '/upload') request.on('end', () => response.end('taken'));
      else owed.set(url, () => response.end('late'));
    };
    const target = { host: '127.0.0.1', port: app.port };
    const plane = await TestPlane.start({
      limits,
      routes: [
        { targets: [target] },
        { prefix: '/request', targets: [target], policies: { timeout: { requestTimeout: 60_000 } } },
        { prefix: '/backend', targets: [target], policies: { timeout: { backendRequestTimeout: 60_000 } } },
      ],
    });
    t.after(() => plane.close());
    const slow = await Promise.all(
      ['/events', '/request', '/backend'].map(async (path) => {
        const client = await plane.client();
        client.send(get(path));
        return { path, client };
      }),
    );
    const upload = await plane.client();
    upload.send('POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhello');
    // On a connection that has served before: a request that waits for nothing must not be sent twice.
    const client = await plane.client();
    assert.equal((await client.ask(get('/quick'))).body.toString(), 'quick');
    const before = app.requests;
    const answer = await client.ask(get('/hangs'));
    assert.equal(status(answer), 504);
    assert.equal(app.requests, before + 1);
    const line = plane.access.find(({ path }) => path === '/hangs');
    assert.equal(line?.error, 'upstream_timeout');
    assert.match(line?.reason ?? '', /limits\.responseTimeout/);
    // The others have waited for longer.
    for (const { path, client: waiting } of slow) {
      owed.get(path)?.();
      const text = path === '/events' ? 'first last' : 'late';
      assert.equal(
        (await waiting.find('an answer', () => waiting.inbox.message(false, false)))?.body.toString(),
        text,
      );
    }
    upload.send('world');
    const taken = await upload.find('an answer', () => upload.inbox.message(false, false));
    assert.equal(taken.body.toString(), 'taken');
  });

  test('it counts as a failure of the address, and as a reason to try again', async (t) => {
    const app = await startApp(t);
    let requests = 0;
    app.behave = (_request, response) => {
      if (requests++ > 0) response.end('second');
    };
    const plane = await TestPlane.start({
      limits,
      routes: [
        {
          targets: [
            {
              host: '127.0.0.1',
              port: app.port,
              eviction: { consecutiveFailures: 1, durationMs: 600_000, maxEjectedPercent: 100 },
            },
          ],
          policies: { retry: policySchemas.retry.parse({ codes: [503], attempts: 2 }) },
        },
      ],
    });
    t.after(() => plane.close());
    assert.equal((await plane.ask(get())).body.toString(), 'second');
    const ejections = /upstream_ejections_total\{[^}]*\} (\d+)/.exec(await plane.metricsText())?.[1];
    assert.equal(ejections, '1');
  });

  test('over HTTP/2 the stream alone ends, and calls of gRPC wait for as long as their client does', async (t) => {
    const server = createServer();
    const open = new Set<ServerHttp2Session>();
    const calls: ServerHttp2Stream[] = [];
    const hanging: ServerHttp2Stream[] = [];
    server.on('session', (session: ServerHttp2Session) => open.add(session));
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => undefined);
      stream.resume();
      (headers['content-type'] === 'application/grpc' ? calls : hanging).push(stream);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const plane = await TestPlane.start({
      limits,
      routes: [{ targets: [{ host: '127.0.0.1', port, http2: true }] }],
    });
    const session = connect(`http://127.0.0.1:${plane.port}`);
    t.after(async () => {
      session.destroy();
      plane.close();
      for (const one of open) one.destroy();
      server.close();
      await once(server, 'close');
    });
    const call = session.request({
      ':method': 'POST',
      ':path': '/test.Watch/Watch',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    call.end('x');
    await until('the call is there', () => calls.length === 1);
    assert.equal(status(await plane.ask(get())), 504);
    await until('the stream was reset', () => hanging[0]?.destroyed === true);
    calls[0]?.respond({ ':status': 200, 'content-type': 'application/grpc' });
    calls[0]?.end('message');
    let body = '';
    for await (const chunk of call) body += String(chunk);
    assert.equal(body, 'message');
    assert.equal(open.size, 1);
  });

  test('it also holds for a request that is sent after a reload has removed its backend', async (t) => {
    const app = await startApp(t);
    app.behave = () => undefined;
    const buffer = policySchemas.buffer.parse({ request: {} });
    const plane = await TestPlane.start({ limits, routes: [{ to: app.port, policies: { buffer } }] });
    t.after(() => plane.close());
    const client = await plane.client();
    client.send('POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n');
    const [address] = plane.plane.endpoints.all();
    assert.ok(address !== undefined);
    assert.equal(status(await client.answer(true)), 100);
    await plane.apply({ limits, routes: [] });
    const { clock } = address;
    await until('the clock of the backend goes on', () => address.clock > clock + 1);
    client.send('hello');
    assert.equal(status(await client.answer()), 504);
  });

  test('0 is no limit', async (t) => {
    const [patient, other] = [await startApp(t), await startApp(t, '127.0.0.2')];
    let answer = (): void => undefined;
    patient.behave = (_request, response) => {
      answer = () => void response.end('at last');
    };
    other.behave = () => undefined;
    const without = await TestPlane.start({
      limits: { responseTimeoutMs: 0 },
      routes: [{ targets: [{ host: patient.host, port: patient.port }] }],
    });
    const limited = await TestPlane.start({
      limits,
      routes: [{ targets: [{ host: other.host, port: other.port }] }],
    });
    t.after(() => {
      without.close();
      limited.close();
    });
    const asked = without.ask(get());
    await until('the request is there', () => patient.requests === 1);
    assert.equal(status(await limited.ask(get())), 504);
    answer();
    assert.equal((await asked).body.toString(), 'at last');
  });

  test('a backend may have a limit of its own, in place of that of the route', async (t) => {
    const app = await startApp(t);
    app.behave = () => undefined;
    const own = { host: '127.0.0.1', port: app.port, requestTimeoutMs: 500 };
    const plane = await TestPlane.start({
      routes: [
        { targets: [own], policies: { timeout: { backendRequestTimeout: 60_000 } } },
        {
          prefix: '/retry',
          targets: [own],
          policies: { retry: policySchemas.retry.parse({ codes: [503], attempts: 2 }) },
        },
      ],
    });
    t.after(() => plane.close());
    assert.equal(status(await plane.ask(get())), 504);
    assert.equal(app.requests, 1);
    assert.equal(status(await plane.ask(get('/retry'))), 504);
    assert.equal(app.requests, 3, 'it is the limit of each try');
  });
});
