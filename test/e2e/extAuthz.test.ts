/** extAuthz: real services, over gRPC and HTTP, decide about requests. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect, type AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { startAuthorization, type Check, type Decision } from '../../examples/policies/extAuthz/service.ts';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { launcher } from '../../src/launcher.testing.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { until } from '../../src/until.testing.ts';
import type { UnaryService } from '../../examples/unaryService.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { audience, inline, startIdp } from './stage.testing.ts';

const allow: Decision = { status: { code: 0 } };
const header = (key: string, value: string, more: object = {}): object => ({
  header: { key, value },
  ...more,
});

/** A request as the app behind the gateway got it. */
interface Forwarded {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('with extAuthz, the gateway', () => {
  let decide: (check: Check) => Decision | Promise<Decision>;
  let checks: Check[];
  let answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  let asked: { readonly request: IncomingMessage; readonly body: string }[];
  let forwarded: Forwarded[];
  let service: UnaryService;
  let http: Server;
  let app: Server;
  let idp: DevIdp & AsyncDisposable;
  let tools: RemoteServer;
  let gateway: GatewayProcess;

  before(async () => {
    service = await startAuthorization(0, (check) => {
      checks.push(check);
      return decide(check);
    });
    http = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        asked.push({ request, body });
        answer(request, response, body);
      });
    });
    app = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { url = '', headers } = request;
        forwarded.push({ url, body, headers: headers as Forwarded['headers'] });
        response.statusCode = url.startsWith('/body-retry') && forwarded.length === 1 ? 503 : 200;
        response.end('app');
      });
    });
    idp = await startIdp();
    tools = await RemoteServer.start();
    const gone = await startAuthorization(0, () => allow);
    gone.close();
    const [httpPort, appPort] = [await listening(http), await listening(app)];
    const overGrpc = { host: `127.0.0.1:${service.port}` };
    const dead = { host: `127.0.0.1:${gone.port}` };
    const overHttp = (settings: object, more: object = {}): object => ({
      host: `127.0.0.1:${httpPort}`,
      protocol: { http: settings },
      ...more,
    });
    const jwtAuth = {
      mode: 'strict',
      issuer: idp.issuer,
      audiences: [audience],
      jwks: { url: `${idp.issuer}/v1/keys` },
    };
    const policies: Readonly<Record<string, object>> = {
      '/grpc': { extAuthz: { ...overGrpc, protocol: { grpc: { context: { route: 'first' } } } } },
      '/values': {
        extAuthz: {
          ...overGrpc,
          includeRequestHeaders: ['X-One', ':path'],
          protocol: {
            grpc: { metadata: { 'a.b': '{"path": request.path}', none: 'request.headers["x-no"]' } },
          },
        },
        authorization: { rules: [{ deny: 'extauthz.plan != "gold"', name: 'gold only' }] },
      },
      '/claims': { jwtAuth, extAuthz: overGrpc },
      '/named': { extAuthz: { backend: 'authz' } },
      '/slow': { extAuthz: { ...overGrpc, policies: { http: { requestTimeout: '200ms' } } } },
      '/slow-open': {
        extAuthz: { ...overGrpc, failureMode: 'allow', policies: { http: { requestTimeout: '200ms' } } },
      },
      '/dead': { extAuthz: dead },
      '/dead-open': { extAuthz: { ...dead, failureMode: 'allow' } },
      '/dead-status': { extAuthz: { ...dead, failureMode: { denyWithStatus: 503 } } },
      '/open': { extAuthz: { ...overGrpc, failureMode: 'allow' } },
      '/kept': {
        extAuthz: { ...overGrpc, cache: { key: ['request.headers["x-user"]', 'request.path'], ttl: '1h' } },
      },
      '/kept-until': {
        extAuthz: { ...overGrpc, cache: { key: ['request.path'], ttl: 'timestamp(extauthz.until)' } },
      },
      '/kept-http': {
        extAuthz: overHttp({}, { cache: { key: ['request.path'], ttl: 'duration("1h")', maxEntries: 2 } }),
      },
      '/http': { extAuthz: overHttp({}) },
      '/mcp': {
        extAuthz: overGrpc,
        transformations: { request: { set: { 'x-plan': 'extauthz.plan' } } },
      },
      '/body': { extAuthz: { ...overGrpc, includeRequestBody: { maxRequestBytes: 20 } } },
      '/body-bytes': { extAuthz: { ...overGrpc, includeRequestBody: { packAsBytes: true } } },
      '/body-retry': {
        extAuthz: { ...overGrpc, includeRequestBody: {} },
        retry: { attempts: 2, codes: [503] },
        requestMirror: { backend: { host: `127.0.0.1:${httpPort}` }, percentage: 1 },
      },
      '/body-http': { extAuthz: overHttp({}, { includeRequestBody: {} }) },
      '/mcp-body': { extAuthz: { ...overGrpc, includeRequestBody: {} } },
      '/http-open': { extAuthz: overHttp({}, { failureMode: 'allow' }) },
      '/http-full': {
        extAuthz: overHttp(
          {
            path: '"/decide?of=" + request.path',
            body: '{"method": request.method}',
            addRequestHeaders: {
              'X-Forwarded-Uri': 'request.pathAndQuery',
              'x-none': 'request.headers["x-no"]',
            },
            includeResponseHeaders: ['X-User', 'x-roles'],
            metadata: {
              plan: 'json(response.body).plan',
              code: 'response.code',
              from: 'response.headers["x-from"]',
            },
            redirect: '"https://login.test/?to=" + request.path',
          },
          { includeRequestHeaders: [':authority', 'cookie', 'x-none'] },
        ),
        authorization: { rules: ['extauthz.plan == "gold" && extauthz.code == 200'] },
      },
    };
    gateway = await startGateway(`
config:
  logging: {fields: {add: {plan: extauthz.plan}}}
backends: ${inline([{ name: 'authz', host: `127.0.0.1:${service.port}` }])}
binds:
- port: 0
  listeners:
  - routes: ${inline(
    Object.entries(policies).map(([path, of]) => ({
      name: path.slice(1),
      matches: [{ path: { pathPrefix: path } }],
      policies: of,
      backends: [
        path.startsWith('/mcp')
          ? { mcp: { targets: [{ name: 'tools', mcp: { host: tools.url } }] } }
          : { host: `127.0.0.1:${appPort}` },
      ],
    })),
  )}
- port: 0
  listeners:
  - policies: ${inline({ extAuthz: overGrpc })}
    routes: ${inline([
      { matches: [{ path: { pathPrefix: '/app' } }], backends: [{ host: `127.0.0.1:${appPort}` }] },
      {
        matches: [{ path: { pathPrefix: '/mcp' } }],
        backends: [
          { mcp: { targets: [{ name: 'none', mcp: { host: `http://127.0.0.1:${appPort}/mcp` } }] } },
        ],
      },
    ])}
`);
    await gateway.keysReady();
  });
  after(async () => {
    await gateway?.stop();
    service?.close();
    for (const server of [http, app]) {
      server?.close();
      server?.closeAllConnections();
    }
    await idp?.close();
    await tools?.close();
  });
  beforeEach(() => {
    decide = () => allow;
    answer = (_request, response) => response.end();
    checks = [];
    asked = [];
    forwarded = [];
  });

  const statusOf = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> =>
    (await ask(`${gateway.url}${path}`, { headers })).status;

  test('tells a gRPC service all about a request, and forwards it as it came', async () => {
    const reply = await ask(`${gateway.url}/grpc/a%20b?x=1&y=2`, {
      method: 'PUT',
      headers: { host: 'app.test:81', 'x-one': '1', cookie: 'a=1' },
      body: 'hello',
    });
    assert.deepEqual([reply.status, reply.body], [200, 'app']);
    const [{ attributes } = assert.fail('not asked')] = checks;
    const { time, http: given } = attributes.request;
    assert.ok(Math.abs(Number(time.seconds) * 1_000 - Date.now()) < 60_000);
    assert.match(given.id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(
      [given.method, given.path, given.host, given.scheme, given.protocol],
      ['PUT', '/grpc/a%20b?x=1&y=2', 'app.test:81', 'http', 'HTTP/1.1'],
    );
    const { ':path': path, ':method': method, 'x-one': one, cookie } = given.headers;
    assert.deepEqual([path, method, one, cookie], ['/grpc/a%20b?x=1&y=2', 'PUT', '1', 'a=1']);
    assert.equal(attributes.source.address.socket_address.address, '127.0.0.1');
    assert.deepEqual(attributes.destination.address.socket_address, {
      address: '127.0.0.1',
      port_value: gateway.ports[0],
    });
    assert.deepEqual(attributes.context_extensions, { route: 'first' });
    assert.deepEqual(attributes.metadata_context.filter_metadata, {});
    assert.equal(forwarded.length, 1);
  });

  test('sends the backend and the client the changes of a gRPC service', async () => {
    decide = () => ({
      ...allow,
      ok_response: {
        headers: [
          header('X-Set', 'new'),
          header('x-add', 'more', { append: { value: true } }),
          header('x-absent', 'made', { append_action: 1 }),
          header('x-there', 'made', { append_action: 1 }),
          header('x-gone', 'made', { append_action: 3 }),
          header('x-there-2', 'made', { append_action: 3 }),
          { header: { key: 'x-raw', raw_value: Buffer.from('raw') } },
        ],
        headers_to_remove: ['X-Secret', 'host', ':path'],
        response_headers_to_add: [header('x-decided', 'yes')],
        query_parameters_to_set: [{ key: 'who', value: 'a b&c' }],
        query_parameters_to_remove: ['secret'],
      },
    });
    const reply = await ask(`${gateway.url}/grpc?secret=1&who=me&a=%20&s%65cret=2`, {
      headers: {
        host: 'app.test',
        'x-set': 'old',
        'x-add': 'one',
        'x-there': 'old',
        'x-there-2': 'old',
        'x-secret': 'token',
      },
    });
    assert.deepEqual([reply.status, reply.headers['x-decided']], [200, 'yes']);
    const [{ url, headers } = assert.fail('not forwarded')] = forwarded;
    assert.equal(url, '/grpc?a=%20&who=a%20b%26c');
    assert.deepEqual(
      ['x-set', 'x-add', 'x-absent', 'x-there', 'x-gone', 'x-there-2', 'x-raw', 'x-secret'].map(
        (name) => headers[name],
      ),
      ['new', 'one, more', 'made', 'old', undefined, 'made', 'raw', undefined],
    );
  });

  test('answers as a gRPC service says when it refuses, forwards nothing, and names the policy', async () => {
    decide = () => ({
      status: { code: 16 },
      denied_response: {
        status: { code: 401 },
        headers: [header('WWW-Authenticate', 'Own realm="a"'), header('Content-Length', '1')],
        body: 'log in first',
      },
      // The status counts, whatever else the answer has.
      dynamic_metadata: { fields: { plan: { stringValue: 'none' } } },
    });
    const reply = await ask(`${gateway.url}/grpc/refused`);
    assert.deepEqual([reply.status, reply.body], [401, 'log in first']);
    assert.equal(reply.headers['www-authenticate'], 'Own realm="a"');
    assert.equal(forwarded.length, 0);
    const line = await gateway.lineWith('/grpc/refused');
    assert.match(line, /policy=extAuthz/);
    assert.match(line, /routes\[0\]\.policies\.extAuthz/);
    assert.match(line, /plan=none/);
  });

  test('refuses with 403 where a gRPC service gives no response of its own, or no possible status', async () => {
    for (const more of [{}, { ok_response: {} }, { denied_response: { status: { code: 42 } } }]) {
      decide = () => ({ status: { code: 7 }, ...more });
      assert.equal(await statusOf('/grpc'), 403);
    }
    assert.equal(forwarded.length, 0);
  });

  test('lets rules and the log read the values of a service, which gets the headers and values of the file', async () => {
    const withPlan = (plan: string) => (): Decision => ({
      ...allow,
      dynamic_metadata: { fields: { plan: { stringValue: plan } } },
    });
    decide = withPlan('gold');
    assert.equal(await statusOf('/values/gold', { 'x-one': '1', 'x-two': '2' }), 200);
    const [{ attributes } = assert.fail('not asked')] = checks;
    assert.deepEqual(attributes.request.http.headers, { 'x-one': '1', ':path': '/values/gold' });
    assert.deepEqual(Object.keys(attributes.metadata_context.filter_metadata), ['a.b']);
    assert.match(JSON.stringify(attributes.metadata_context.filter_metadata), /"path".*"\/values\/gold"/);
    assert.match(await gateway.lineWith('/values/gold'), /plan=gold/);
    decide = withPlan('basic');
    assert.equal(await statusOf('/values/basic'), 403);
    assert.match(await gateway.lineWith('/values/basic'), /gold only/);
    decide = () => allow;
    assert.equal(await statusOf('/values/none'), 403);
  });

  test('gives a gRPC service the verified claims in place of the token', async () => {
    assert.equal(await statusOf('/claims'), 401);
    assert.equal(checks.length, 0);
    const token = await idp.issueToken({ user: 'alice' });
    assert.equal(await statusOf('/claims', { authorization: `Bearer ${token}` }), 200);
    const [{ attributes } = assert.fail('not asked')] = checks;
    assert.equal(attributes.request.http.headers['authorization'], undefined);
    const shown = JSON.stringify(attributes.metadata_context.filter_metadata);
    assert.match(shown, /^\{"envoy\.filters\.http\.jwt_authn":.*"jwt_payload".*"alice"/);
    assert.ok(!shown.includes(token));
  });

  test('calls a service that `backend` names', async () => {
    assert.equal(await statusOf('/named'), 200);
    assert.equal(checks.length, 1);
  });

  test('refuses or admits without a decision as failureMode says', async () => {
    const expected = { '/dead': 403, '/dead-open': 200, '/dead-status': 503 };
    for (const [path, status] of Object.entries(expected)) assert.equal(await statusOf(path), status, path);
    assert.deepEqual(
      forwarded.map(({ url }) => url),
      ['/dead-open'],
    );
    assert.equal(await statusOf('/dead/one'), 403);
    assert.match(await gateway.lineWith('/dead/one'), /error=ext_authz_failed.*policy=extAuthz/);
    await gateway.logged(/External authorization failed: the request passed.*service=127\.0\.0\.1/);
    decide = () => {
      throw new Error('broken');
    };
    assert.equal(await statusOf('/grpc'), 403);
    assert.equal(await statusOf('/open'), 200);
    decide = () => new Promise<never>(() => undefined);
    assert.equal(await statusOf('/slow'), 403);
    assert.equal(await statusOf('/slow-open'), 200);
  });

  test('refuses where the answer of a service cannot be used, even with failureMode: allow', async () => {
    for (const [key, value] of [
      ['content-length', '1'],
      ['Transfer-Encoding', 'chunked'],
      ['host', 'other'],
      [':path', '/other'],
      ['x-a', 'b\r\nx-c: d'],
      ['', 'x'],
    ] as const) {
      decide = () => ({ ...allow, ok_response: { headers: [header('x-first', '1'), header(key, value)] } });
      assert.equal(await statusOf('/open'), 403, key);
    }
    assert.equal(forwarded.length, 0);
  });

  test('gives an HTTP service the method, the target and the token alone', async () => {
    const reply = await ask(`${gateway.url}/http/a?b=1`, {
      method: 'DELETE',
      headers: { authorization: 'Bearer opaque', cookie: 'a=1', 'x-user': 'me' },
    });
    assert.equal(reply.status, 200);
    const [{ request, body } = assert.fail('not asked')] = asked;
    assert.deepEqual([request.method, request.url, body], ['DELETE', '/http/a?b=1', '']);
    assert.deepEqual(
      [request.headers.authorization, request.headers.cookie, request.headers['x-user']],
      ['Bearer opaque', undefined, undefined],
    );
    assert.equal(forwarded.length, 1);
  });

  test('passes the response of an HTTP service on that refuses, and forwards nothing', async () => {
    answer = (_request, response) => {
      response.writeHead(402, { 'x-why': 'no money', 'content-type': 'text/plain' });
      response.end('pay first');
    };
    const reply = await ask(`${gateway.url}/http/refused`);
    assert.deepEqual(
      [reply.status, reply.body, reply.headers['x-why'], reply.headers['content-type']],
      [402, 'pay first', 'no money', 'text/plain'],
    );
    answer = (_request, response) => response.writeHead(302, { location: '/login' }).end();
    assert.equal((await ask(`${gateway.url}/http`)).headers.location, '/login');
    assert.equal(forwarded.length, 0);
    assert.match(await gateway.lineWith('/http/refused'), /policy=extAuthz/);
  });

  test('takes an HTTP service that fails for one that gives no decision', async () => {
    answer = (_request, response) => response.writeHead(500).end('stack trace');
    const reply = await ask(`${gateway.url}/http`);
    assert.equal(reply.status, 403);
    assert.ok(!reply.body.includes('stack trace'));
    assert.equal(await statusOf('/http-open'), 200);
    answer = (_request, response) => response.destroy();
    assert.equal(await statusOf('/http'), 403);
  });

  test('makes the call of an HTTP service by expressions, and takes headers and values from its answer', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'x-user': 'ada', 'x-other': '1', 'x-from': 'here' });
      response.end('{"plan":"gold"}');
    };
    const spoofed = { 'x-user': 'root', 'x-roles': 'admin', 'x-none': 'mine', 'x-forwarded-uri': '/mine' };
    const headers = { host: 'app.test', cookie: 'a=1', authorization: 'Bearer x', ...spoofed };
    assert.equal(await statusOf('/http-full/a?b=1', headers), 200);
    const [{ request, body } = assert.fail('not asked')] = asked;
    assert.equal(request.url, '/decide?of=/http-full/a');
    assert.equal(body, '{"method":"GET"}');
    assert.deepEqual(
      ['host', 'cookie', 'authorization', 'x-forwarded-uri', 'x-none'].map((name) => request.headers[name]),
      ['app.test', 'a=1', undefined, '/http-full/a?b=1', undefined],
    );
    const [{ headers: sent } = assert.fail('not forwarded')] = forwarded;
    assert.deepEqual([sent['x-user'], sent['x-roles'], sent['x-other']], ['ada', undefined, undefined]);
    for (const status of [401, 403]) {
      answer = (_request, response) => response.writeHead(status).end();
      const reply = await ask(`${gateway.url}/http-full/b`);
      assert.deepEqual([reply.status, reply.headers.location], [302, 'https://login.test/?to=/http-full/b']);
    }
    assert.equal(forwarded.length, 1);
  });

  /** Sends a request as it stands, and reads all answers until the gateway ends the connection. */
  async function sent(text: string): Promise<string> {
    const socket = connect(gateway.ports[0]!, '127.0.0.1');
    let answers = '';
    socket.on('data', (chunk: Buffer) => (answers += chunk.toString()));
    socket.write(text);
    await once(socket, 'close');
    return answers;
  }

  test('gives a service the body, and forwards it as it came', async () => {
    const bodies = (): unknown[] =>
      checks.map(({ attributes }) => {
        const { body, raw_body, size } = attributes.request.http;
        return [body, raw_body.toString(), String(size)];
      });
    const whole = await ask(`${gateway.url}/body`, { method: 'POST', body: 'hello wörld' });
    assert.equal(whole.status, 200);
    const chunked = 'POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n';
    const chunks = '3;a=b\r\nabc\r\n1\r\nd\r\n0\r\n\r\n';
    const last = 'GET /body HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
    // Another request waits behind each of them.
    const answers = await sent(`${chunked}\r\n${chunks}${chunked}\r\n0\r\n\r\n${last}`);
    assert.equal(answers.match(/HTTP\/1\.1 200 OK/g)?.length, 3);
    assert.deepEqual(bodies(), [
      ['hello wörld', '', '12'],
      ['abcd', '', '4'],
      ['', '', '0'],
      ['', '', '0'],
    ]);
    assert.deepEqual(
      forwarded.map(({ body }) => body),
      ['hello wörld', 'abcd', '', ''],
    );
    checks = [];
    assert.equal((await ask(`${gateway.url}/body-bytes`, { method: 'POST', body: 'hello' })).status, 200);
    assert.deepEqual(bodies(), [['', 'hello', '5']]);
  });

  test('answers a client that waits for leave to send its body', async () => {
    const head = 'POST /body HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\nconnection: close\r\n';
    const socket = connect(gateway.ports[0]!, '127.0.0.1');
    let answers = '';
    socket.on('data', (chunk: Buffer) => {
      if (answers === '') socket.write('hello');
      answers += chunk.toString();
    });
    socket.write(`${head}content-length: 5\r\n\r\n`);
    await once(socket, 'close');
    assert.match(answers, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/);
    assert.deepEqual(
      forwarded.map(({ body }) => body),
      ['hello'],
    );
  });

  test('forwards a body that HTTP/2 clients send, and one that is sent twice and copied', async () => {
    const session = connectHttp2(gateway.url);
    const status = async (path: string, parts: readonly string[]): Promise<unknown> => {
      const stream = session.request({ ':method': 'POST', ':path': path });
      for (const part of parts) stream.write(part);
      stream.end();
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
      stream.resume();
      await once(stream, 'close');
      return headers[':status'];
    };
    assert.equal(await status('/body', ['ab', 'cd']), 200);
    assert.deepEqual(
      forwarded.map(({ body }) => body),
      ['abcd'],
    );
    forwarded = [];
    assert.equal(await status('/body-retry', ['ab', 'cd']), 200);
    assert.deepEqual(
      forwarded.map(({ body }) => body),
      ['abcd', 'abcd'],
    );
    await until('the copy is there', () => asked.length > 0);
    assert.equal(asked[0]?.body, 'abcd');
    session.close();
  });

  test('refuses a body that is too large for a service, by its length or as it comes', async () => {
    const long = 'x'.repeat(21);
    assert.equal((await ask(`${gateway.url}/body`, { method: 'POST', body: long })).status, 413);
    const socket = connect(gateway.ports[0]!, '127.0.0.1');
    socket.write(
      `POST /body HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(21)}`,
    );
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    assert.match(bytes.toString(), /^HTTP\/1\.1 413 /);
    socket.destroy();
    assert.equal(checks.length + forwarded.length, 0);
  });

  test('gives an HTTP service and MCP routes the body, too', async () => {
    assert.equal((await ask(`${gateway.url}/body-http`, { method: 'POST', body: 'hello' })).status, 200);
    assert.deepEqual([asked[0]?.body, forwarded[0]?.body], ['hello', 'hello']);
    const session = await openSession(`${gateway.url}/mcp-body`);
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    await session.close();
    const bodies = checks.map(({ attributes }) => attributes.request.http.body);
    assert.ok(bodies.some((body) => /"tools\/call".*"text":"x"/.test(body)));
  });

  test('gives MCP servers the values of a service where transformations say so, and none of its headers', async () => {
    decide = () => ({
      ...allow,
      ok_response: { headers: [header('x-user', 'ada')] },
      dynamic_metadata: { fields: { plan: { stringValue: 'gold' } } },
    });
    tools.seen.length = 0;
    const session = await openSession(`${gateway.url}/mcp`);
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    await session.close();
    assert.ok(tools.seen.length >= 3);
    for (const { headers } of tools.seen)
      assert.deepEqual([headers['x-plan'], headers['x-user']], ['gold', undefined]);
    decide = () => ({ status: { code: 7 } });
    tools.seen.length = 0;
    await assert.rejects(openSession(`${gateway.url}/mcp`));
    assert.equal(tools.seen.length, 0);
  });

  test('asks once for requests with the same key, and each of them gets the whole decision', async () => {
    decide = ({ attributes }) => {
      const user = attributes.request.http.headers['x-user'];
      if (user === 'eve')
        return { status: { code: 7 }, denied_response: { status: { code: 401 }, body: 'no' } };
      return { ...allow, ok_response: { headers: [header('x-name', String(user))] } };
    };
    for (const user of ['ada', 'bob', 'ada', 'bob'])
      assert.equal(await statusOf('/kept/a', { 'x-user': user, 'x-name': 'mine' }), 200);
    assert.deepEqual(
      forwarded.map(({ headers }) => headers['x-name']),
      ['ada', 'bob', 'ada', 'bob'],
    );
    for (let i = 0; i < 2; i++) assert.equal(await statusOf('/kept/a', { 'x-user': 'eve' }), 401);
    assert.equal(checks.length, 3);
    assert.equal(await statusOf('/kept/b', { 'x-user': 'ada' }), 200);
    // The key has no value: no decision is kept.
    for (let i = 0; i < 2; i++) assert.equal(await statusOf('/kept/a'), 200);
    assert.equal(checks.length, 6);
    assert.match(await gateway.lineWith('extAuthz="a kept decision"'), /\/kept\/a/);
  });

  test('keeps a decision as long as its own values say', async () => {
    const until = (time: number) => (): Decision => ({
      ...allow,
      dynamic_metadata: { fields: { until: { stringValue: new Date(time).toISOString() } } },
    });
    for (const [path, time, expected] of [
      ['/kept-until/past', Date.now() - 1_000, 2],
      ['/kept-until/future', Date.now() + 3_600_000, 1],
    ] as const) {
      checks = [];
      decide = until(time);
      for (let i = 0; i < 2; i++) assert.equal(await statusOf(path), 200);
      assert.equal(checks.length, expected, path);
    }
  });

  test('keeps no more decisions of an HTTP service than the file says, and none but its usual refusals', async () => {
    for (const path of ['a', 'b', 'a', 'c', 'a', 'b'])
      assert.equal(await statusOf(`/kept-http/${path}`), 200);
    assert.deepEqual(
      asked.map(({ request }) => request.url),
      ['a', 'b', 'c', 'b'].map((path) => `/kept-http/${path}`),
    );
    for (const [status, times] of [
      [403, 1],
      [402, 2],
      [500, 2],
    ] as const) {
      asked = [];
      answer = (_request, response) => response.writeHead(status).end();
      for (let i = 0; i < 2; i++)
        assert.equal(await statusOf(`/kept-http/${status}`), status === 500 ? 403 : status);
      assert.equal(asked.length, times, String(status));
    }
  });

  test('asks for every request of a listener, those of MCP clients and those without a route, too', async () => {
    const url = `http://127.0.0.1:${gateway.ports[1]}`;
    decide = () => ({ status: { code: 7 } });
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
    const posted = await ask(`${url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(initialize),
    });
    assert.equal(posted.status, 403);
    for (const path of ['/app', '/nowhere']) assert.equal((await ask(url + path)).status, 403);
    assert.equal(forwarded.length, 0);
    decide = () => allow;
    assert.equal((await ask(`${url}/app`)).status, 200);
    assert.equal((await ask(`${url}/nowhere`)).status, 404);
    assert.equal(checks.length, 5);
  });

  test('asks no service where a request is only explained', async () => {
    const file = `${gateway.file}.http`;
    writeFileSync(file, 'GET /grpc HTTP/1.1\r\nhost: a\r\n\r\n');
    const { stdout } = spawnSync(process.execPath, [launcher, 'why', '-f', gateway.file, '--request', file], {
      encoding: 'utf8',
    });
    assert.match(stdout, /extAuthz.*not evaluated.*it asks 127\.0\.0\.1/);
    assert.equal(checks.length, 0);
  });
});
