import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { Collector } from '../../src/tracing/collector.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { openSession } from './session.testing.ts';
import { inline, rogueBackends, rogueBeside, startEchoApp } from './stage.testing.ts';

let echo: Awaited<ReturnType<typeof startEchoApp>>;
let remote: RemoteServer;
before(async () => {
  [echo, remote] = await Promise.all([startEchoApp(), RemoteServer.start()]);
});
after(async () => {
  await echo?.close();
  await remote?.close();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = 'b7ad6b7169203331';
const key = 'the-key-of-the-collector';

const configOf = (tracing: object | undefined, workers = 1): string => `
config:
  workers: ${workers}
  logging: { accessLog: json }
  session: { key: ${'ab'.repeat(32)} }
${tracing === undefined ? '' : `  tracing: ${inline(tracing)}`}
binds:
- port: 0
  listeners:
  - routes:
    - name: mcp
      matches: [{ path: { pathPrefix: /mcp } }]
      backends: [{ mcp: { targets: [{ name: far, mcp: { host: 'http://127.0.0.1:${remote.port}/mcp' } }] } }]
    - name: echo
      matches: [{ path: { pathPrefix: / } }]
      backends: [{ host: '127.0.0.1:${echo.port}' }]
`;

const sent = (response: Response): Promise<string> => response.text();

/** The traceparent that the backend got. */
const traceparentIn = (body: string): string | undefined =>
  /[Tt]raceparent"\s*:\s*\[?\s*"([^"]+)"/.exec(body)?.[1];

for (const workers of [1, 2])
  test(`a request has a server span and a client span over OTLP/HTTP, with ${workers} processes`, async () => {
    await using collector = await Collector.http();
    await using gateway = await startGateway(
      configOf(
        {
          otlpEndpoint: collector.url,
          otlpProtocol: 'http',
          headers: { authorization: `Bearer ${key}` },
          randomSampling: 'request.path == "/get"',
          fields: {
            add: { tenant: 'request.headers["x-tenant"]', kind: 'response.headers["content-type"]' },
            remove: ['client.address'],
          },
        },
        workers,
      ),
    );
    const headers = { 'x-request-id': 't-1', 'x-tenant': 'blue' };
    const body = await sent(await fetch(`${gateway.url}/get?secret=query`, { headers }));
    await sent(await fetch(`${gateway.url}/status/200`));
    await until('two spans', () => collector.spans.length === 2);
    const [server] = collector.of('server');
    const [client] = collector.of('client');
    assert.ok(server !== undefined && client !== undefined);
    assert.equal(traceparentIn(body), `00-${server.traceId}-${client.spanId}-01`);
    assert.deepEqual(
      [client.traceId, client.parentSpanId, server.parentSpanId],
      [server.traceId, server.spanId, ''],
    );
    const { attributes } = server;
    assert.deepEqual(
      [server.name, attributes['http.request.method'], attributes['url.path'], attributes['url.scheme']],
      ['GET /*', 'GET', '/get', 'http'],
    );
    assert.deepEqual(
      [attributes['http.response.status_code'], attributes['tenant'], attributes['client.address']],
      [200, 'blue', undefined],
    );
    assert.match(String(attributes['kind']), /json/);
    assert.deepEqual(
      [client.attributes['server.port'], client.attributes['http.response.status_code']],
      [echo.port, 200],
    );
    assert.ok(server.ms > 0 && server.ms >= client.ms && !server.isError);
    assert.match(server.schemaUrl, /schemas\/1\.39\.0$/);
    assert.equal(server.resource['service.name'], 'portcullis');
    assert.deepEqual(
      [collector.paths[0], collector.heads[0]?.['authorization']],
      ['/v1/traces', `Bearer ${key}`],
    );
    const line = await gateway.accessLine('t-1');
    assert.equal(line['traceId'], server.traceId);
    const dump = await fetch(`${gateway.admin}/config_dump`).then((response) => response.text());
    for (const text of [dump, gateway.log(), gateway.accessLog(), JSON.stringify(collector.spans)])
      assert.ok(!text.includes(key) && !text.includes('secret=query'));
  });

test('a sampled trace of a client continues, and others pass unchanged', async () => {
  await using collector = await Collector.http();
  await using gateway = await startGateway(
    configOf({
      otlpEndpoint: collector.url,
      otlpProtocol: 'http',
      path: '/custom/traces',
      clientSampling: 'request.headers["x-mode"] != "no"',
      randomSampling: false,
    }),
  );
  const asked = async (flags: string, mode: string): Promise<string | undefined> => {
    const headers = { traceparent: `00-${traceId}-${parent}-${flags}`, 'x-mode': mode };
    return traceparentIn(await sent(await fetch(`${gateway.url}/get`, { headers })));
  };
  assert.equal(await asked('00', 'yes'), `00-${traceId}-${parent}-00`);
  assert.equal(await asked('01', 'no'), `00-${traceId}-${parent}-01`);
  assert.equal(traceparentIn(await sent(await fetch(`${gateway.url}/get`))), undefined);
  const onward = await asked('01', 'yes');
  await gateway.stop();
  assert.deepEqual(
    collector.spans
      .map((span) => [span.traceId, span.kind])
      .toSorted(([, a], [, b]) => Number(a) - Number(b)),
    [
      [traceId, 2],
      [traceId, 3],
    ],
    'the shutdown exports the spans that wait',
  );
  assert.equal(collector.of('server')[0]?.parentSpanId, parent);
  assert.equal(onward, `00-${traceId}-${collector.of('client')[0]?.spanId}-01`);
  assert.equal(collector.paths[0], '/custom/traces');
});

test('a call of an MCP server has a span below the context of _meta, over OTLP/gRPC', async () => {
  await using collector = await Collector.grpc();
  await using gateway = await startGateway(
    configOf({ otlpEndpoint: collector.url, headers: { 'x-key': key }, randomSampling: 1 }),
  );
  const session = await openSession(`${gateway.url}/mcp`);
  const meta = { traceparent: `00-${traceId}-${parent}-01`, other: 1 };
  await session.request('tools/call', { name: 'echo', arguments: { text: 'a' }, _meta: meta });
  const unsampled = { traceparent: `00-${traceId}-${parent}-00` };
  await session.request('tools/call', { name: 'echo', arguments: { text: 'no' }, _meta: unsampled });
  const unsampledCall = remote.seen.at(-1)?.message.params as { _meta?: Record<string, unknown> };
  assert.equal(unsampledCall._meta?.['traceparent'], unsampled.traceparent);
  await session.request('tools/call', { name: 'echo', arguments: { text: 'b' } });
  await session.request('tools/list');
  await session.close();
  await until('the spans of three calls', () => collector.of('client').length >= 3);
  const [below, own, list] = collector.of('client').filter(({ name }) => name.startsWith('tools/'));
  const serverSpans = new Map(collector.of('server').map((span) => [span.spanId, span]));
  assert.ok(below !== undefined && own !== undefined && list !== undefined);
  assert.deepEqual([below.traceId, below.parentSpanId, below.name], [traceId, parent, 'tools/call echo']);
  assert.equal(serverSpans.get(below.links[0]?.spanId ?? '')?.attributes['mcp.method.name'], 'tools/call');
  assert.equal(serverSpans.get(own.parentSpanId)?.attributes['mcp.method.name'], 'tools/call');
  assert.deepEqual(
    [below.attributes['mcp.method.name'], below.attributes['gen_ai.tool.name'], own.links.length, list.name],
    ['tools/call', 'echo', 0, 'tools/list'],
  );
  // The second call has no span, since its client has not sampled it.
  const calls = remote.seen.filter(({ message }) => message.method?.startsWith('tools/')).toSpliced(1, 1);
  for (const [index, span] of [below, own, list].entries()) {
    const expected = `00-${span.traceId}-${span.spanId}-01`;
    const { headers, message } = calls[index]!;
    const sentMeta = (message.params as { _meta?: Record<string, unknown> })._meta;
    assert.deepEqual([headers['traceparent'], sentMeta?.['traceparent']], [expected, expected]);
  }
  assert.equal((calls[0]?.message.params as { _meta: { other?: number } })._meta.other, 1);
  assert.equal(collector.heads[0]?.['x-key'], key);
});

test('a response that breaks off and a tool that fails are errors of their spans', async (t) => {
  // The backend breaks off when the client has got the beginning of the response.
  const begun = Promise.withResolvers<void>();
  const half = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
      void begun.promise.then(() => socket.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(half, 'listening');
  t.after(() => half.close());
  await using collector = await Collector.http();
  const tracing = { otlpEndpoint: collector.url, otlpProtocol: 'http', randomSampling: true };
  const { port } = half.address() as AddressInfo;
  await using gateway = await startGateway(rogueBeside(port, { tracing }));
  const response = await fetch(`${gateway.url}/half`);
  begun.resolve();
  await assert.rejects(response.text());
  const session = await openSession(`${gateway.url}/mcp`);
  const result = { content: [{ type: 'text', text: 'disk full' }], isError: true };
  await session.call('raw', { line: `{"jsonrpc":"2.0","id":$ID,"result":${JSON.stringify(result)}}` });
  await session.call('raw', { line: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}' });
  await session.close();
  const calls = () => collector.spans.filter(({ name }) => name.startsWith('tools/call'));
  await until('the spans of both calls', () => calls().length === 2);
  const errorsOf = (spans: Collector['spans']) =>
    spans.map(({ attributes, isError }) => [attributes['error.type'], isError]);
  for (const kind of ['server', 'client'] as const) {
    const spans = collector.of(kind).filter(({ name }) => name.startsWith('GET'));
    assert.deepEqual(errorsOf(spans), [['upstream_reset', true]]);
  }
  assert.deepEqual(errorsOf(calls()), [
    ['tool_error', true],
    [undefined, false],
  ]);
});

test('an MCP response that breaks off for its server is an error of both spans, and one that its client cancels is none', async () => {
  await using collector = await Collector.http();
  const tracing = { otlpEndpoint: collector.url, otlpProtocol: 'http', randomSampling: true };
  await using gateway = await startGateway(
    `config: ${inline({ tracing })}\nbinds: [{ port: 0, listeners: [{ routes: [{ backends: ${rogueBackends} }] }] }]`,
  );
  const before = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"';
  const large = { before, letters: 3_000_000, after: '' };
  // A session has a server of its own, so the rest of one response does not stand before the other.
  const [leaving, dying] = [await openSession(gateway.url), await openSession(gateway.url)];
  const ask = ({ send }: typeof leaving, more: object) =>
    send('POST', {
      id: 70,
      method: 'tools/call',
      params: { name: 'large', arguments: { ...large, ...more } },
    });
  const cancelled = await ask(leaving, {});
  await leaving.send('POST', { method: 'notifications/cancelled', params: { requestId: 70 } });
  await assert.rejects(cancelled.text());
  await assert.rejects((await ask(dying, { dies: true })).text());
  const calls = () => collector.of('client').filter(({ name }) => name === 'tools/call large');
  const carriers = () =>
    calls().flatMap(({ parentSpanId }) =>
      collector.of('server').filter(({ spanId }) => spanId === parentSpanId),
    );
  await until('the spans of both calls', () => carriers().length === 2);
  const shown = (spans: Collector['spans']) =>
    spans.map(({ attributes, isError }) => [attributes['error.type'], isError]);
  assert.deepEqual(shown(calls()).at(-1), ['failed', true]);
  assert.deepEqual(shown(carriers()), [
    [undefined, false],
    ['mcp_response_broken', true],
  ]);
});

test('a dead collector delays no request, and its spans are counted', async () => {
  const listener = createServer();
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => void listener.close(resolve));
  await using gateway = await startGateway(
    configOf({ otlpEndpoint: `http://127.0.0.1:${port}`, otlpProtocol: 'http', randomSampling: true }),
  );
  for (let i = 0; i < 5; i++) assert.equal((await ask(`${gateway.url}/get`)).status, 200);
  await until('dropped spans', async () => {
    const dropped = await gateway.metric('portcullis_spans_dropped_total', { reason: 'export' });
    return dropped === 10;
  });
  await gateway.logged(/Spans dropped: the collector did not take them/);
});

for (const protocol of ['http', 'grpc'] as const)
  test(`spans that a collector rejects in a partial success are counted and reported, over ${protocol}`, async () => {
    await using collector = await Collector[protocol]();
    collector.partial = { rejected: 1, message: 'too old' };
    const otlp = { otlpEndpoint: collector.url, otlpProtocol: protocol };
    await using gateway = await startGateway(configOf({ ...otlp, randomSampling: true }));
    await sent(await fetch(`${gateway.url}/get`));
    await until('the rejected span', async () => {
      const dropped = await gateway.metric('portcullis_spans_dropped_total', { reason: 'rejected' });
      return dropped === 1;
    });
    assert.equal(await gateway.metric('portcullis_spans_exported_total'), 1);
    await gateway.logged(/Spans dropped: the collector did not take them.*too old/);
    collector.partial = { rejected: 0, message: 'slow down' };
    await sent(await fetch(`${gateway.url}/get`));
    await gateway.logged(/Spans exported: the collector warns.*slow down/);
    assert.equal(await gateway.metric('portcullis_spans_exported_total'), 3);
  });

test('frontendPolicies.tracing filters ended requests, and no variable of the environment changes an export', async () => {
  await using collector = await Collector.http();
  await using gateway = await startGateway(
    `${configOf(undefined)}
backends:
- { name: collector, host: '${new URL(collector.url).host}' }
frontendPolicies:
  tracing: ${inline({
    backend: 'collector',
    protocol: 'http',
    path: '/frontend/traces',
    randomSampling: '1.0',
    filter: 'response.code == 200',
    attributes: { code: 'response.code' },
    remove: ['url.path'],
    resources: { 'service.name': '"edge-" + "1"', 'deployment.ring': '2' },
  })}`,
    {
      env: {
        OTEL_SDK_DISABLED: 'true',
        OTEL_TRACES_SAMPLER: 'always_off',
        OTEL_SERVICE_NAME: 'other',
        OTEL_RESOURCE_ATTRIBUTES: 'stray=1',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-stray=1',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
        OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
      },
    },
  );
  const traced = traceparentIn(await sent(await fetch(`${gateway.url}/get`)));
  const unkept = await ask(`${gateway.url}/status/404`);
  assert.equal(unkept.status, 404);
  const session = await openSession(`${gateway.url}/mcp`);
  await session.request('tools/list');
  await session.close();
  await gateway.stop();
  const echoed = collector.spans.filter(({ attributes }) => attributes['http.route'] !== '/mcp/*');
  const [client, server] = [echoed.find(({ kind }) => kind === 3), echoed.find(({ kind }) => kind === 2)];
  assert.ok(client !== undefined && server !== undefined);
  assert.equal(traced, `00-${server.traceId}-${client.spanId}-01`);
  assert.deepEqual(
    [server.attributes['code'], server.attributes['url.path'], server.attributes['http.route'], server.name],
    [200, undefined, '/*', 'GET /*'],
  );
  const codes = collector.of('server').map(({ attributes }) => attributes['code']);
  assert.ok(codes.length >= 2 && codes.every((code) => code === 200), String(codes));
  assert.ok(collector.spans.some(({ name }) => name === 'tools/list'));
  const { resource } = server;
  assert.deepEqual(
    [resource['service.name'], resource['deployment.ring'], resource['stray']],
    ['edge-1', 2, undefined],
  );
  assert.equal(collector.paths[0], '/frontend/traces');
  assert.deepEqual(
    [collector.heads[0]?.['x-stray'], collector.heads[0]?.['content-encoding']],
    [undefined, undefined],
  );
});

test('without config.tracing no request changes', async () => {
  await using gateway = await startGateway(configOf(undefined));
  assert.equal(traceparentIn(await sent(await fetch(`${gateway.url}/get`))), undefined);
  assert.doesNotMatch(await gateway.metrics(), /portcullis_spans/);
});

test('spans and access lines show no credential of an address, and clients make up no names of spans', async () => {
  await using collector = await Collector.http();
  const gateway = await startGateway(
    configOf({ otlpEndpoint: collector.url, otlpProtocol: 'http', randomSampling: true }),
  );
  const session = await openSession(`${gateway.url}/mcp`);
  await session.request('resources/read', { uri: 'https://user:opaque-1@host/a?b=c&access_token=opaque-2' });
  await session.request('made/up?key=opaque-3', {});
  await session.close();
  await sent(await fetch(`${gateway.url}/get`, { headers: { 'user-agent': 'app Bearer opaque-4' } }));
  await gateway.stop();
  const calls = collector.of('client').filter(({ attributes }) => 'mcp.method.name' in attributes);
  assert.deepEqual(
    calls.map(({ name }) => name),
    ['resources/read', 'MCP'],
  );
  const hidden = 'https://[redacted]@host/a?b=c&access_token=[redacted]';
  assert.equal(calls[0]?.attributes['mcp.resource.uri'], hidden);
  assert.ok(gateway.accessLog().includes(`"mcp.resource":"${hidden}"`));
  assert.doesNotMatch(JSON.stringify(collector.spans), /opaque/);
  assert.doesNotMatch(gateway.accessLog(), /opaque-[12]/);
});

test('a span shows the beginning of a long user agent and path, and no part of a token at the cut', async () => {
  await using collector = await Collector.http();
  await using gateway = await startGateway(
    configOf({ otlpEndpoint: collector.url, otlpProtocol: 'http', randomSampling: true }),
  );
  const path = `/${'x'.repeat(4_000)}/${`eyJhbGciOiJSUzI1NiJ9.${'Z'.repeat(300)}.c2ln`}`;
  const headers = { 'user-agent': `${path} ${'y'.repeat(9_000)}` };
  await sent(await fetch(`${gateway.url}${path}`, { headers }));
  await until('both spans', () => collector.spans.length === 2);
  const [server] = collector.of('server');
  const [client] = collector.of('client');
  assert.match(String(server?.attributes['url.path']), /^\/x{4000}\/\[redacted\]$/);
  assert.match(String(server?.attributes['user_agent.original']), /^\/x{4000}\/\[redacted\] y{83}$/);
  assert.match(String(client?.attributes['url.full']), /\/x{4000}\/\[redacted\]$/);
});
