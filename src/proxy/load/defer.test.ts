import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defer, type DeferredTask } from './defer.ts';

test('who breaks at the end of a turn is told, and the others have their turn', async () => {
  const said: string[] = [];
  const user = (name: string): DeferredTask => ({
    runDeferred: () => void said.push(name),
    broken: (error) => void said.push(`${name} ${String(error)}`),
  });
  const rest = new Promise<void>((resolve) => {
    defer(user('first'));
    defer({
      ...user('second'),
      runDeferred: () => {
        throw new Error('broke');
      },
    });
    defer({ ...user('third'), runDeferred: resolve });
  });
  await rest;
  assert.deepEqual(said, ['first', 'second Error: broke']);
});
