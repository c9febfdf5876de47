import assert from 'node:assert/strict';
import test from 'node:test';
import { fairReads } from './fairReads.ts';

const immediate = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test('turns are told apart, and who rests goes on in the next one', async () => {
  const first = fairReads.current;
  assert.equal(fairReads.current, first);
  const woken: number[] = [];
  fairReads.rest({ continueReading: () => void woken.push(fairReads.current) });
  assert.deepEqual(woken, []);
  await immediate();
  await immediate();
  assert.equal(woken.length, 1);
  assert.notEqual(woken[0], first);
});
