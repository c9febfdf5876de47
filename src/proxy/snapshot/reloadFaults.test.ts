/** Models that come into use, or do not, while something else happens. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bind, Route } from '../../model/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { freePorts } from '../ports.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, RawClient, status, type BackendConnection } from '../wire.testing.ts';

const answering = (word: string) =>
  RawBackend.start({ onRequest: (_request, connection) => connection.send(ok(word)) });

test('a request that comes before the model of its port is in use waits for it', async () => {
  const backend = await answering('new');
  const plane = await TestPlane.start({ routes: [] });
  const [port = 0] = await freePorts(1);
  const prepared = await plane.prepare({ routes: [{ to: backend.port }], ports: [port] });
  const early = await plane.client(port);
  early.send(get());
  const gone = await plane.client(port);
  gone.send(get());
  gone.reset();
  const idle = await plane.client(port);
  // A whole request later than that on another port: long enough for an answer of the wrong model.
  assert.equal(status(await plane.ask(get())), 404);
  assert.equal(early.ending, 'open');
  assert.equal(early.text, '');
  await prepared.commit();
  assert.equal((await early.answer()).body.toString(), 'new');
  assert.equal((await idle.ask(get())).body.toString(), 'new');
  assert.equal((await plane.ask(get())).body.toString(), 'new');
  for (const client of [early, idle]) client.close();
  await until('no connection is left', () => plane.connections === 0);
  plane.close();
  await backend.close();
});

test('a connection to a port of a model that does not come into use is closed, and the port with it', async () => {
  const plane = await TestPlane.start({ routes: [] });
  const [port = 0] = await freePorts(1);
  const prepared = await plane.prepare({ routes: [], ports: [port] });
  const early = await plane.client(port);
  early.send(get());
  prepared.abort();
  assert.notEqual(await early.closed(), 'open');
  assert.equal(early.text, '');
  await assert.rejects(RawClient.connect(port), /ECONNREFUSED/);
  assert.match(await plane.metricsText(), /^portcullis_downstream_connections 0$/m);
  plane.close();
});

/** A model that fails behind its routes: a pattern that is none is found out when the routes are sorted. */
function failing(port: number, keys: string): readonly Bind[] {
  const place = { file: 'test', line: 1, column: 1, path: '' };
  const provider = { issuer: 'https://issuer.test', jwks: { kind: 'file', file: keys } };
  const route = (name: string, pattern: string): Route => ({
    name,
    hostnames: [],
    matches: [{ path: { kind: 'regex', value: pattern }, headers: [], query: [] }],
    policies: [{ name: 'jwtAuth', settings: { mode: 'strict', providers: [provider] }, place }],
    backends: [{ kind: 'http', weight: 1, key: name, place, host: '127.0.0.1', port }],
    place,
  });
  const listener = (name: string, pattern: string) =>
    ({ name, protocol: 'HTTP', policies: [], routes: [route(name, pattern)] }) as const;
  return [{ port: 0, listeners: [{ ...listener('good', '/.*'), hostname: 'a.test' }, listener('bad', '(')] }];
}

test('a model that cannot be compiled leaves nothing behind', async () => {
  const backend = await answering('old');
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const client = await plane.client();
  assert.equal((await client.ask(get())).body.toString(), 'old');
  const destinations = () => [...plane.plane.endpoints.destinations()].map(({ name }) => name);
  const before = destinations();
  await assert.rejects(plane.apply({ binds: failing(backend.port + 1, '/nowhere/keys.json') }), /parsing/);
  assert.deepEqual(plane.heldKeySets, [], 'what its policies held is given back');
  assert.deepEqual(destinations(), before, 'its backends are forgotten');
  assert.equal((await client.ask(get())).body.toString(), 'old');
  assert.equal(backend.accepted, 1, 'connections stay warm');
  plane.close();
  await backend.close();
});

test('an end while a model is prepared leaves no port open', async () => {
  const [one = 0, two = 0] = await freePorts(2);
  const plane = await TestPlane.start({ routes: [] });
  const applied = plane.apply({ routes: [], ports: [one, two] });
  plane.plane.close();
  await assert.rejects(applied, /the gateway is shutting down/);
  for (const port of [one, two]) await assert.rejects(RawClient.connect(port), /ECONNREFUSED/);
  await assert.rejects(plane.apply({ routes: [] }), /the gateway is shutting down/);
  plane.close();
});

test('a drain while a model is prepared keeps the old one, and no port of the new one opens', async () => {
  const waiting: BackendConnection[] = [];
  const backend = await RawBackend.start({
    onRequest: (_request, connection) => void waiting.push(connection),
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  const client = await plane.client();
  client.send(get());
  await backend.until('the request is there', () => waiting.length === 1);
  const [port = 0] = await freePorts(1);
  const prepared = await plane.prepare({ routes: [], ports: [port] });
  const drained = plane.plane.drain();
  await prepared.commit();
  await assert.rejects(RawClient.connect(port), /ECONNREFUSED/);
  waiting[0]?.send(ok('old'));
  assert.equal((await client.answer()).body.toString(), 'old');
  client.close();
  await drained;
  plane.close();
  await backend.close();
});
