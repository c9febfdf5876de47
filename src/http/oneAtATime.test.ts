import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { test } from 'node:test';
import { oneAtATime, type LookupAll } from './oneAtATime.ts';

/** A name server that answers when the test says so. */
function slowNames(): { readonly lookup: LookupAll; readonly asked: string[]; answer(): void } {
  const asked: string[] = [];
  const open: (() => void)[] = [];
  return {
    asked,
    lookup: (hostname, _options, done) => {
      asked.push(hostname);
      open.push(() => done(null, [{ address: '192.0.2.1', family: 4 }]));
    },
    answer: () => open.shift()?.(),
  };
}

const ask = (lookup: LookupAll, name: string): Promise<LookupAddress[]> =>
  new Promise((resolve, reject) =>
    lookup(name, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error))),
  );

test('names are looked up one after the other, in their order', async () => {
  const names = slowNames();
  const lookup = oneAtATime(names.lookup, 60_000);
  const all = ['a', 'b', 'c'].map((name) => ask(lookup, name));
  for (const [index, found] of all.entries()) {
    assert.deepEqual(names.asked, ['a', 'b', 'c'].slice(0, index + 1));
    names.answer();
    assert.equal((await found)[0]?.address, '192.0.2.1');
  }
});

test('a lookup that nobody waits for any more does not begin', async () => {
  const names = slowNames();
  const lookup = oneAtATime(names.lookup, -1);
  await assert.rejects(ask(lookup, 'late'), /another name took too long/);
  assert.deepEqual(names.asked, []);
});

test('a limited number of lookups wait', async () => {
  const names = slowNames();
  const lookup = oneAtATime(names.lookup, 60_000);
  const all = Array.from({ length: 33 }, (_, index) => ask(lookup, `name-${index}`));
  await assert.rejects(ask(lookup, 'one-more'), /too many names/);
  for (const found of all) {
    names.answer();
    await found;
  }
  assert.equal(names.asked.length, 33);
});
