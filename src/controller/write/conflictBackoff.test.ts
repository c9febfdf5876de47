import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../stream/clock.testing.ts';
import { ConflictBackoff } from './conflictBackoff.ts';

const status = (says: string, time = 'now') => ({
  conditions: [{ type: 'Accepted', status: says, lastTransitionTime: time }],
});

test('contested writes wait longer each time', async () => {
  const clock = new ManualClock();
  const contested = new ConflictBackoff(clock);
  const pauses: number[] = [];
  for (let turn = 0; turn < 6; turn++) {
    const pauseMs = contested.pauseFor('a', status('True', String(turn)));
    pauses.push(pauseMs);
    await clock.advance(pauseMs);
    contested.note('a', status('True', String(turn)));
  }
  assert.deepEqual(pauses, [0, 0, 0, 1_000, 2_000, 4_000]);
  for (let turn = 0; turn < 20; turn++) contested.note('a', status('True'));
  assert.equal(contested.pauseFor('a', status('True')), 300_000);
  assert.equal(contested.pauseFor('b', status('True')), 0);
});

test('a new status is written at once, and an old conflict is forgotten', async () => {
  const clock = new ManualClock();
  const contested = new ConflictBackoff(clock);
  for (let turn = 0; turn < 6; turn++) contested.note('a', status('True'));
  assert.equal(contested.pauseFor('a', status('False')), 0);
  assert.equal(contested.pauseFor('a', status('True')), 8_000);
  await clock.advance(600_000);
  assert.equal(contested.pauseFor('a', status('True')), 0);
  contested.note('a', status('True'));
  contested.note('a', status('True'));
  assert.equal(contested.pauseFor('a', status('True')), 0);

  for (let turn = 0; turn < 6; turn++) contested.note('a', status('True'));
  contested.keep(new Set(['b']));
  assert.equal(contested.pauseFor('a', status('True')), 0);
});
