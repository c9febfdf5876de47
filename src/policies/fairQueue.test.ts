import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fairQueue.ts';

const drain = (queue: FairQueue<string>): string[] => {
  const order: string[] = [];
  for (let item = queue.next(); item !== undefined; item = queue.next()) order.push(item);
  return order;
};

test('clients are served in turn, each in the order of its own items', () => {
  const queue = new FairQueue<string>({ total: 10, perClient: 5 });
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(item[0] ?? '', item);
  assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  assert.equal(queue.size, 0);
});

test('a client that has its share is refused, and others are not', () => {
  const queue = new FairQueue<string>({ total: 10, perClient: 2 });
  assert.equal(queue.add('a', 'a1'), undefined);
  assert.equal(queue.add('a', 'a2'), undefined);
  assert.equal(queue.add('a', 'a3'), 'a3');
  assert.equal(queue.add('b', 'b1'), undefined);
});

test('in a full queue the client with most items loses its newest one to a client with fewer', () => {
  const queue = new FairQueue<string>({ total: 4, perClient: 4 });
  for (const item of ['a1', 'a2', 'a3', 'b1']) queue.add(item[0] ?? '', item);
  assert.equal(queue.add('c', 'c1'), 'a3');
  assert.equal(queue.add('c', 'c2'), 'c2', 'the client with most has hardly more than this one');
  assert.equal(queue.size, 4);
  assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2']);
});

test('items that do not fit keep their places, and their client keeps its turn', () => {
  const queue = new FairQueue<string>({ total: 10, perClient: 5 });
  for (const item of ['a1', 'a2', 'b1']) queue.add(item[0] ?? '', item);
  assert.equal(
    queue.next((item) => item === 'a2'),
    'a2',
  );
  assert.equal(
    queue.next((item) => item === 'c1'),
    undefined,
  );
  assert.deepEqual(drain(queue), ['b1', 'a1']);
});

test('an item that is removed makes room', () => {
  const queue = new FairQueue<string>({ total: 2, perClient: 2 });
  for (const item of ['a1', 'b1']) queue.add(item[0] ?? '', item);
  queue.remove('a', 'a1');
  queue.remove('a', 'a1');
  queue.remove('b', 'a1');
  assert.equal(queue.size, 1);
  assert.equal(queue.add('c', 'c1'), undefined);
  assert.deepEqual(drain(queue), ['b1', 'c1']);
});
