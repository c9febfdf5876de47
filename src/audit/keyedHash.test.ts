import assert from 'node:assert/strict';
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { KeyedHash } from './keyedHash.ts';

test('a code is the HMAC of the message, whatever the lengths of the key and of the message', () => {
  for (const keyBytes of [1, 31, 32, 63, 64]) {
    const key = createSecretKey(randomBytes(keyBytes));
    const keyed = new KeyedHash(key);
    for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 1_000, 70_000, 44]) {
      const message = randomBytes(length);
      message.copy(keyed.memory(length), KeyedHash.start);
      assert.equal(
        keyed.codeOf(KeyedHash.start + length),
        createHmac('sha256', key).update(message).digest('base64url'),
        `${keyBytes}, ${length}`,
      );
    }
  }
});

test('a memory that grows keeps its beginning', () => {
  const keyed = new KeyedHash(createSecretKey(randomBytes(32)));
  keyed.memory(4).write('kept', KeyedHash.start);
  assert.equal(keyed.memory(10_000).toString('latin1', KeyedHash.start, KeyedHash.start + 4), 'kept');
});

test('a key that is longer than a block is refused', () => {
  assert.throws(() => new KeyedHash(createSecretKey(randomBytes(65))), /longer than a block/);
});
