/** The `Host` that backends get: their own name or the client's, what policies put in its place, and other header edits. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as ask, type IncomingMessage } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { startGateway } from '../../src/main.ts';

const listening = async (t: TestContext, server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
};

/** An app that answers with the request line and the headers that it got, a line each. */
const startApp = (t: TestContext): Promise<number> =>
  listening(
    t,
    createServer(({ method, url, rawHeaders }, response) => {
      const lines = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : [],
      );
      response.end([`${method} ${url}`, ...lines].join('\n'));
    }),
  );

async function gatewayWith(t: TestContext, routes: readonly object[], more: object = {}): Promise<number> {
  const config = {
    adminAddr: 'off',
    statsAddr: 'off',
    readinessAddr: 'off',
    logging: { level: 'error', accessLog: 'none' },
  };
  const document = { config, binds: [{ port: 0, listeners: [{ routes }] }], ...more };
  const gateway = await startGateway({
    source: { text: JSON.stringify(document) },
    env: {},
    version: 'test',
  });
  t.after(() => gateway.closeNow());
  return gateway.binds[0]?.port ?? 0;
}

async function answerOf(port: number, path = '/', headers: Record<string, string> = {}): Promise<string> {
  const request = ask({
    host: '127.0.0.1',
    port,
    path,
    headers: { host: 'Client.Test:99', ...headers },
    agent: false,
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return `${response.statusCode}\n${await text(response)}`;
}

const valuesOf = (answer: string, name: string): string[] =>
  answer.split('\n').flatMap((line) => (line.startsWith(`${name}: `) ? [line.slice(name.length + 2)] : []));

const at = (path: string, host: string, policies: object = {}, backend: object = {}): object => ({
  matches: [{ path: { exact: path } }],
  policies,
  backends: [{ host, ...backend }],
});

test('a backend that is named by host name is asked by that name, one with an address by that of the client', async (t) => {
  const app = await startApp(t);
  const port = await gatewayWith(
    t,
    [
      at('/name', `localhost:${app}`),
      at('/address', `127.0.0.1:${app}`),
      at('/elsewhere', 'app.internal:80', {}, { addresses: [`127.0.0.1:${app}`] }),
      at('/other-port', 'app.internal:8080', {}, { addresses: [`127.0.0.1:${app}`] }),
      { matches: [{ path: { exact: '/named' } }], backends: [{ backend: 'app' }] },
      {
        matches: [{ path: { exact: '/retried' } }],
        policies: { retry: { codes: [503], attempts: 2 } },
        backends: [{ backend: 'app' }],
      },
    ],
    { backends: [{ name: 'app', host: `localhost:${app}` }] },
  );
  for (const [path, host] of [
    ['/name', `localhost:${app}`],
    ['/address', 'Client.Test:99'],
    ['/elsewhere', 'app.internal'],
    ['/other-port', 'app.internal:8080'],
    ['/named', `localhost:${app}`],
    ['/retried', `localhost:${app}`],
  ] as const) {
    const answer = await answerOf(port, path);
    assert.deepEqual(valuesOf(answer, 'host'), [host], path);
    assert.deepEqual(valuesOf(answer, 'x-forwarded-host'), ['client.test:99'], path);
  }
});

test('urlRewrite.authority and requestHeaderModifier say otherwise, and none keeps the name that the client sent', async (t) => {
  const app = await startApp(t);
  const name = `localhost:${app}`;
  const port = await gatewayWith(t, [
    at('/none', name, { urlRewrite: { authority: 'none' } }),
    at('/full', name, { urlRewrite: { authority: { full: 'full.test' } } }),
    at('/host', name, { urlRewrite: { authority: { host: 'host.test' } } }),
    at('/auto', `127.0.0.1:${app}`, { urlRewrite: { authority: 'auto' } }),
    at('/path', name, { urlRewrite: { path: { full: '/path' } } }),
    at('/set', name, { requestHeaderModifier: { set: { Host: 'set.test' } } }),
    at('/set-address', `127.0.0.1:${app}`, {
      requestHeaderModifier: { set: { ':authority': 'set.test:8' } },
    }),
    at('/set-none', name, {
      requestHeaderModifier: { set: { host: 'set.test' } },
      urlRewrite: { authority: 'none' },
    }),
    at('/set-full', name, {
      requestHeaderModifier: { set: { host: 'set.test' } },
      urlRewrite: { authority: { full: 'full.test' } },
    }),
  ]);
  for (const [path, host] of [
    ['/none', 'client.test:99'],
    ['/full', 'full.test'],
    ['/host', 'host.test:99'],
    ['/auto', `127.0.0.1:${app}`],
    ['/path', name],
    ['/set', 'set.test'],
    ['/set-address', 'set.test:8'],
    ['/set-none', 'set.test'],
    ['/set-full', 'full.test'],
  ] as const)
    assert.deepEqual(valuesOf(await answerOf(port, path), 'host'), [host], path);
});

test('a copy of a request names the mirror as a backend would be named', async (t) => {
  const app = await startApp(t);
  const heard: (string | undefined)[] = [];
  const copies = new Set<() => void>();
  const mirror = createServer(({ headers }, response) => {
    heard.push(headers.host);
    response.end();
    for (const told of copies) told();
  });
  const mirrored = await listening(t, mirror);
  const mirroring = (host: string): object => ({ requestMirror: { backend: { host }, percentage: 1 } });
  const port = await gatewayWith(t, [
    at('/name', `127.0.0.1:${app}`, mirroring(`localhost:${mirrored}`)),
    at('/address', `localhost:${app}`, mirroring(`127.0.0.1:${mirrored}`)),
  ]);
  for (const path of ['/name', '/address']) {
    const copied = new Promise<void>((resolve) => copies.add(resolve));
    await answerOf(port, path);
    await copied;
  }
  assert.deepEqual(heard, [`localhost:${mirrored}`, 'Client.Test:99']);
});

test('a backend of HTTP/2 gets the same name as :authority', async (t) => {
  const server = createHttp2Server((request, response) => void response.end(request.authority));
  const app = await listening(t, server);
  const http2 = { policies: { http: { version: 'HTTP/2.0' } } };
  const port = await gatewayWith(t, [
    at('/name', `localhost:${app}`, {}, http2),
    at('/address', `127.0.0.1:${app}`, {}, http2),
  ]);
  assert.equal(await answerOf(port, '/name'), `200\nlocalhost:${app}`);
  assert.match(await answerOf(port, '/address'), /^200\nclient\.test:99$/i);
});

test('headers are added to, then set, then removed', async (t) => {
  const app = await startApp(t);
  const port = await gatewayWith(t, [
    at('/', `127.0.0.1:${app}`, {
      requestHeaderModifier: {
        add: { 'x-added': 'b', 'x-set': 'added', 'x-gone': 'added' },
        set: { 'x-set': 'set', 'x-gone': 'set' },
        remove: ['x-gone'],
      },
    }),
  ]);
  const answer = await answerOf(port, '/', { 'x-added': 'a', 'x-set': 'client', 'x-gone': 'client' });
  assert.deepEqual(
    ['x-added', 'x-set', 'x-gone'].map((name) => valuesOf(answer, name)),
    [['a', 'b'], ['set'], []],
  );
});

test('pseudo-headers choose a route in HTTP/1.1 and HTTP/2, also where the target is in absolute form', async (t) => {
  const matching = (name: string, value: object, body: string): object => ({
    matches: [{ headers: [{ name, value }] }],
    policies: { directResponse: { status: 200, body } },
  });
  const port = await gatewayWith(t, [
    matching(':authority', { exact: 'Shop.Test:99' }, 'authority'),
    matching(':method', { exact: 'DELETE' }, 'method'),
    matching(':path', { regex: '/a\\?b=.*' }, 'path'),
    matching(':scheme', { exact: 'http' }, 'scheme'),
  ]);
  assert.equal(await answerOf(port, '/', { host: 'shop.test:99' }), '200\nauthority');
  assert.equal(await answerOf(port, '/a?b=1'), '200\npath');
  assert.equal(await answerOf(port, '/a'), '200\nscheme');
  const socket = connect(port, '127.0.0.1');
  socket.write('GET http://shop.test:99/ HTTP/1.1\r\nhost: other.test\r\nconnection: close\r\n\r\n');
  assert.match(await text(socket), /\r\nauthority$/);
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':path': '/', ':authority': 'shop.test:99' });
  assert.equal(await text(stream), 'authority');
  session.close();
  const deleting = ask({ host: '127.0.0.1', port, method: 'DELETE', agent: false });
  deleting.end();
  const [response] = (await once(deleting, 'response')) as [IncomingMessage];
  assert.equal(await text(response), 'method');
});

test('OPTIONS of an allowed origin is answered by cors, also without Access-Control-Request-Method', async (t) => {
  const app = await startApp(t);
  const port = await gatewayWith(t, [
    at('/', `127.0.0.1:${app}`, { cors: { allowOrigins: ['https://app.test'] } }),
  ]);
  const options = async (origin: string): Promise<[string | undefined, string]> => {
    const request = ask({ host: '127.0.0.1', port, method: 'OPTIONS', headers: { origin }, agent: false });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    assert.equal(response.statusCode, 200);
    return [response.headers['access-control-allow-origin'], await text(response)];
  };
  assert.deepEqual(await options('https://app.test'), ['https://app.test', '']);
  const [allowed, body] = await options('https://evil.test');
  assert.equal(allowed, undefined);
  assert.match(body, /^OPTIONS \//);
});

test('an MCP server is asked by its name or address, or by the host that a policy sets', async (t) => {
  const heard: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    heard.push(headers.host);
    response.writeHead(500).end();
  });
  const app = await listening(t, server);
  const mcp = (path: string, host: string, policies: object): object => ({
    matches: [{ path: { exact: path } }],
    policies,
    backends: [{ mcp: { targets: [{ name: 'far', mcp: { host: `http://${host}/mcp` } }] } }],
  });
  const port = await gatewayWith(t, [
    mcp('/name', `localhost:${app}`, {}),
    mcp('/address', `127.0.0.1:${app}`, {}),
    mcp('/set', `127.0.0.1:${app}`, { requestHeaderModifier: { set: { host: 'tools.test' } } }),
  ]);
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  for (const path of ['/name', '/address', '/set']) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    });
    await answer.text();
  }
  assert.deepEqual([...new Set(heard)], [`localhost:${app}`, `127.0.0.1:${app}`, 'tools.test']);
});
