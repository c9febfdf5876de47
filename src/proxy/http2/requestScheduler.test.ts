import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestScheduler, type RequestQueue } from './requestScheduler.ts';

/** Turns that a test runs by hand; each request takes a millisecond. */
class Bench {
  readonly begun: string[] = [];
  time = 0;
  private readonly later: (() => void)[] = [];
  readonly turns = new RequestScheduler(
    () => this.time,
    (run) => void this.later.push(run),
  );

  begin(name: string): void {
    this.begun.push(name);
    this.time++;
  }

  /** So many requests of one connection come in by one read. */
  arrive(name: string, count: number): void {
    let left = count;
    while (left > 0 && this.turns.mayStart) {
      this.begin(name);
      left--;
    }
    const starter: RequestQueue = {
      startNext: () => {
        this.begin(name);
        return --left > 0;
      },
    };
    if (left > 0) this.turns.enqueue(starter);
  }

  turn(): void {
    for (const run of this.later.splice(0)) run();
  }
}

test('few requests are begun at once', () => {
  const bench = new Bench();
  bench.arrive('a', 5);
  assert.equal(bench.begun.join(''), 'aaaaa');
  bench.turn();
  bench.arrive('b', 5);
  assert.equal(bench.begun.join(''), 'aaaaabbbbb');
});

test('a flood gets its share of each turn and no more: others come between', () => {
  const bench = new Bench();
  bench.arrive('a', 100);
  assert.equal(bench.begun.length, 10);
  bench.turn();
  assert.equal(bench.begun.length, 20);
  bench.turn();
  assert.equal(bench.begun.length, 30);
});

test('connections that wait take turns, one request each', () => {
  const bench = new Bench();
  bench.arrive('a', 100);
  bench.arrive('b', 100);
  bench.arrive('c', 2);
  bench.begun.length = 0;
  bench.turn();
  assert.equal(bench.begun.join(''), 'abcabcabab');
  bench.turn();
  assert.equal(bench.begun.slice(10).join(''), 'ababababab');
});

test('a new request does not overtake waiting requests', () => {
  const bench = new Bench();
  bench.arrive('a', 12);
  bench.turn();
  assert.equal(bench.begun.length, 12);
  bench.arrive('a', 30);
  bench.turn();
  bench.begun.length = 0;
  bench.arrive('b', 1);
  assert.deepEqual(bench.begun, []);
  bench.turn();
  assert.equal(bench.begun.slice(0, 2).join(''), 'ab');
});
