/** Traces and logs reach a receiver behind the real OpenTelemetry Collector as the gateway sent them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Collector } from '../../src/tracing/collector.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { startRealCollector, withoutCollector } from './realCollector.testing.ts';
import { inline, startEchoApp } from './stage.testing.ts';

let echo: Awaited<ReturnType<typeof startEchoApp>>;
before(async () => {
  echo = await startEchoApp();
});
after(async () => {
  await echo?.close();
});

for (const protocol of ['grpc', 'http'] as const)
  test(
    `the OpenTelemetry Collector takes spans and log records over ${protocol}`,
    { skip: withoutCollector },
    async () => {
      await using behind = await Collector.http();
      await using collector = await startRealCollector(behind.url);
      const otlp = { otlpEndpoint: collector[protocol], otlpProtocol: protocol };
      await using gateway = await startGateway(
        inline({
          config: { logging: { otlp }, tracing: { ...otlp, randomSampling: true } },
          binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ host: `127.0.0.1:${echo.port}` }] }] }] }],
        }),
      );
      assert.equal((await ask(`${gateway.url}/status/200`)).status, 200);
      await until('two spans and a record', () => behind.spans.length === 2 && behind.logs.length === 1);
      const [server, ...otherServers] = behind.of('server');
      const [client, ...otherClients] = behind.of('client');
      const [record] = behind.logs;
      assert.ok(server !== undefined && client !== undefined && record !== undefined);
      assert.deepEqual([otherServers, otherClients], [[], []]);
      assert.deepEqual([client.traceId, client.parentSpanId], [server.traceId, server.spanId]);
      assert.deepEqual(
        [record.traceId, record.spanId, record.sampled],
        [server.traceId, server.spanId, true],
      );
      assert.deepEqual(
        [server.attributes['http.response.status_code'], server.attributes['url.path']],
        [200, '/status/200'],
      );
      assert.deepEqual([record.attributes['status'], record.attributes['path']], [200, '/status/200']);
      for (const { resource } of [server, record]) assert.equal(resource['service.name'], 'portcullis');
    },
  );
