import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Attempts } from './attempts.ts';

const emptied = (attempts: Attempts, client: string, user: string): number => {
  for (let tries = 0; tries < 100; tries++) if (attempts.take(client, user) > 0) return tries;
  return 100;
};

test('a client may try ten passwords for a user, and one more every six seconds', () => {
  let now = 0;
  const attempts = new Attempts(() => now);
  assert.equal(emptied(attempts, 'a', 'alice'), 10);
  assert.equal(attempts.take('a', 'alice'), 6);
  now += 5_000;
  assert.equal(attempts.take('a', 'alice'), 1);
  now += 1_000;
  assert.equal(emptied(attempts, 'a', 'alice'), 1);
  now += 3_600_000;
  assert.equal(emptied(attempts, 'a', 'alice'), 10, 'a long pause fills the bucket and no more');
});

test('attempts of one client neither limit other clients nor other users', () => {
  const attempts = new Attempts(() => 0);
  emptied(attempts, 'a', 'alice');
  assert.equal(attempts.take('b', 'alice'), 0);
  assert.equal(attempts.take('a', 'bob'), 0);
});

test('an attempt that is given back does not count', () => {
  const attempts = new Attempts(() => 0);
  for (let i = 0; i < 100; i++) {
    assert.equal(attempts.take('a', 'alice'), 0);
    attempts.giveBack('a', 'alice');
  }
});

test('names that a client makes up take bounded memory', () => {
  const attempts = new Attempts(() => 0);
  emptied(attempts, 'a', 'alice');
  for (let i = 0; i < 8_192; i++) attempts.take('a', `name ${String(i)}`);
  assert.equal(attempts.take('a', 'alice'), 0, 'the least recently used pair was forgotten');
});
