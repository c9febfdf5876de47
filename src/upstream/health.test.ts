import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Health } from './health.ts';

const eviction = { consecutiveFailures: 2, durationMs: 1_000, maxEjectedPercent: 50 };

function watched(t: TestContext, mayEject = (): boolean => true): { health: Health; changes: () => number } {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  let changes = 0;
  return { health: new Health(eviction, mayEject, () => changes++), changes: () => changes };
}

const failTwice = (health: Health): void => {
  health.failed();
  health.answered(503);
};
const out = (health: Health): number => Math.max(0, health.backAt - Date.now());

test('failures in a row put an address out; an answer between them does not let it come to that', (t) => {
  const { health, changes } = watched(t);
  for (const status of [500, 200, 503, 404, 500]) health.answered(status);
  assert.ok(health.isEligible(Date.now()));
  health.answered(500);
  assert.ok(health.isEjected(Date.now()));
  assert.equal(changes(), 1);
  t.mock.timers.tick(1_000);
  assert.ok(health.isEligible(Date.now()));
});

test('it is out for longer each time it fails again soon, up to ten times, and begins anew when it has behaved', (t) => {
  const { health } = watched(t);
  const lengths: number[] = [];
  for (let i = 0; i < 12; i++) {
    failTwice(health);
    lengths.push(out(health));
    t.mock.timers.tick(out(health));
  }
  assert.deepEqual(
    lengths,
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10].map((times) => times * 1_000),
  );
  t.mock.timers.tick(10_001);
  failTwice(health);
  assert.equal(out(health), 1_000);
  assert.equal(health.ejections, 13);
});

test('it stays where too many are out already, and goes as soon as that changes', (t) => {
  let may = false;
  const { health } = watched(t, () => may);
  failTwice(health);
  assert.ok(health.isEligible(Date.now()));
  may = true;
  health.failed();
  assert.ok(health.isEjected(Date.now()));
});

test('an unreachable address cools down twice as long each time until a connection succeeds', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  const health = new Health(
    undefined,
    () => true,
    () => undefined,
  );
  const lengths: number[] = [];
  for (let i = 0; i < 7; i++) {
    health.connectFailed();
    lengths.push(out(health));
  }
  assert.deepEqual(lengths, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  health.connected();
  health.connectFailed();
  assert.equal(out(health), 1_000);
  assert.ok(!health.isEjected(Date.now()));
});

test('only a change of the verdict is told', () => {
  let changes = 0;
  const health = new Health(
    undefined,
    () => true,
    () => changes++,
  );
  for (const verdict of [true, false, false, true]) health.judge(verdict);
  assert.equal(changes, 2);
});
