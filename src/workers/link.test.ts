import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SocketHandle } from '../proxy/index.ts';
import { Link, LinkClosed } from './link.ts';
import { channel } from './link.testing.ts';

interface Table {
  double: { readonly question: number; readonly answer: number };
  take: { readonly question: string; readonly answer: void };
  never: { readonly question: void; readonly answer: void };
}

function pair() {
  const [left, right] = channel();
  const taken: [string, SocketHandle | undefined][] = [];
  new Link<object, Table>(right, {
    double: (n) => {
      if (n < 0) throw new Error('too small');
      return n * 2;
    },
    take: (name, socket) => void taken.push([name, socket]),
    never: () => new Promise(() => undefined),
  });
  return { asker: new Link<Table, object>(left, {}), taken, cut: () => left.cut() };
}

test('a question gets its own answer, however many are under way', async () => {
  const { asker } = pair();
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => asker.ask('double', n))), [2, 4, 6]);
});

test('a failure on the other side fails here with its message', async () => {
  const { asker } = pair();
  await assert.rejects(asker.ask('double', -1), /too small/);
});

test('a socket goes along with a question', async () => {
  const { asker, taken } = pair();
  const socket: SocketHandle = { close: () => undefined };
  await asker.ask('take', 'one', socket);
  await asker.ask('take', 'two');
  assert.deepEqual(taken, [
    ['one', socket],
    ['two', undefined],
  ]);
});

test('a question to a process that has exited fails with LinkClosed', async () => {
  const { asker, cut } = pair();
  const waiting = assert.rejects(asker.ask('never', undefined), LinkClosed);
  cut();
  await waiting;
  await assert.rejects(asker.ask('double', 1), LinkClosed);
});
