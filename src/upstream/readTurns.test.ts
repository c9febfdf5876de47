import assert from 'node:assert/strict';
import test from 'node:test';
import { turns } from './readTurns.ts';

const immediate = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('turns are told apart, and who rests goes on in the next one', async () => {
  const first = turns.current;
  assert.equal(turns.current, first);
  const woken: number[] = [];
  turns.rest({ goOn: () => void woken.push(turns.current) });
  assert.deepEqual(woken, []);
  await immediate();
  await immediate();
  assert.equal(woken.length, 1);
  assert.notEqual(woken[0], first);
});
