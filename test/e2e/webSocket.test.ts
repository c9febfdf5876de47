import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startGateway } from './gateway.testing.ts';
import { startEchoApp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

test('a WebSocket client talks to a WebSocket server, and the tunnel is one request in the end', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(`
config: { logging: { accessLog: json } }
binds:
- port: 0
  listeners:
  - routes:
    - backends: [{ host: '127.0.0.1:${echo.port}' }]
`);
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`);
  socket.binaryType = 'arraybuffer';
  await once(socket, 'open');
  assert.equal(await gateway.metric('portcullis_upgraded_connections'), 1);
  for (const message of ['hello', 'ü'.repeat(70_000), Buffer.alloc(3_000_000, 7)]) {
    const answered = once(socket, 'message') as Promise<[MessageEvent]>;
    socket.send(message);
    const [{ data }] = await answered;
    if (typeof message === 'string') assert.equal(data, message);
    else assert.ok(message.equals(Buffer.from(data as ArrayBuffer)));
  }
  const closed = once(socket, 'close') as Promise<[CloseEvent]>;
  socket.close(1000, 'done');
  const [{ code, wasClean }] = await closed;
  assert.deepEqual([code, wasClean], [1000, true]);
  await until('it is logged', () => gateway.accessLog().includes('/ws'));
  const [line = ''] = gateway.accessLog().trim().split('\n');
  assert.match(line, /"status":101\b/);
  assert.doesNotMatch(line, /"error"/);
  assert.equal(await gateway.metric('portcullis_upgraded_connections'), 0);
});
