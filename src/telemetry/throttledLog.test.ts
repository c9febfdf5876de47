import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../auth/log.testing.ts';
import { ThrottledLog } from './throttledLog.ts';

test('a warning that a peer repeats is written once and counted', () => {
  const { log, lines } = memoryLog();
  const quiet = new ThrottledLog(log, 'again', 0);
  quiet.warn({});
  quiet.warn({});
  assert.equal(lines.length, 2);
  const rare = new ThrottledLog(log, 'rare', 60_000);
  for (let i = 0; i < 5; i++) rare.warn({ i });
  assert.equal(lines.length, 3);
});
