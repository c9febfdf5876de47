/** Children whose environment has a value that ends. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Envelope } from '../../json/envelope.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import { stdioTarget } from '../../harness.testing.ts';
import type { TargetConnection, Waiter } from '../kind/target.ts';
import type { TargetUse } from '../kind/targetRuntime.ts';
import { SharedChildren } from './sharedChildren.ts';

interface Started {
  /** The values in its environment. */
  readonly values: Readonly<Record<string, string>>;
  readonly calls: Map<number, Waiter>;
  closed: boolean;
}

const waiter: Waiter = { answered: () => undefined, failed: () => undefined };
const message = { envelope: { method: 'tools/call' } as Envelope, token: undefined, edits: [] } as Outgoing;

/** The children of one user, without processes, on a clock of the test. */
function stage(t: TestContext, expiresAt: number) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
  const started: Started[] = [];
  const children = new SharedChildren({
    version: '1',
    idleMs: 3_600_000,
    now: Date.now,
    onReplaced: () => undefined,
    connect: (_target, _child, environment) => {
      const child: Started = { values: environment?.values ?? {}, calls: new Map(), closed: false };
      started.push(child);
      return {
        generation: 0,
        open: () => undefined,
        call: (_out: Outgoing, of: Waiter) => {
          child.calls.set(child.calls.size + 1, of);
          return child.calls.size;
        },
        calls: () => child.calls.entries(),
        pending: (id: number) => child.calls.get(id),
        close: () => {
          child.closed = true;
          return Promise.resolve();
        },
      } as unknown as TargetConnection;
    },
  });
  const session = { backendKey: 'b', principal: 'ada', holder: 'ada', idle: false } as TargetUse['session'];
  const valuesOf = (token: string, end: number) => ({
    values: { TOKEN: token },
    digest: token,
    expiresAt: end,
  });
  const connection = children.connectUser(stdioTarget({ name: 'own', scope: 'user' }), {
    session,
    environment: () => valuesOf('one', expiresAt),
  } as unknown as TargetUse);
  return { started, connection, valuesOf, tick: (ms: number) => t.mock.timers.tick(ms) };
}

test('a child without calls ends five seconds before its value, and the next call gets another child', (t) => {
  const { started, connection, valuesOf, tick } = stage(t, 60_000);
  tick(54_999);
  assert.equal(started[0]?.closed, false);
  tick(1);
  assert.equal(started[0]?.closed, true);
  connection.inject?.(valuesOf('two', 120_000));
  connection.call(message, waiter);
  assert.deepEqual(
    started.map(({ values, closed }) => [values['TOKEN'], closed]),
    [
      ['one', true],
      ['two', false],
    ],
  );
});

test('a child with a call ends after it, and new calls go to another child meanwhile', (t) => {
  const { started, connection, valuesOf, tick } = stage(t, 60_000);
  connection.call(message, waiter);
  tick(58_000);
  assert.equal(started[0]?.closed, false);
  connection.inject?.(valuesOf('two', 120_000));
  connection.call(message, waiter);
  assert.equal(started[1]?.values['TOKEN'], 'two');
  assert.equal(started[1]?.calls.size, 1);
  started[0]?.calls.clear();
  tick(1_000);
  assert.deepEqual(
    started.map(({ closed }) => closed),
    [true, false],
  );
});

test('a value that ends within five seconds serves to its end', (t) => {
  const { started, tick } = stage(t, 4_000);
  tick(3_999);
  assert.equal(started[0]?.closed, false);
  tick(1);
  assert.equal(started[0]?.closed, true);
});
