import assert from 'node:assert/strict';
import test from 'node:test';
import { fairReads, FairReader, MAX_READS } from './fairReads.ts';

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

test('a reader rests after its reads of a turn, and goes on unless its user holds it or its stream is gone', async () => {
  for (const state of ['goes on', 'held', 'gone'] as const) {
    const calls: string[] = [];
    const stream = {
      destroyed: false,
      pause: () => void calls.push('pause'),
      resume: () => void calls.push('resume'),
    };
    const reader = new FairReader(stream);
    for (let read = 0; read < MAX_READS + 2; read++) reader.noteRead();
    assert.deepEqual(calls, ['pause']);
    // The answer of the user meanwhile does not cut the turn of the others short.
    reader.pause();
    reader.resume();
    assert.deepEqual(calls, ['pause', 'pause']);
    if (state === 'held') reader.pause();
    stream.destroyed = state === 'gone';
    calls.length = 0;
    await immediate();
    await immediate();
    assert.deepEqual(calls, state === 'goes on' ? ['resume'] : [], state);
  }
});

test('a reader works off what was read before it reads on, in turns in which its user can take more', async () => {
  const calls: string[] = [];
  const stream = {
    destroyed: false,
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
  };
  const reader = new FairReader(stream);
  let left = 3;
  reader.workOff(() => {
    calls.push('work');
    if (left === 3) reader.pause();
    return --left > 0;
  });
  for (let turn = 0; turn < 5; turn++) await immediate();
  assert.deepEqual(calls, ['pause', 'work', 'pause']);
  reader.resume();
  for (let turn = 0; turn < 5; turn++) await immediate();
  assert.deepEqual(calls, ['pause', 'work', 'pause', 'work', 'work', 'resume']);
});

test('a reader leaves the rest when its stream is gone', async () => {
  const stream = { destroyed: false, pause: () => undefined, resume: () => assert.fail('it is gone') };
  const reader = new FairReader(stream);
  reader.workOff(() => assert.fail('it is gone'));
  stream.destroyed = true;
  await immediate();
  await immediate();
});
