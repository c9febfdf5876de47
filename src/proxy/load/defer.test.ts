import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defer, type DeferredTask } from './defer.ts';

test('a task that throws is told, and the other tasks still run', async () => {
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
