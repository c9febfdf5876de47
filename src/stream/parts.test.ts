import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpListener, Model } from '../model/index.ts';
import { modelWith, names, place, routeNamed } from './model.testing.ts';
import { modelFrom, PartsBroken, partsOf, type PartName, type Parts } from './parts.ts';

const parsed = ({ texts }: Parts): Map<PartName, unknown> =>
  new Map(Array.from(texts, ([name, text]) => [name, JSON.parse(text) as unknown]));

/** As it is after it was sent. */
const sent = (model: Model): Model => JSON.parse(JSON.stringify(model)) as Model;

/** Bytes of the parts of `after` that `before` has not. */
function difference(before: Model, after: Model): { readonly parts: number; readonly bytes: number } {
  const known = partsOf(before).texts;
  const fresh = [...partsOf(after).texts].filter(([name]) => !known.has(name));
  return { parts: fresh.length, bytes: fresh.reduce((sum, [, text]) => sum + text.length, 0) };
}

test('a model that is divided and put together is the same', () => {
  const stream = { kind: 'invalid' as const, weight: 1, key: 'k', place, problem: 'none' };
  const all: Model = {
    ...modelWith(names(700).map((name) => routeNamed(name))),
    binds: [
      ...modelWith(names(700).map((name) => routeNamed(name))).binds,
      {
        port: 443,
        proxyProtocol: { version: 'all', mode: 'strict' },
        listeners: [
          {
            name: 'tls',
            protocol: 'TLS',
            hostname: '*.example.com',
            tcpRoutes: [{ name: 'a', hostnames: [], backends: [stream], place }],
          },
          { name: 'none', protocol: 'TLS', tcpRoutes: [] },
        ],
      },
      {
        port: 53,
        listeners: [{ name: 'dns', protocol: 'UDP', udpRoutes: [{ name: 'a', backends: [stream], place }] }],
      },
      { port: 1, listeners: [] },
    ],
  };
  const parts = partsOf(all);
  const { model, used } = modelFrom(parts.root, parsed(parts));
  assert.deepEqual(model, sent(all));
  assert.deepEqual(used, new Set(parts.texts.keys()));
});

test('the names of equal models are equal, and of others not', () => {
  const one = modelWith([routeNamed('a'), routeNamed('b')]);
  assert.equal(partsOf(one).root, partsOf(sent(one)).root);
  assert.notEqual(partsOf(one).root, partsOf(modelWith([routeNamed('b'), routeNamed('a')])).root);
});

test('a change of one route among thousands changes few parts', () => {
  const routes = names(5_000).map((name) => routeNamed(name));
  const before = modelWith(routes);
  const all = [...partsOf(before).texts.values()].reduce((sum, text) => sum + text.length, 0);
  for (const after of [
    routes.with(2_500, routeNamed('r2500', '/elsewhere')),
    routes.toSpliced(100, 0, routeNamed('new')),
    routes.toSpliced(4_000, 1),
    [...routes, routeNamed('last')],
  ]) {
    const { parts, bytes } = difference(before, modelWith(after));
    assert.ok(parts <= 5, `${parts} parts`);
    // The lists that hold the rest together, too.
    assert.ok(bytes * 50 < all, `${bytes} of ${all}`);
  }
});

test('no page is longer than another side would take, whatever the names are', () => {
  // Equal routes have one name, so all of them have a border, or none.
  for (const name of names(200)) {
    const parts = partsOf(modelWith(Array.from({ length: 2_000 }, () => routeNamed(name))));
    for (const text of parts.texts.values()) assert.ok(text.length < 65_536);
    const { model } = modelFrom(parts.root, parsed(parts));
    assert.equal((model.binds[0]?.listeners[0] as HttpListener).routes.length, 2_000);
  }
});

test('missing or wrong parts make no model', () => {
  const parts = partsOf(modelWith(names(100).map((name) => routeNamed(name))));
  for (const name of parts.texts.keys()) {
    const others = parsed(parts);
    others.delete(name);
    assert.throws(() => modelFrom(parts.root, others), PartsBroken);
  }
  for (const wrong of [{}, { binds: 1 }, { binds: [{ listeners: 5 }], process: parts.root }, null, [], 'x'])
    assert.throws(() => modelFrom(parts.root, parsed(parts).set(parts.root, wrong)), PartsBroken);
});
