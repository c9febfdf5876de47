import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createLogger } from '../../telemetry/index.ts';
import { defaults } from '../../model/index.ts';
import type { Host, HostAnswer, HostCall } from '../../policies/index.ts';
import { Endpoints, type Destination } from '../../upstream/index.ts';
import { policyHosts } from './policyHosts.ts';

const call: HostCall = {
  method: 'GET',
  target: '/check?a=1',
  headers: [['x-asked', 'yes']],
  timeoutMs: 60_000,
  maxBodyBytes: 1_000,
  repeatable: true,
};

/** An exchange that ends when the test says so. */
class Waiting {
  private readonly listeners: (() => void)[] = [];

  onClose(listener: () => void): void {
    this.listeners.push(listener);
  }

  end(): void {
    for (const listener of this.listeners) listener();
  }
}

describe('the calls of a policy to a host', () => {
  const log = createLogger({ level: 'error', format: 'text' });
  const endpoints = new Endpoints({ log });
  const destinations = new Set<Destination>();
  const hosts = policyHosts(defaults, {
    endpoints,
    mcp: { backend: () => assert.fail('no policy calls an MCP server') },
    uses: { destinations, mcp: new Set() },
  });
  const servers: { close(): void }[] = [];

  const serve = async (handler: RequestListener): Promise<{ server: Server; host: Host; port: number }> => {
    const server = createServer(handler).listen(0, '127.0.0.1');
    servers.push({
      close: () => {
        server.close();
        server.closeAllConnections();
      },
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return { server, host: hosts.use({ host: '127.0.0.1', port }), port };
  };
  const ask = (host: Host, more: Partial<HostCall> = {}): Promise<HostAnswer> =>
    host.ask({ ...call, ...more }, new Waiting());

  before(() => assert.equal(destinations.size, 0));
  after(() => {
    endpoints.close();
    for (const server of servers) server.close();
  });

  test('the host gets the request as the policy wrote it, and the policy gets the whole answer', async () => {
    const { host, port } = await serve((request, response) => {
      let body = '';
      request.on('data', (bytes: Buffer) => (body += bytes.toString()));
      request.on('end', () => {
        const { method, url, headers } = request;
        response.writeHead(403, { 'X-Reason': 'no' }).end(JSON.stringify({ method, url, headers, body }));
      });
    });
    const answer = await ask(host, {
      method: 'POST',
      body: Buffer.from('{"a":1}'),
      headers: [
        ['x-asked', 'yes\r\nx-smuggled: 1'],
        ['content-length', '99'],
        ['transfer-encoding', 'chunked'],
      ],
    });
    assert.equal(answer.status, 403);
    assert.deepEqual(
      answer.headers.find(([name]) => name === 'x-reason'),
      ['x-reason', 'no'],
    );
    assert.deepEqual(JSON.parse(answer.body.toString()), {
      method: 'POST',
      url: '/check?a=1',
      headers: { host: `127.0.0.1:${port}`, 'x-asked': 'yes??x-smuggled: 1', 'content-length': '7' },
      body: '{"a":1}',
    });
  });

  test('calls one after the other share a connection, and the snapshot knows the destination', async () => {
    const { server, host } = await serve((_request, response) => void response.end('ok'));
    let connections = 0;
    server.on('connection', () => connections++);
    for (let i = 0; i < 5; i++) assert.equal((await ask(host)).body.toString(), 'ok');
    assert.equal(connections, 1);
    assert.ok(destinations.size > 0);
  });

  test('an answer to HEAD ends with its head, however long the body would be', async () => {
    const { host } = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '5000' }).end();
    });
    const answer = await ask(host, { method: 'HEAD' });
    assert.deepEqual([answer.status, answer.body.length], [200, 0]);
  });

  test('an answer that is too large is refused, by its length and while it comes', async () => {
    const { host } = await serve((request, response) => {
      if (request.url === '/length') response.writeHead(200, { 'content-length': '1001' }).write('x');
      else for (let i = 0; i < 11; i++) response.write('x'.repeat(100));
    });
    for (const target of ['/length', '/pieces'])
      await assert.rejects(ask(host, { target }), { code: 'upstream_too_large' });
  });

  test('the policy hears when the answer takes too long, and the host sees the connection close', async () => {
    const { server, host } = await serve(() => undefined);
    const left = new Promise((resolve) => {
      server.on('connection', (socket) => socket.on('close', resolve));
    });
    await assert.rejects(ask(host, { timeoutMs: 20 }), { code: 'upstream_timeout' });
    await left;
  });

  test('a call hears the status of an answer that is cut off', async () => {
    const { host } = await serve((_request, response) => {
      response.writeHead(403, { 'content-length': '5' });
      response.write('x', () => response.destroy());
    });
    let heard = 0;
    const asked = ask(host, { onStatus: (status) => (heard = status) });
    await assert.rejects(asked, { code: 'upstream_reset' });
    assert.equal(heard, 403);
  });

  test('a call ends with its exchange', async () => {
    const { server, host } = await serve(() => undefined);
    const exchange = new Waiting();
    let settled = false;
    const asked = once(server, 'request');
    void host.ask(call, exchange).finally(() => (settled = true));
    const [request] = (await asked) as [{ socket: NodeJS.EventEmitter }];
    const closed = once(request.socket, 'close');
    exchange.end();
    await closed;
    assert.equal(settled, false);
  });

  test('an exchange that is over already sends nothing', async () => {
    const { server, host } = await serve((_request, response) => void response.end());
    let requests = 0;
    server.on('request', () => requests++);
    void host.ask(call, { onClose: (listener) => listener() });
    await ask(host);
    assert.equal(requests, 1);
  });

  test('a host that does not listen, or breaks off, is an error with its code', async () => {
    const breaking = createTcpServer((socket) => socket.on('data', () => socket.destroy()));
    breaking.listen(0, '127.0.0.1');
    await once(breaking, 'listening');
    const { port } = breaking.address() as AddressInfo;
    const host = hosts.use({ host: '127.0.0.1', port });
    await assert.rejects(ask(host), { code: 'upstream_reset' });
    breaking.close();
    await once(breaking, 'close');
    await assert.rejects(ask(host), { code: 'upstream_connect_failed' });
  });

  test('a host that speaks HTTP/2 gets the request, and its trailers come with the answer', async () => {
    const server = createHttp2Server((request, response) => {
      response.writeHead(200, { 'content-type': 'application/grpc' });
      response.write(`${request.method} ${request.url} ${String(request.headers['x-asked'])}`);
      response.addTrailers({ 'grpc-status': '7', 'grpc-message': 'denied' });
      response.end();
    }).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const host = hosts.use({ host: '127.0.0.1', port, http2: true });
    const answer = await ask(host, { method: 'POST', body: Buffer.from('x') });
    assert.equal(answer.body.toString(), 'POST /check?a=1 yes');
    assert.deepEqual(
      answer.trailers.filter(([name]) => name.startsWith('grpc-')),
      [
        ['grpc-status', '7'],
        ['grpc-message', 'denied'],
      ],
    );
  });
});
