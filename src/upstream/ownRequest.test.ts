import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog } from '../mcp/harness.testing.ts';
import { defaults } from '../model/index.ts';
import type { BackendConnection } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import { Destination } from './destination.ts';
import { startBackend } from './endpoint.testing.ts';
import { OwnRequest } from './ownRequest.ts';
import { systemLookup } from './resolve.ts';

test('a stream that waits gives its head back, and goes on', async (t) => {
  const asked: BackendConnection[] = [];
  const backend = await startBackend(t, { onRequest: (_request, one) => void asked.push(one) });
  // Heads of this size belong to this test alone.
  const limits = { ...defaults.limits, maxHeaders: 123 };
  const destination = new Destination(
    { host: 'app.test', port: 80, addresses: [{ host: '127.0.0.1', port: backend.port }] },
    defaults.upstream,
    limits,
    { log: recordingLog().log, lookup: systemLookup, tenantLookup: systemLookup },
  );
  t.after(() => destination.close());
  const heard: string[] = [];
  const start = { destination, head: 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', repeatable: true, patient: true };
  new OwnRequest(start, {
    onHead: (head) => heard.push(head.get('content-type') ?? ''),
    onBytes: (bytes, from, to) => heard.push(bytes.toString('latin1', from, to)),
    onEnd: () => heard.push('end'),
    onFailure: (code) => heard.push(code),
  }).begin();
  const [stream] = await until('the request is there', () => asked.length === 1 && asked);
  const { heads } = destination.known[0]!;
  const head = heads.take();
  heads.give(head);
  stream!.send('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
  await until('the head is there', () => heard.length === 1);
  assert.equal(heads.take(), head);
  heads.give(head);
  stream!.send('5\r\nhello\r\n0\r\n\r\n');
  await until('the answer is complete', () => heard.at(-1) === 'end');
  assert.deepEqual(heard, ['text/event-stream', 'hello', 'end']);
});
