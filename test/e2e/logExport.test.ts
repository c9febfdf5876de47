import assert from 'node:assert/strict';
import { connect, createServer, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { Collector } from '../../src/tracing/collector.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { inline, startEchoApp } from './stage.testing.ts';

let echo: Awaited<ReturnType<typeof startEchoApp>>;
before(async () => {
  echo = await startEchoApp();
});
after(async () => {
  await echo?.close();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parent = 'b7ad6b7169203331';
const key = 'the-key-of-the-collector';

const configOf = (config: object, more: object = {}): string =>
  inline({
    config,
    ...more,
    binds: [
      {
        port: 0,
        listeners: [
          {
            routes: [
              {
                name: 'closed',
                matches: [{ path: { pathPrefix: '/closed' } }],
                policies: { authorization: { rules: ['request.headers["x-pass"] == "1"'] } },
                backends: [{ host: `127.0.0.1:${echo.port}` }],
              },
              { name: 'echo', backends: [{ host: `127.0.0.1:${echo.port}` }] },
            ],
          },
        ],
      },
    ],
  });

/** The answer to bytes that are no request. */
async function answerTo(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(bytes);
  return await text(socket);
}

for (const workers of [1, 2])
  test(`the access log is exported over OTLP/HTTP with the ids of spans, with ${workers} processes`, async () => {
    await using collector = await Collector.http();
    await using gateway = await startGateway(
      configOf({
        workers,
        logging: {
          accessLog: 'json',
          fields: { add: { line: '"only"' } },
          otlp: {
            otlpEndpoint: collector.url,
            otlpProtocol: 'http',
            headers: { authorization: `Bearer ${key}` },
            fields: {
              add: {
                tenant: 'request.headers["x-tenant"]',
                parts: '{"a": [1, "b"]}',
                token: 'request.headers["authorization"]',
              },
              remove: ['client'],
            },
          },
        },
        tracing: {
          otlpEndpoint: collector.url,
          otlpProtocol: 'http',
          randomSampling: 'request.path == "/get"',
        },
      }),
    );
    const from = Date.now();
    const headers = {
      'x-request-id': 'l-1',
      'x-tenant': 'blue',
      authorization: 'Bearer the-token-of-a-caller',
    };
    await ask(`${gateway.url}/get?secret=query`, { headers });
    await ask(`${gateway.url}/closed`, { headers: { traceparent: `00-${traceId}-${parent}-00` } });
    await until('two records', () => collector.logs.length === 2 && collector.of('server').length === 1);
    const [ok, refused] = collector.logs.toSorted(
      (a, b) => Number(a.attributes['status']) - Number(b.attributes['status']),
    );
    const [server] = collector.of('server');
    assert.ok(ok !== undefined && refused !== undefined && server !== undefined);
    assert.deepEqual(
      [ok.traceId, ok.spanId, ok.sampled, ok.severity, ok.body, ok.scope],
      [server.traceId, server.spanId, true, 'INFO', 'GET 200', 'portcullis.access'],
    );
    assert.ok(ok.time >= from - 1 && ok.time <= Date.now());
    const line = await gateway.accessLine('l-1');
    assert.equal(line['line'], 'only');
    for (const name of ['time', 'traceId', 'parentSpanId', 'line', 'client']) delete line[name];
    assert.deepEqual(ok.attributes, {
      ...line,
      tenant: 'blue',
      parts: { a: [1, 'b'] },
      token: '[redacted]',
    });
    assert.deepEqual(
      [refused.traceId, refused.spanId, refused.sampled, refused.severity, refused.attributes['policy']],
      [traceId, parent, false, 'WARN', 'authorization'],
    );
    assert.equal(ok.resource['service.name'], 'portcullis');
    assert.ok(collector.paths.includes('/v1/logs'));
    assert.ok(collector.heads.some(({ authorization }) => authorization === `Bearer ${key}`));
    assert.equal(await gateway.metric('portcullis_log_records_exported_total', {}), 2);
    const dump = await fetch(`${gateway.admin}/config_dump`).then((response) => response.text());
    for (const written of [dump, gateway.log(), gateway.accessLog(), JSON.stringify(collector.logs)])
      for (const secret of [key, 'secret=query', 'the-token-of-a-caller'])
        assert.ok(!written.includes(secret));
  });

test('frontendPolicies.accessLog.otlp has the fields and the filter of the access log, over OTLP/gRPC', async () => {
  await using collector = await Collector.grpc();
  await using gateway = await startGateway(
    configOf(
      { logging: { accessLog: 'none' } },
      {
        frontendPolicies: {
          accessLog: {
            filter: 'request.path != "/quiet"',
            add: { route: '"mine"' },
            remove: ['host'],
            otlp: { host: new URL(collector.url).host },
          },
        },
      },
    ),
  );
  for (const path of ['/quiet', '/status/503']) await ask(`${gateway.url}${path}`);
  assert.match(await answerTo(gateway.ports[0] ?? 0, 'NO REQUEST\r\n\r\n'), /^HTTP\/1\.1 400 /);
  await gateway.stop();
  assert.deepEqual(
    collector.logs.map(({ attributes, severity, traceId: id }) => [
      attributes['path'],
      attributes['route'],
      attributes['host'],
      severity,
      id,
    ]),
    [
      ['/status/503', 'mine', undefined, 'ERROR', ''],
      ['-', undefined, undefined, 'WARN', ''],
    ],
    'the shutdown exports the records that wait',
  );
  assert.equal(gateway.accessLog(), '');
});

test('a dead collector delays no request, and its records are counted', async () => {
  const listener = createServer();
  await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => void listener.close(resolve));
  await using gateway = await startGateway(
    configOf({
      logging: {
        otlp: {
          otlpEndpoint: `http://127.0.0.1:${port}`,
          otlpProtocol: 'http',
          filter: 'response.code == 200',
        },
      },
    }),
  );
  for (let i = 0; i < 5; i++) assert.equal((await ask(`${gateway.url}/get`)).status, 200);
  assert.equal((await ask(`${gateway.url}/status/404`)).status, 404);
  await until('dropped records', async () => {
    const dropped = await gateway.metric('portcullis_log_records_dropped_total', { reason: 'export' });
    return dropped === 5;
  });
  await gateway.logged(/Log records dropped: the collector did not take them/);
});

test('records that a collector rejects in a partial success are counted and reported', async () => {
  await using collector = await Collector.http();
  collector.partial = { rejected: 1, message: 'too large' };
  const otlp = { otlpEndpoint: collector.url, otlpProtocol: 'http' };
  await using gateway = await startGateway(configOf({ logging: { otlp } }));
  await ask(`${gateway.url}/get`);
  await until('the rejected record', async () => {
    const dropped = await gateway.metric('portcullis_log_records_dropped_total', { reason: 'rejected' });
    return dropped === 1;
  });
  await gateway.logged(/Log records dropped: the collector did not take them.*too large/);
});

test('without an export there are no metrics of it', async () => {
  await using gateway = await startGateway(configOf({}));
  await ask(`${gateway.url}/get`);
  assert.doesNotMatch(await gateway.metrics(), /portcullis_log_records/);
});
