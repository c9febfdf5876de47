import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bounded,
  boundedFlaws,
  gatewayOfPath,
  pathOf,
  readToController,
  readToProxy,
  WireError,
  written,
  writtenEndpoints,
  writtenPart,
  type ToController,
  type ToProxy,
} from './wire.ts';

const name = 'AAAAAAAAAAAAAAAAAAAAA-';

test('every message is read as it was written', () => {
  const toProxy: readonly ToProxy[] = [
    { type: 'welcome', controller: 'c', beatMs: 10 },
    { type: 'part', value: { a: [1] } },
    { type: 'part', value: [] },
    { type: 'endpoints', key: 'k', addresses: [{ host: '::1', port: 1, zone: 'z' }] },
    { type: 'gone', key: 'k' },
    { type: 'complete', version: name, root: name },
    { type: 'none', reason: 'r' },
    { type: 'beat' },
    { type: 'bye', reason: 'r' },
  ];
  for (const message of toProxy) assert.deepEqual(readToProxy(written(message)), message);
  const toController: readonly ToController[] = [
    { type: 'have', parts: [name], endpoints: [['k', name]] },
    { type: 'ready' },
    { type: 'taken', version: name },
    { type: 'taken', version: name, broken: [{ route: 'r', problem: 'p' }] },
    { type: 'refused', version: name, problems: ['p'] },
    { type: 'beat' },
  ];
  for (const message of toController) assert.deepEqual(readToController(written(message)), message);
  assert.deepEqual(readToProxy(writtenPart('{"a":[1]}')), toProxy[1]);
  assert.deepEqual(readToProxy(writtenEndpoints('k"', '[]')), {
    type: 'endpoints',
    key: 'k"',
    addresses: [],
  });
});

test('unknown messages are rejected', () => {
  const long = 'x'.repeat(2_000);
  const wrong: readonly unknown[] = [
    null,
    [],
    'text',
    {},
    { type: 5 },
    { type: 'toString' },
    { type: '__proto__' },
    { type: 'welcome' },
    { type: 'welcome', controller: 'c', beatMs: 1.5 },
    { type: 'part' },
    { type: 'part', value: 5 },
    { type: 'endpoints', key: '', addresses: [] },
    { type: 'endpoints', key: long, addresses: [] },
    { type: 'endpoints', key: 'k', addresses: [{ host: 'h' }] },
    { type: 'endpoints', key: 'k', addresses: 'all' },
    { type: 'gone', key: null },
    { type: 'complete', version: name },
    { type: 'complete', version: name, root: `${name}x` },
    { type: 'none', reason: long },
  ];
  for (const value of wrong) assert.throws(() => readToProxy(JSON.stringify(value)), WireError);
  assert.throws(() => readToProxy('{"type":'), WireError);
  const fromProxy: readonly unknown[] = [
    { type: 'part', value: {} },
    { type: 'have', parts: [], endpoints: [['k']] },
    { type: 'have', parts: ['short'], endpoints: [] },
    { type: 'have', parts: Array.from({ length: 2_001 }, () => name), endpoints: [] },
    { type: 'taken' },
    { type: 'taken', version: name, broken: [{ route: 'r' }] },
    { type: 'taken', version: name, broken: [{ route: 'r', problem: long }] },
    {
      type: 'taken',
      version: name,
      broken: Array.from({ length: 51 }, () => ({ route: 'r', problem: 'p' })),
    },
    { type: 'refused', version: name, problems: [long] },
    { type: 'refused', version: name, problems: Array.from({ length: 11 }, () => 'p') },
  ];
  for (const value of fromProxy) assert.throws(() => readToController(JSON.stringify(value)), WireError);
});

test('the problems that a proxy reports fit into a message', () => {
  const problems = bounded(Array.from({ length: 50 }, () => 'x'.repeat(5_000)));
  assert.ok(readToController(written({ type: 'refused', version: name, problems })));
  const problem = 'x'.repeat(5_000);
  const flaws = boundedFlaws({
    broken: Array.from({ length: 100 }, () => ({ route: 'r', problem })),
    closed: Array.from({ length: 100 }, () => ({ port: 80, protocol: 'TCP' as const, problem })),
  });
  assert.ok(readToController(written({ type: 'taken', version: name, ...flaws })));
});

test('a path names one Gateway, and nothing else does', () => {
  assert.equal(gatewayOfPath(pathOf('ns', 'a.b-1')), 'ns/a.b-1');
  for (const path of [
    '',
    '/',
    '/v1/gateways/ns/stream',
    '/v1/gateways/ns/a/stream/',
    '/v1/gateways/ns/a%2fb/stream',
    '/v2/gateways/a/b/stream',
  ])
    assert.equal(gatewayOfPath(path), undefined);
});
