/**
 * Ten thousand idle connections. The clients live in a process of their own, so that neither end runs out of file
 * descriptors before the gateway does; where the system allows fewer, fewer are opened.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { queryObjects } from 'node:v8';
import { ClientConnection } from './clientConnection.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { ServedExchange } from '../exchange/servedExchange.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, status } from '../wire.testing.ts';

const openFilesMost = (): number => {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  return Number(/Max open files\s+(\d+)/.exec(limits)?.[1] ?? 1_024);
};

/** Opens connections from several loopback addresses, one request on each, and holds them until its stdin ends. */
const clients = `
const net = require('node:net');
const [port, count] = process.argv.slice(1).map(Number);
let started = 0, answered = 0;
const open = () => {
  if (started === count) return;
  const n = started++;
  const s = net.connect({ port, host: '127.0.0.1', localAddress: '127.0.0.' + (1 + n % 4) });
  s.on('error', (e) => { console.log('error ' + e.code); process.exit(1); });
  s.write('GET / HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n');
  s.once('data', () => { if (++answered === count) console.log('open'); open(); });
};
for (let i = 0; i < 64; i++) open();
process.stdin.on('end', () => process.exit(0)).resume();
`;

/** Live instances of a class, after a full garbage collection. */
const instances = (type: new (...args: never[]) => unknown): number =>
  queryObjects(type, { format: 'count' });

const memory = (): number => {
  instances(ClientConnection);
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
};

test('ten thousand idle connections cost little, do not stand in the way, and leave nothing', async () => {
  const count = Math.min(10_000, openFilesMost() - 500);
  const backend = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('x')) });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  assert.equal(status(await plane.ask(get())), 200);
  plane.access.length = 0;
  const before = memory();

  const child = spawn(process.execPath, ['-e', clients, String(plane.port), String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  assert.equal(said.toString().trim(), 'open');
  assert.equal(plane.connections, count);
  backend.requests.length = 0;
  plane.access.length = 0;
  const open = memory();
  const each = ((open - before) * 1e6) / count;
  assert.ok(each < 8_000, `${Math.round(each)} bytes a connection`);

  const started = performance.now();
  for (let i = 0; i < 20; i++) assert.equal(status(await plane.ask(get())), 200);
  assert.ok(performance.now() - started < 10_000);
  assert.equal(plane.connections >= count, true);

  child.stdin.end();
  await exited;
  await until('every connection is gone', () => plane.connections === 0);
  await until('nothing of them is left in memory', () => instances(ClientConnection) === 0);
  assert.equal(instances(ServedExchange), 0);
  // Garbage may count for a moment longer.
  await until('all but 15 MB of memory came back', () => memory() - before < 15);
  plane.close();
  await backend.close();
});
