import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { test, type TestContext } from 'node:test';
import { joinEndpoints, type Backend, type HttpBackend, type Mirror, type Route } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, post, RawBackend, status } from '../wire.testing.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };

const use = (name: keyof typeof policySchemas, settings: unknown) => ({
  name,
  settings: policySchemas[name].parse(settings),
  place,
});

const invalid: Backend = {
  kind: 'invalid',
  weight: 1,
  key: 'none',
  place,
  problem: 'Service a/b: there is none',
};

const to = ({ port }: { port: number }, more: Partial<HttpBackend> = {}): HttpBackend => ({
  kind: 'http',
  weight: 1,
  key: String(port),
  place,
  host: '127.0.0.1',
  port,
  ...more,
});

async function backend(t: TestContext, name: string): Promise<RawBackend> {
  const started = await RawBackend.start({
    onRequest: (_request, connection) => connection.send(ok(name, 'x-from: app')),
  });
  t.after(() => started.close());
  return started;
}

const routeTo = (backends: readonly Backend[], mirrors?: readonly Mirror[]): Route => ({
  name: 'route',
  hostnames: [],
  matches: [{ path: { kind: 'prefix', value: '/shop' }, headers: [], query: [] }],
  policies: [],
  backends,
  ...(mirrors && { mirrors }),
  place,
});

async function planeFor(t: TestContext, route: Route): Promise<TestPlane> {
  const plane = await TestPlane.start({
    binds: [{ port: 0, listeners: [{ name: 'web', protocol: 'HTTP', policies: [], routes: [route] }] }],
  });
  t.after(() => plane.close());
  return plane;
}

test('policies of a backend hold for the requests that go there, and for no others', async (t) => {
  const [one, two] = [await backend(t, 'one'), await backend(t, 'two')];
  const mark = (name: string) => ({
    policies: [
      use('requestHeaderModifier', { set: { 'x-backend': name } }),
      use('responseHeaderModifier', { set: { 'x-answered': name }, remove: ['x-from'] }),
      use('urlRewrite', { authority: { full: `${name}.test` }, path: { prefix: `/${name}` } }),
    ],
  });
  const plane = await planeFor(t, routeTo([to(one, mark('one')), to(two, mark('two')), to(two)]));
  const seen = new Map<string, number>();
  for (let i = 0; i < 90; i++) {
    const reply = await plane.ask(get('/shop/cart'));
    const key = `${reply.body.toString()} ${field(reply, 'x-answered')} ${field(reply, 'x-from')}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  assert.deepEqual([...seen.keys()].sort(), ['one one undefined', 'two two undefined', 'two undefined app']);
  for (const request of one.requests) {
    assert.equal(request.start, 'GET /one/cart HTTP/1.1');
    assert.equal(field(request, 'x-backend'), 'one');
    assert.equal(field(request, 'host'), 'one.test');
  }
});

/** The lines of these names that the backend got for a request with a token of the client. */
async function credentialsAt(
  t: TestContext,
  ofRoute: object,
  ofBackend: readonly ReturnType<typeof use>[],
): Promise<string[]> {
  const one = await backend(t, 'one');
  const key = { value: 'key of the route', ...ofRoute };
  const plane = await planeFor(t, {
    ...routeTo([to(one, { policies: ofBackend })]),
    policies: [use('backendAuth', { key })],
  });
  const mine = 'authorization: Bearer mine\r\nx-api-key: mine\r\ncookie: a=1; key=mine';
  assert.equal(status(await plane.ask(`GET /shop?key=mine&b=2 HTTP/1.1\r\nhost: a\r\n${mine}\r\n\r\n`)), 200);
  const [request] = one.requests;
  const lines = (request?.lines ?? []).filter(([name]) => /^(?:authorization|x-api-key|cookie)$/.test(name));
  return [request?.start.split(' ')[1] ?? '', ...lines.map(([name, value]) => `${name}: ${value}`)];
}

test('a backend with a credential of its own gets none of the credentials of the route', async (t) => {
  const own = use('backendAuth', { key: { value: 'own', location: { header: { name: 'x-api-key' } } } });
  const at = async (location: object) => await credentialsAt(t, { location }, [own]);
  const rest = ['authorization: Bearer mine', 'cookie: a=1; key=mine'];
  assert.deepEqual(await credentialsAt(t, {}, [own]), ['/shop?key=mine&b=2', rest[1], 'x-api-key: own']);
  assert.deepEqual(await at({ cookie: { name: 'key' } }), [
    '/shop?key=mine&b=2',
    rest[0],
    'cookie: a=1',
    'x-api-key: own',
  ]);
  assert.deepEqual(await at({ queryParameter: { name: 'key' } }), ['/shop?b=2', ...rest, 'x-api-key: own']);
  const set = use('requestHeaderModifier', { set: { authorization: 'Basic own' } });
  assert.deepEqual(await credentialsAt(t, {}, [set, own]), [
    '/shop?key=mine&b=2',
    rest[1],
    'authorization: Basic own',
    'x-api-key: own',
  ]);
});

test('TRACE is refused where its answer would show a credential of the gateway, and forwarded elsewhere', async (t) => {
  const one = await backend(t, 'one');
  const own = [use('backendAuth', { key: 'own' })];
  const trace = 'TRACE /shop HTTP/1.1\r\nhost: a\r\n\r\n';
  for (const route of [{ ...routeTo([to(one)]), policies: own }, routeTo([to(one, { policies: own })])]) {
    const plane = await planeFor(t, route);
    const reply = await plane.ask(trace);
    assert.equal(status(reply), 405);
    assert.equal(field(reply, 'allow'), 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS');
    assert.equal(plane.access[0]?.error, 'trace_refused');
    assert.equal(one.requests.length, 0);
  }
  assert.equal(status(await (await planeFor(t, routeTo([to(one)]))).ask(trace)), 200);
});

test('a credential of the route overrides the header modifier of a backend', async (t) => {
  const value = { authorization: 'Basic modified' };
  for (const change of [{ add: value }, { set: value }, { remove: ['authorization'] }])
    assert.deepEqual(await credentialsAt(t, {}, [use('requestHeaderModifier', change)]), [
      '/shop?key=mine&b=2',
      'x-api-key: mine',
      'cookie: a=1; key=mine',
      'authorization: Bearer key of the route',
    ]);
});

test('a policy of a backend may answer in its place', async (t) => {
  const one = await backend(t, 'one');
  const plane = await planeFor(
    t,
    routeTo([to(one, { policies: [use('requestRedirect', { authority: { host: 'other.test' } })] })]),
  );
  const reply = await plane.ask(get('/shop'));
  assert.equal(status(reply), 302);
  assert.equal(field(reply, 'location'), 'http://other.test/shop');
  assert.equal(one.accepted, 0);
});

test('a policy that cannot stand on a backend closes the route instead of being passed over', async (t) => {
  const one = await backend(t, 'one');
  const plane = await planeFor(t, routeTo([to(one, { policies: [use('retry', { codes: [503] })] })]));
  assert.equal(status(await plane.ask(get('/shop'))), 500);
  assert.deepEqual(
    plane.plane.broken.map(({ problem }) => problem),
    ['a policy of a backend can stand on a route only'],
  );
});

test('mirrors of the route get every copy, those of a backend what goes there', async (t) => {
  const [real, all, some] = [await backend(t, 'real'), await backend(t, 'all'), await backend(t, 'some')];
  const mirror = (backend: RawBackend): Mirror => ({
    share: 1,
    backend: to(backend, { host: 'mirror.invalid', addresses: [{ host: '127.0.0.1', port: backend.port }] }),
  });
  const plane = await planeFor(t, routeTo([to(real, { mirrors: [mirror(some)] }), to(real)], [mirror(all)]));
  const client = await plane.client();
  for (let i = 0; i < 60; i++)
    assert.equal((await client.ask(post('body').replace(/^POST \S+/, 'POST /shop'))).body.toString(), 'real');
  await all.until('all copies are there', () => all.requests.length === 60);
  assert.ok(some.requests.length > 5 && some.requests.length < 55, String(some.requests.length));
  assert.equal(all.requests[0]?.body.toString(), 'body');
});

test('the share of a backend that does not exist gets 500, with the reason in the log', async (t) => {
  const one = await backend(t, 'one');
  const plane = await planeFor(t, routeTo([to(one), invalid]));
  let refused = 0;
  for (let i = 0; i < 60; i++) if (status(await plane.ask(get('/shop'))) === 500) refused++;
  assert.ok(refused > 5 && refused < 55, String(refused));
  assert.equal(one.requests.length, 60 - refused);
  await until('all are logged', () => plane.access.length === 60);
  const logged = plane.access.filter(({ error }) => error === 'no_backend');
  assert.equal(logged.length, refused);
  assert.equal(logged[0]?.reason, 'Service a/b: there is none');
});

test('a client of gRPC hears UNAVAILABLE of a backend that does not exist', async (t) => {
  const plane = await planeFor(t, routeTo([invalid]));
  const session = connect(`http://127.0.0.1:${plane.port}`);
  t.after(() => session.destroy());
  const stream = session.request({
    ':method': 'POST',
    ':path': '/shop',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.end(Buffer.alloc(5));
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  assert.equal(headers['grpc-status'], '14');
  stream.resume();
  await once(stream, 'close');
});

test('a backend whose list of addresses is empty answers 503, and serves when the list is there', async (t) => {
  const one = await backend(t, 'one');
  const plane = new TestPlane();
  t.after(() => plane.close());
  const route = routeTo([to(one, { host: 'shop.default.svc', port: 80, endpoints: 'default/shop:80/TCP' })]);
  const binds = [
    { port: 0, listeners: [{ name: 'web', protocol: 'HTTP', policies: [], routes: [route] } as const] },
  ];
  const joined = (addresses: { host: string; port: number }[]) =>
    joinEndpoints({ process: undefined as never, binds }, new Map([['default/shop:80/TCP', addresses]]))
      .binds;
  await plane.apply({ binds: joined([]) });
  assert.equal(status(await plane.ask(get('/shop'))), 503);
  await plane.apply({ binds: joined([{ host: '127.0.0.1', port: one.port }]) });
  assert.equal((await plane.ask(get('/shop'))).body.toString(), 'one');
});
