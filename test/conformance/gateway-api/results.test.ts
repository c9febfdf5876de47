import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AddressPool } from './addressPool.ts';
import { compareWithKnown, readResults } from './results.ts';

const output = `
=== RUN   TestGatewayAPI
    --- PASS: TestGatewayAPI/One (0.15s)
        --- FAIL: TestGatewayAPI/One/a_part_that_is_tried_again (0.01s)
    --- FAIL: TestGatewayAPI/Two (15.28s)
    --- SKIP: TestGatewayAPI/Three (0.00s)
--- FAIL: TestGatewayAPI (32.73s)
`;

test('the tests that were run are read from the output of the suite', () => {
  assert.deepEqual(readResults(output), [
    { id: 'One', passed: true },
    { id: 'Two', passed: false },
  ]);
});

test('a test that fails and is not on the list is told', () => {
  const { passed, total, unexpected } = compareWithKnown(readResults(output), false);
  assert.deepEqual([passed, total, unexpected], [1, 2, ['Two']]);
});

test('a Gateway gets its requested address, keeps assigned ones, and reports unavailable ones', () => {
  const gateway = (name: string, ...addresses: readonly string[]) => ({
    metadata: { name, namespace: 'a' },
    spec: { gatewayClassName: 'c', listeners: [], addresses: addresses.map((value) => ({ value })) },
  });
  const pool = new AddressPool();
  pool.give([gateway('one'), gateway('two', '198.19.0.12', '192.0.2.1')]);
  assert.deepEqual([pool.of('a/one'), pool.of('a/two')], ['198.19.0.10', '198.19.0.12']);
  assert.deepEqual([pool.unusable('a/one'), pool.unusable('a/two')], [[], ['192.0.2.1']]);
  pool.give([gateway('two', '198.19.0.12'), gateway('three'), gateway('four', '198.19.0.12')]);
  assert.deepEqual([pool.of('a/two'), pool.unusable('a/two')], ['198.19.0.12', []]);
  // An address that was given back rests.
  assert.deepEqual([pool.of('a/one'), pool.of('a/three')], [undefined, '198.19.0.11']);
  assert.deepEqual([pool.of('a/four'), pool.unusable('a/four')], [undefined, ['198.19.0.12']]);
});
