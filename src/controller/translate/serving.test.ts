/** Serves translated models: objects of the Gateway API in front of real apps on the loopback interface. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTcp } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { joinEndpoints } from '../../model/index.ts';
import { startApp, type App } from '../../proxy/apps.testing.ts';
import { TestPlane } from '../../proxy/dataPlane.testing.ts';
import { field, get, RawClient, status, type Message } from '../../proxy/wire.testing.ts';
import { translate } from './index.ts';
import { gateWith, readObjects } from './objects.testing.ts';

const gate = (listeners: string): string => `${gateWith(listeners)}
kind: Secret
metadata: { name: a }
type: kubernetes.io/tls
data: { tls.crt: '@a.crt', tls.key: '@a.key' }
`;

const http = gate('{ name: web, port: 8080, protocol: HTTP }');

const service = (name: string, port: number): string => `
---
kind: Service
metadata: { name: ${name} }
spec: { ports: [{ port: 80 }] }
---
kind: EndpointSlice
metadata: { name: ${name}, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv4
ports: [{ port: ${port} }]
endpoints: [{ addresses: [127.0.0.1] }]
`;

const route = (name: string, spec: string): string => `
---
kind: HTTPRoute
metadata: { name: ${name} }
spec: { parentRefs: [{ name: gate }], ${spec} }
`;

/** A data plane that serves what the objects say, each port on a free one. */
async function serve(t: TestContext, text: string): Promise<TestPlane> {
  const { objects, options } = readObjects(text);
  const { models, endpoints, defects } = translate(objects, options);
  assert.deepEqual(defects, []);
  const found = models.get('default/gate');
  assert.ok(found);
  const plane = new TestPlane();
  t.after(() => plane.close());
  const model = joinEndpoints(found.model, endpoints);
  await plane.plane.apply({ ...model, binds: model.binds.map((bind) => ({ ...bind, port: 0 })) });
  return plane;
}

const ask = (plane: TestPlane, path: string, ...lines: string[]): Promise<Message> =>
  plane.ask(get(path, ...lines));

/** Answers with its name, and with the request in headers. */
async function app(t: TestContext, name: string): Promise<App> {
  const started = await startApp(t);
  started.behave = ({ url, headers }, response) => {
    response.setHeader('x-app', name);
    response.setHeader('x-url', url ?? '');
    response.setHeader('x-host', headers.host ?? '');
    response.setHeader('x-mark', headers['x-mark'] ?? '');
    response.end();
  };
  return started;
}

test('rules are chosen as the Gateway API says, and each way that leads nowhere has its own answer', async (t) => {
  const [one, two] = [await app(t, 'one'), await app(t, 'two')];
  const plane = await serve(
    t,
    http +
      service('one', one.port) +
      service('two', two.port) +
      service('empty', 1).replace('endpoints: [{ addresses: [127.0.0.1] }]', 'endpoints: []') +
      route(
        'rules',
        `rules: [
          { matches: [{ path: { value: /two } }, { headers: [{ name: version, value: two }] }], backendRefs: [{ name: two, port: 80 }] },
          { matches: [{ path: { type: Exact, value: /nothing } }] },
          { matches: [{ path: { value: /missing } }], backendRefs: [{ name: absent, port: 80 }] },
          { matches: [{ path: { value: /empty } }], backendRefs: [{ name: empty, port: 80 }] },
          { matches: [{ path: { value: /one } }], backendRefs: [{ name: one, port: 80 }] }]`,
      ),
  );
  const appOf = async (path: string, ...lines: string[]) => field(await ask(plane, path, ...lines), 'x-app');
  assert.equal(await appOf('/one/more'), 'one');
  assert.equal(await appOf('/two'), 'two');
  assert.equal(await appOf('/else', 'version: two'), 'two');
  assert.equal(status(await ask(plane, '/twofold')), 404);
  assert.equal(status(await ask(plane, '/nothing')), 500);
  assert.equal(status(await ask(plane, '/missing')), 500);
  assert.equal(status(await ask(plane, '/empty')), 503);
});

test('redirects name the port of the listener, of the filter, or the usual one of their scheme', async (t) => {
  const plane = await serve(
    t,
    http +
      route(
        'redirects',
        `rules: [
          { matches: [{ path: { value: /none } }], filters: [{ type: RequestRedirect, requestRedirect: { hostname: example.org } }] },
          { matches: [{ path: { value: /port } }], filters: [{ type: RequestRedirect, requestRedirect: { hostname: example.org, port: 80 } }] },
          { matches: [{ path: { value: /scheme } }], filters: [{ type: RequestRedirect, requestRedirect: { scheme: https } }] },
          { matches: [{ path: { value: /same } }], filters: [{ type: RequestRedirect, requestRedirect: { scheme: http } }] },
          { matches: [{ path: { value: /path } }], filters: [{ type: RequestRedirect, requestRedirect: { path: { type: ReplacePrefixMatch, replacePrefixMatch: /new } } }] }]`,
      ),
  );
  const location = async (path: string) => field(await ask(plane, path, 'x: y'), 'location');
  assert.equal(await location('/none'), 'http://example.org:8080/none');
  assert.equal(await location('/port'), 'http://example.org/port');
  assert.equal(await location('/scheme'), 'https://app.test/scheme');
  assert.equal(await location('/same'), 'http://app.test/same');
  assert.equal(await location('/path/on?a=b'), 'http://app.test:8080/new/on?a=b');
});

test('filters of a rule and of a backend change the request, and mirrors get copies', async (t) => {
  const [real, copy] = [await app(t, 'real'), await app(t, 'copy')];
  const plane = await serve(
    t,
    http +
      service('real', real.port) +
      service('copy', copy.port) +
      route(
        'filters',
        `rules: [{
          matches: [{ path: { value: /in } }],
          filters: [
            { type: URLRewrite, urlRewrite: { hostname: inner.test, path: { type: ReplacePrefixMatch, replacePrefixMatch: '' } } },
            { type: RequestMirror, requestMirror: { backendRef: { name: copy, port: 80 } } },
            { type: ResponseHeaderModifier, responseHeaderModifier: { set: [{ name: x-out, value: out }], remove: [x-url] } }],
          backendRefs: [{ name: real, port: 80, filters: [
            { type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: X-Mark, value: backend }] } }] }] }]`,
      ),
  );
  const copied = once(copy.server, 'request');
  const answer = await ask(plane, '/in/side', 'x-mark: client');
  assert.equal(field(answer, 'x-app'), 'real');
  assert.equal(field(answer, 'x-host'), 'inner.test');
  assert.equal(field(answer, 'x-mark'), 'backend');
  assert.equal(field(answer, 'x-out'), 'out');
  assert.equal(field(answer, 'x-url'), undefined);
  const [request] = (await copied) as [{ url: string }];
  assert.equal(request.url, '/side');
});

test('CORS with credentials for every origin echoes the origin, in a preflight too', async (t) => {
  const plane = await serve(
    t,
    http +
      route(
        'cors',
        `rules: [{ filters: [{ type: CORS, cors: { allowOrigins: ['*'], allowCredentials: true, allowMethods: ['*'], allowHeaders: ['*'], exposeHeaders: [x-shown] } }] }]`,
      ),
  );
  const answer = await plane.ask(
    get(
      '/',
      'origin: https://page.test',
      'access-control-request-method: PUT',
      'access-control-request-headers: x-a',
    ).replace('GET', 'OPTIONS'),
  );
  assert.equal(status(answer), 200);
  for (const [name, value] of [
    ['allow-origin', 'https://page.test'],
    ['allow-credentials', 'true'],
    ['allow-methods', 'PUT'],
    ['allow-headers', 'x-a'],
    ['expose-headers', 'x-shown'],
    ['max-age', '5'],
  ] as const)
    assert.equal(field(answer, `access-control-${name}`), value, name);
});

test('time limits and retries: codes, backends that break off, and as often as was asked', async (t) => {
  const flaky = await startApp(t);
  const tries = new Map<string, number>();
  flaky.behave = ({ url = '' }, response) => {
    const count = (tries.get(url) ?? 0) + 1;
    tries.set(url, count);
    if (url.startsWith('/slow')) return;
    if (url.startsWith('/cut') && count < 3) response.destroy();
    else response.writeHead(count < 3 ? 500 : 200).end();
  };
  const plane = await serve(
    t,
    http +
      service('flaky', flaky.port) +
      route(
        'traffic',
        `rules: [
          { matches: [{ path: { value: /twice } }], retry: { codes: [500], attempts: 2 }, backendRefs: [{ name: flaky, port: 80 }] },
          { matches: [{ path: { value: /once } }], retry: { codes: [500], attempts: 1 }, backendRefs: [{ name: flaky, port: 80 }] },
          { matches: [{ path: { value: /cut } }], retry: { attempts: 2 }, backendRefs: [{ name: flaky, port: 80 }] },
          { matches: [{ path: { value: /slow-tries } }], timeouts: { backendRequest: 20ms }, retry: { attempts: 2 }, backendRefs: [{ name: flaky, port: 80 }] },
          { matches: [{ path: { value: /slow } }], timeouts: { request: 20ms }, backendRefs: [{ name: flaky, port: 80 }] }]`,
      ),
  );
  assert.equal(status(await ask(plane, '/twice')), 200);
  assert.equal(status(await ask(plane, '/once')), 500);
  assert.equal(status(await ask(plane, '/cut')), 200);
  assert.equal(status(await ask(plane, '/slow')), 504);
  assert.equal(status(await ask(plane, '/slow-tries')), 504);
  assert.deepEqual(Object.fromEntries(tries), {
    '/twice': 3,
    '/once': 2,
    '/cut': 3,
    '/slow': 1,
    '/slow-tries': 3,
  });
});

test('a request belongs to one listener alone, and a connection to the one it was opened for', async (t) => {
  const plane = await serve(
    t,
    gate(`
      { name: any, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: a }] } },
      { name: wild, port: 443, protocol: HTTPS, hostname: '*.wild.test', tls: { certificateRefs: [{ name: a }] } },
      { name: exact, port: 443, protocol: HTTPS, hostname: a.wild.test, tls: { certificateRefs: [{ name: a }] } }`) +
      `
---
kind: HTTPRoute
metadata: { name: any }
spec:
  parentRefs: [{ name: gate, sectionName: any }]
  hostnames: [any.test]
  rules: [{ filters: [{ type: RequestRedirect, requestRedirect: { hostname: any.example } }] }]
---
kind: HTTPRoute
metadata: { name: wild }
spec:
  parentRefs: [{ name: gate, sectionName: wild }]
  rules: [{ filters: [{ type: RequestRedirect, requestRedirect: { hostname: wild.example } }] }]
`,
  );
  const said = async (serverName: string, host: string): Promise<string> => {
    const client = await RawClient.secure(plane.port, { servername: serverName, rejectUnauthorized: false });
    const answer = await client.ask(get('/').replace('app.test', host));
    client.close();
    return field(answer, 'location') ?? String(status(answer));
  };
  assert.equal(await said('any.test', 'any.test'), 'https://any.example/');
  assert.equal(await said('any.test', 'other.test'), '404');
  assert.equal(await said('b.wild.test', 'b.wild.test'), 'https://wild.example/');
  assert.equal(await said('b.wild.test', 'a.wild.test'), '421');
  assert.equal(await said('b.wild.test', 'any.test'), '421');
  assert.equal(await said('a.wild.test', 'a.wild.test'), '404');
});

test('TLS is taken off or passed on, by the mode of the listener that has the server name', async (t) => {
  const greeter = createTcp((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => socket.end(bytes[0] === 22 ? 'tls' : `plain ${bytes.toString()}`));
  }).listen(0, '127.0.0.1');
  await once(greeter, 'listening');
  t.after(() => greeter.close());
  const { port } = greeter.address() as AddressInfo;
  const plane = await serve(
    t,
    gate(`
      { name: ended, port: 8443, protocol: TLS, hostname: ended.test, tls: { mode: Terminate, certificateRefs: [{ name: a }] } },
      { name: passed, port: 8443, protocol: TLS, hostname: passed.test, tls: { mode: Passthrough } }`) +
      service('greeter', port) +
      `
---
kind: TLSRoute
metadata: { name: both }
spec:
  parentRefs: [{ name: gate }]
  hostnames: [ended.test, passed.test]
  rules: [{ backendRefs: [{ name: greeter, port: 80 }] }]
`,
  );
  const client = await RawClient.secure(plane.port, { servername: 'ended.test', rejectUnauthorized: false });
  t.after(() => client.close());
  client.send('hello');
  assert.equal(
    await client.find('an answer', () => (client.text === '' ? undefined : client.text)),
    'plain hello',
  );
  await assert.rejects(
    RawClient.secure(plane.port, { servername: 'passed.test', rejectUnauthorized: false }),
    'the greeter speaks no TLS: what it says is no handshake',
  );
});
