import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemLookup } from './resolve.ts';

test('the resolver of the system knows this machine, however many ask at once', async () => {
  const found = await Promise.all(Array.from({ length: 20 }, () => systemLookup.lookup('localhost')));
  for (const addresses of found)
    assert.ok(addresses.some(({ address }) => address === '127.0.0.1' || address === '::1'));
});

test('a name that does not exist is a failure, and others are found all the same', async () => {
  const asked = await Promise.allSettled(
    ['nowhere.invalid', 'localhost', 'nowhere.invalid', 'localhost'].map((name) => systemLookup.lookup(name)),
  );
  assert.deepEqual(
    asked.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
});
