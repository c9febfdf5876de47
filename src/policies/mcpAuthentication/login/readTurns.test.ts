import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadTurns, type TurnLimits } from './readTurns.ts';

const turns = (changes: Partial<TurnLimits> = {}): ReadTurns =>
  new ReadTurns({
    atOnce: { all: 2, host: 1 },
    waiting: { total: 4, perClient: 2 },
    waitMs: 60_000,
    ...changes,
  });

/** A read that ends when the test says so. */
function held(): { readonly read: () => Promise<string>; readonly end: () => void } {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { read: () => promise, end: () => resolve('read') };
}

test('clients have turns, and a host that is being read does not stop the reads of others', async () => {
  const some = turns();
  const began: string[] = [];
  const first = held();
  const run = (host: string, client: string, name: string): Promise<string> =>
    some.run({ host, client }, () => {
      began.push(name);
      return name === 'a1' ? first.read() : Promise.resolve(name);
    });
  const all = [
    run('a.test', 'stranger', 'a1'),
    run('a.test', 'stranger', 'a2'),
    run('a.test', 'stranger', 'a3'),
    run('a.test', 'client', 'a4'),
    run('b.test', 'client', 'b1'),
  ];
  await all[4];
  assert.deepEqual(began, ['a1', 'b1']);
  first.end();
  await Promise.all(all);
  assert.deepEqual(began, ['a1', 'b1', 'a2', 'a4', 'a3']);
});

test('a read that waits for too long, or beyond the limits of the line, is refused and never begins', async () => {
  const some = turns({ waitMs: 1 });
  const first = held();
  const running = some.run({ host: 'a.test', client: 'stranger' }, first.read);
  const late: string[] = [];
  const refused = ['one', 'two', 'three'].map((name) =>
    assert.rejects(
      some.run({ host: 'a.test', client: 'client' }, () => Promise.resolve(late.push(name))),
      /too many documents are being read/,
    ),
  );
  await Promise.all(refused);
  first.end();
  assert.equal(await running, 'read');
  assert.deepEqual(late, []);
});

test('a read that fails makes room for the next one', async () => {
  const some = turns();
  const reader = { host: 'a.test', client: 'client' };
  const failing = some.run(reader, () => Promise.reject(new Error('answered 404')));
  const next = some.run(reader, () => Promise.resolve('read'));
  await assert.rejects(failing, /404/);
  assert.equal(await next, 'read');
});
