/** Exports to collectors that do not end their answers. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import type { TracingSettings } from '../model/index.ts';
import { createMetrics, type Logger } from '../telemetry/index.ts';
import { until } from '../until.testing.ts';
import { Collector } from './collector.testing.ts';
import { startExporting, type Exporting } from './sdk.ts';

/** Spans, with what the log says of their export. */
class Stage {
  readonly said: string[] = [];
  readonly metrics = createMetrics({ process: false });
  private readonly log: Logger;

  constructor() {
    const write = (message: string, fields?: object): void =>
      void this.said.push(`${message} ${JSON.stringify(fields ?? {})}`);
    this.log = { debug: write, info: write, warn: write, error: write, child: () => this.log };
  }

  start(
    endpoint: string,
    protocol: 'http' | 'grpc',
    headers: TracingSettings['headers'] = [],
  ): Promise<Exporting> {
    const settings: TracingSettings = {
      endpoint,
      protocol,
      headers,
      randomSampling: '1',
      clientSampling: '1',
      resources: {},
    };
    return startExporting(settings, { log: this.log, metrics: this.metrics });
  }

  async metric(line: string): Promise<boolean> {
    return (await this.metrics.expose()).split('\n').includes(line);
  }
}

const endSpans = (spans: Exporting, count: number): void => {
  for (let i = 0; i < count; i++) spans.begin({ name: 'a', kind: 'server', attributes: {} }).end();
};

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The head of an answer, and a byte of its body now and then, without an end. */
const drip: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'application/x-protobuf' });
  const timer = setInterval(() => response.write('\0'), 100);
  response.on('close', () => clearInterval(timer));
};

describe('an answer that never ends', () => {
  test('fails its export, and the next export is tried', async (t) => {
    let isWell = false;
    const url = await serve(t, (request, response) => {
      if (!isWell) drip(request, response);
      else request.resume().on('end', () => response.end());
    });
    const stage = new Stage();
    const spans = await stage.start(`${url}/v1/traces`, 'http');
    t.after(() => spans.close());
    endSpans(spans, 3);
    await until('dropped spans', () => stage.metric('portcullis_spans_dropped_total{reason="export"} 3'));
    assert.deepEqual(stage.said, [
      'Spans dropped: the collector did not take them {"items":3,"reason":"the collector did not end its answer in time"}',
    ]);
    isWell = true;
    endSpans(spans, 2);
    await until('exported spans', () => stage.metric('portcullis_spans_exported_total 2'));
  });

  test('holds no connection when the export has closed, and the log has the number of lost spans', async (t) => {
    const closed = Promise.withResolvers<void>();
    const url = await serve(t, (request, response) => {
      response.on('close', () => closed.resolve());
      drip(request, response);
    });
    const stage = new Stage();
    const spans = await stage.start(`${url}/v1/traces`, 'http');
    endSpans(spans, 600);
    await spans.close();
    await closed.promise;
    assert.deepEqual(stage.said, [
      'Spans dropped: the gateway shut down before the collector took them {"items":88}',
      'Spans dropped: the collector did not take them {"items":512,"reason":"the gateway shut down before the collector answered"}',
    ]);
  });
});

for (const protocol of ['http', 'grpc'] as const)
  test(`a shutdown breaks off an export that has no answer, and the log has its spans, over ${protocol}`, async (t) => {
    const silent = createTcpServer((socket) => {
      socket.on('error', () => undefined).resume();
      t.after(() => socket.destroy());
    }).listen(0, '127.0.0.1');
    const connected = once(silent, 'connection');
    await once(silent, 'listening');
    t.after(() => silent.close());
    const stage = new Stage();
    const { port } = silent.address() as AddressInfo;
    const spans = await stage.start(`http://127.0.0.1:${port}/v1/traces`, protocol);
    endSpans(spans, 512);
    await connected;
    await spans.close();
    assert.deepEqual(stage.said, [
      'Spans dropped: the collector did not take them {"items":512,"reason":"the gateway shut down before the collector answered"}',
    ]);
    assert.ok(await stage.metric('portcullis_spans_dropped_total{reason="export"} 512'));
  });

test('spans that find no place are counted and reported', async (t) => {
  const url = await serve(t, drip);
  const stage = new Stage();
  const spans = await stage.start(`${url}/v1/traces`, 'http');
  endSpans(spans, 512 + 2_048 + 2);
  assert.ok(await stage.metric('portcullis_spans_dropped_total{reason="queue"} 2'));
  assert.deepEqual(stage.said, ['Spans dropped: too many wait for the collector {"waiting":2048}']);
  await spans.close();
});

test('an answer that is none of a collector fails its export, and one in JSON does not', async (t) => {
  let answer = '<html>Welcome</html>';
  const url = await serve(t, (request, response) => {
    request.resume().on('end', () => response.end(answer));
  });
  const stage = new Stage();
  const spans = await stage.start(`${url}/v1/traces`, 'http');
  t.after(() => spans.close());
  endSpans(spans, 1);
  await until('dropped spans', () => stage.metric('portcullis_spans_dropped_total{reason="export"} 1'));
  assert.deepEqual(stage.said, [
    'Spans dropped: the collector did not take them {"items":1,"reason":"the answer is no OTLP response: <html>Welcome</html>"}',
  ]);
  answer = '{"partialSuccess":{}}';
  endSpans(spans, 1);
  await until('exported spans', () => stage.metric('portcullis_spans_exported_total 1'));
});

test('a header over gRPC whose name ends in -bin has the bytes of its Base64 value', async (t) => {
  await using collector = await Collector.grpc();
  const stage = new Stage();
  const spans = await stage.start(collector.url, 'grpc', [{ name: 'tenant-bin', text: 'AP8=' }]);
  t.after(() => spans.close());
  endSpans(spans, 1);
  await until('a span', () => collector.spans.length === 1);
  assert.deepEqual(collector.heads[0]?.['tenant-bin'], Buffer.from([0, 255]));
});
