import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaults } from '../model/index.ts';
import { ok } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import { ask, Passenger, send } from './endpoint.testing.ts';
import { localEndpoint } from './localEndpoint.ts';

test('another process of the gateway is reached by its socket, and eight connections are kept for ever', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-local-'));
  const path = join(folder, 'worker.sock');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', () => void socket.write(ok('from the other side')));
    socket.on('close', () => sockets.delete(socket));
  }).listen(path);
  await once(server, 'listening');
  const endpoint = localEndpoint('worker 2', path, defaults.limits);
  t.after(() => {
    endpoint.close();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const asked = Array.from({ length: 10 }, () => send(endpoint.take()).outcome);
  for (const { body } of await Promise.all(asked)) assert.equal(body, 'from the other side');
  assert.equal(endpoint.idleConnections, 8);
  endpoint.sweep(Date.now() + 1_000 * 3_600_000);
  assert.equal(endpoint.idleConnections, 8);
  assert.equal((await ask(endpoint.take())).status, 200);
  endpoint.close();
  await until('the other side has no connection', () => sockets.size === 0);
});

test('a process that is gone fails its requests, and is tried again with the next one', async (t) => {
  const endpoint = localEndpoint('worker 2', join(tmpdir(), 'portcullis-no-such.sock'), defaults.limits);
  t.after(() => endpoint.close());
  const { failure, detail } = await ask(endpoint.take());
  assert.deepEqual([failure, detail], ['upstream_connect_failed', 'ENOENT']);
  const passenger = new Passenger();
  endpoint.take().tunnel(passenger);
  await until('the tunnel has failed, too', () => passenger.failure !== undefined);
  assert.equal(endpoint.stats.connectFailed, 2);
  assert.equal(endpoint.connections, 0);
});
