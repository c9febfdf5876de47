import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults } from './defaults.ts';
import type { HttpListener, Model, Route, TcpListener } from './model.ts';
import { portionsOf, withoutRoutes, withRoutes } from './portions.ts';

const place = { file: 'test', line: 1, column: 1, path: '' };

const route = (name: string): Route => ({
  name,
  hostnames: [],
  matches: [],
  policies: [],
  backends: [],
  place,
});

const listener = (name: string, routes: readonly Route[]): HttpListener => ({
  name,
  protocol: 'HTTP',
  policies: [],
  routes,
});

const both = route('both');
const bytes: TcpListener = { name: 'bytes', protocol: 'TCP', tcpRoutes: [] };
const model: Model = {
  process: defaults,
  binds: [
    { port: 1, listeners: [listener('a', [route('own'), both]), listener('b', [both])] },
    { port: 2, listeners: [bytes] },
  ],
};

test('a model that is taken apart and put together is the same, and a shared route stays one object', () => {
  const { frame, routes } = withoutRoutes(model);
  assert.deepEqual(
    routes.map(({ name }) => name),
    ['own', 'both'],
  );
  const copy = withRoutes(structuredClone(frame), structuredClone(routes));
  assert.deepEqual(copy, model);
  const [a, b] = copy.binds[0]?.listeners ?? [];
  assert.ok(a !== undefined && b !== undefined && 'routes' in a && 'routes' in b);
  assert.equal(a.routes[1], b.routes[0]);
});

test('a model that lacks a route is refused', () => {
  const { frame, routes } = withoutRoutes(model);
  assert.throws(() => withRoutes(frame, routes.slice(0, 1)), /route 1 of the model is missing/);
});

test('portions keep the order of the routes, and hold at most 256 of them', () => {
  const routes = Array.from({ length: 600 }, (_, i) => route(`r${i}`));
  const portions = [...portionsOf(routes)];
  assert.deepEqual(
    portions.map(({ length }) => length),
    [256, 256, 88],
  );
  assert.deepEqual(portions.flat(), routes);
  assert.deepEqual([...portionsOf([])], []);
});
