import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atTurnEnd, type TurnUser } from './turnEnd.ts';

test('who breaks at the end of a turn is told, and the others have their turn', async () => {
  const said: string[] = [];
  const user = (name: string): TurnUser => ({
    turnEnd: () => void said.push(name),
    broken: (error) => void said.push(`${name} ${String(error)}`),
  });
  const rest = new Promise<void>((resolve) => {
    atTurnEnd(user('first'));
    atTurnEnd({
      ...user('second'),
      turnEnd: () => {
        throw new Error('broke');
      },
    });
    atTurnEnd({ ...user('third'), turnEnd: resolve });
  });
  await rest;
  assert.deepEqual(said, ['first', 'second Error: broke']);
});
