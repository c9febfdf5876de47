/** Connections that are tunnels, as the data plane drives them for upgrades and TCP routes. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startRaw, type RawServerOptions } from '../proxy/rawServer.testing.ts';
import { get } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import {
  Asker,
  closedPort,
  endpointAt,
  Passenger,
  send,
  startBackend,
  still,
  type EndpointInShort,
} from './endpoint.testing.ts';
import type { ExchangeHandler } from './handlers.ts';

/** A tunnel to a server, and its end there. */
async function tunnel(t: TestContext, server: RawServerOptions = {}, short: EndpointInShort = {}) {
  const raw = await startRaw(t, server);
  const endpoint = endpointAt(t, raw.port, short);
  const connection = endpoint.take();
  const passenger = new Passenger();
  connection.tunnel(passenger);
  const there = await raw.connection();
  await until('the tunnel stands', () => connection.connected);
  return { endpoint, connection, passenger, there };
}

/** Asks for an upgrade, and takes it. */
class Upgrader extends Asker implements ExchangeHandler {
  switched: ((bytes: Buffer, from: number, to: number) => void) | undefined;

  onSwitch(_head: unknown, bytes: Buffer, from: number, to: number): void {
    this.switched?.(bytes, from, to);
  }
}

test('an upgrade is handed over with the bytes behind it, and the connection is a tunnel from then on', async (t) => {
  const backend = await startBackend(t, {
    onRequest: (_request, one) => {
      one.send('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nfirst');
      one.socket.on('data', (bytes: Buffer) => one.send(bytes));
    },
  });
  const endpoint = endpointAt(t, backend.port);
  const connection = endpoint.take();
  const passenger = new Passenger();
  const upgrader = new Upgrader();
  upgrader.switched = (bytes, from, to) => {
    connection.tunnel(passenger);
    passenger.onBytes(bytes, from, to);
  };
  send(connection, get('/', 'connection: upgrade', 'upgrade: echo'), upgrader);
  await until('the first bytes are there', () => passenger.text === 'first');
  connection.write(' and second');
  await until('the echo is there', () => passenger.text === 'first and second');
  assert.deepEqual([endpoint.idleConnections, endpoint.load], [0, 1]);
});

test('each side of a tunnel ends for itself', async (t) => {
  const { connection, passenger, there } = await tunnel(t);
  there.socket.end('goodbye');
  await until('the end is told', () => passenger.ended);
  assert.equal(passenger.text, 'goodbye');
  connection.write('one more word');
  await there.find('the word', () => (there.text === 'one more word' ? true : undefined));
  connection.leave(10_000);
  assert.equal(await there.closed(), 'fin');
  assert.equal(passenger.failure, undefined);
});

test('bytes written before both sides ended still reach the backend, and then the connection is gone', async (t) => {
  const { endpoint, connection, passenger, there } = await tunnel(t);
  connection.write(Buffer.alloc(3_000_000, 'x'));
  connection.leave(10_000);
  assert.equal(await there.closed(), 'fin');
  assert.equal(there.inbox.length, 3_000_000);
  await until('the endpoint has forgotten it', () => endpoint.connections === 0);
  assert.equal(passenger.failure, undefined);
});

test('a backend that takes nothing more is left when the time for the last bytes is over', async (t) => {
  const { endpoint, connection, there } = await tunnel(t);
  there.socket.pause();
  connection.write(Buffer.alloc(30_000_000, 'x'));
  connection.leave(20);
  await until('the endpoint has forgotten it', () => endpoint.connections === 0);
});

test('a tunnel that breaks is reset at the backend', async (t) => {
  const { endpoint, connection, there } = await tunnel(t);
  connection.reset();
  assert.equal(await there.closed(), 'reset');
  assert.equal(endpoint.connections, 0);
});

test('a passenger that is full holds the backend back until it resumes', async (t) => {
  const { connection, passenger, there } = await tunnel(t);
  passenger.full = true;
  there.send(Buffer.alloc(20_000_000, 'x'));
  await still('the bytes that came through', () => passenger.text.length);
  assert.ok(passenger.text.length < 10_000_000);
  passenger.full = false;
  connection.resume();
  await until('everything is there', () => passenger.text.length === 20_000_000);
});

test('a passenger hears that the backend reset the tunnel, or was never reached', async (t) => {
  const { passenger, there } = await tunnel(t);
  there.reset();
  await until('the passenger is told', () => passenger.failure !== undefined);
  assert.equal(passenger.failure, 'upstream_reset: ECONNRESET');
  const nowhere = new Passenger();
  endpointAt(t, await closedPort())
    .take()
    .tunnel(nowhere);
  await until('the other passenger is told', () => nowhere.failure !== undefined);
  assert.equal(nowhere.failure, 'upstream_connect_failed: ECONNREFUSED');
});
