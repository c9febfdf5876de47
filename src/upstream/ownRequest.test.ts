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

test('the chunks of one read come to the taker together, however small they are', async (t) => {
  const text = 'a tool answers with small pieces, some of them longer than others. '.repeat(40);
  const sizes = [1, 1, 1, 2, 7, 1, 30, 1, 4];
  let body = '';
  for (let at = 0, turn = 0; at < text.length; turn++) {
    const piece = text.slice(at, at + sizes[turn % sizes.length]!);
    body += `${piece.length.toString(16)}\r\n${piece}\r\n`;
    at += piece.length;
  }
  const backend = await startBackend(t, {
    onRequest: (_request, one) =>
      one.send(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${body}0\r\n\r\n`),
  });
  const destination = new Destination(
    { host: 'app.test', port: 80, addresses: [{ host: '127.0.0.1', port: backend.port }] },
    defaults.upstream,
    defaults.limits,
    { log: recordingLog().log, lookup: systemLookup, tenantLookup: systemLookup },
  );
  t.after(() => destination.close());
  const parts: string[] = [];
  let isOver = false;
  const start = { destination, head: 'GET / HTTP/1.1\r\nhost: a\r\n\r\n', repeatable: true, patient: true };
  new OwnRequest(start, {
    onHead: () => undefined,
    onBytes: (bytes, from, to) => parts.push(bytes.toString('latin1', from, to)),
    onEnd: () => (isOver = true),
    onFailure: (code) => assert.fail(code),
  }).begin();
  await until('the answer is complete', () => isOver);
  assert.equal(parts.join(''), text);
  assert.ok(parts.length < 20, `${parts.length} parts`);
});
