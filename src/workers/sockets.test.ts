import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { defaults, type Model } from '../model/index.ts';
import { freePorts } from '../proxy/ports.testing.ts';
import { bindPort } from './portSocket.ts';
import { Sockets } from './sockets.ts';

const modelOf = (...ports: readonly number[]): Model => ({
  process: defaults,
  binds: ports.map((port) => ({ port, address: '127.0.0.1', listeners: [] })),
});

/** The handles of one worker, by the key of their bind. */
const handles = (sockets: Sockets, worker: number) => new Map(sockets.of(worker));

test('a port that the system chooses is the same for every worker, and clients reach any listening one', async () => {
  const sockets = new Sockets(3);
  sockets.open(modelOf(0));
  const [view] = sockets.ports;
  assert.ok(view !== undefined && view.port > 0);
  const server = createServer((socket) => socket.end('hello'));
  server.listen(handles(sockets, 2).get(view.key));
  await once(server, 'listening');
  assert.equal((server.address() as AddressInfo).port, view.port);
  const [greeting] = (await once(connect(view.port, '127.0.0.1'), 'data')) as [Buffer];
  assert.equal(greeting.toString(), 'hello');
  server.close();
  sockets.close();
});

test('a port in use is reported by its number, and no port stays bound', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const sockets = new Sockets(2);
  assert.throws(
    () => sockets.open(modelOf(0, port)),
    new RegExp(
      `port ${port} on 127\\.0\\.0\\.1 cannot be bound: EADDRINUSE \\(another program listens there\\)`,
    ),
  );
  assert.deepEqual(sockets.ports, []);
  other.close();
});

test('an address that overlaps with that of an open port is refused, and the reason names this gateway', async (t) => {
  const [port = 0] = await freePorts(1);
  const on = (address?: string): Model => ({
    process: defaults,
    binds: [{ port, listeners: [], ...(address !== undefined && { address }) }],
  });
  const sockets = new Sockets(1);
  t.after(() => sockets.close());
  const [key = ''] = sockets.open(on());
  const server = createServer().listen(handles(sockets, 1).get(key));
  t.after(() => server.close());
  await once(server, 'listening');
  assert.throws(
    () => sockets.open(on('127.0.0.1')),
    /EADDRINUSE \(this gateway listens there on an address that overlaps/,
  );
  assert.deepEqual(sockets.ports, [{ key, port }]);
  server.close();
  sockets.close();

  const [first = ''] = sockets.open(on('127.0.0.1'));
  const other = createServer().listen(handles(sockets, 1).get(first));
  t.after(() => other.close());
  await once(other, 'listening');
  assert.deepEqual(sockets.open(on('127.0.0.2')), [`127.0.0.2:${port}`]);
  assert.throws(() => sockets.open(on()), /this gateway listens there/);
});

test('an optional port in use is marked as closed, and opened with a later model', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const model: Model = {
    process: defaults,
    binds: modelOf(0, port).binds.map((bind) => ({ ...bind, optional: true })),
  };
  const sockets = new Sockets(2);
  assert.deepEqual(sockets.open(model), ['127.0.0.1:0#0']);
  const [first, second] = sockets.marked(model).binds;
  assert.deepEqual(first, model.binds[0]);
  assert.match(second?.closed ?? '', /EADDRINUSE/);

  other.close();
  await once(other, 'close');
  assert.deepEqual(sockets.open(model), [`127.0.0.1:${port}`]);
  assert.equal(sockets.marked(model), model);
  sockets.close();
});

test('a second gateway cannot join in on a port by mistake', async () => {
  const [first, second] = bindPort(0, '127.0.0.1', 2);
  assert.ok(first !== undefined && second !== undefined);
  const server = createServer().listen(first.handle);
  await once(server, 'listening');
  // It would be let in with SO_REUSEPORT, as its own workers are.
  assert.throws(() => bindPort(first.port, '127.0.0.1', 2), /EADDRINUSE/);
  server.close();
  second.handle.close();
});

test('ports come and go with the model; those that stay keep their sockets', () => {
  const sockets = new Sockets(2);
  assert.deepEqual(sockets.open(modelOf(0)), ['127.0.0.1:0#0']);
  const before = handles(sockets, 1).get('127.0.0.1:0#0');
  assert.deepEqual(sockets.open(modelOf(0, 0)), ['127.0.0.1:0#1']);
  assert.equal(handles(sockets, 1).get('127.0.0.1:0#0'), before);
  assert.deepEqual([...handles(sockets, 2).keys()], ['127.0.0.1:0#0', '127.0.0.1:0#1']);
  sockets.keepOnly(modelOf(0));
  assert.deepEqual([...handles(sockets, 2).keys()], ['127.0.0.1:0#0']);
  sockets.close();
  assert.deepEqual(sockets.ports, []);
});

test('inherited sockets are all used: by several workers further ones are bound, by few some get two', () => {
  const first = new Sockets(2);
  first.open(modelOf(0));
  const port = first.ports[0]?.port;
  const handlesOf = (sockets: Sockets, workers: number): number[] =>
    Array.from({ length: workers }, (_, index) => [...sockets.of(index + 1)].length);

  const more = new Sockets(3, first.all);
  more.open(modelOf(0));
  assert.deepEqual(handlesOf(more, 3), [1, 1, 1]);
  assert.equal(more.ports[0]?.port, port);
  const fewer = new Sockets(2, more.all);
  fewer.open(modelOf(0));
  assert.deepEqual(handlesOf(fewer, 2), [2, 1]);
  assert.deepEqual(fewer.ports, more.ports);
  fewer.close();

  // Sockets that the model does not need are closed.
  let closed = 0;
  const left = { port: 1, handle: { close: () => void closed++ } };
  new Sockets(1, new Map([['1', [left, left]]])).open(modelOf());
  assert.equal(closed, 2);
  first.close();
});
