import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLog } from '../../harness.testing.ts';
import { StderrLog } from './stderrLog.ts';

test('the last twenty lines of stderr are kept, and a flood is not logged', () => {
  const { log, lines } = recordingLog();
  const stderr = new StderrLog(log);
  for (let i = 0; i < 10_000; i++) stderr.line(`line ${i}`);
  assert.ok(lines.length <= 300, `${lines.length} lines were written`);
  assert.equal(stderr.last().split('\n').length, 20);
  assert.match(stderr.last(), /line 9999$/);
});

test('a long line is kept by its beginning, and lines left out are counted in the next second', (t) => {
  let now = 10_000;
  t.mock.method(performance, 'now', () => now);
  const { log, lines } = recordingLog();
  const stderr = new StderrLog(log);
  for (let i = 0; i < 130; i++) stderr.line('x'.repeat(2_000));
  assert.equal(lines.length, 100);
  assert.equal(stderr.last().split('\n')[0]?.length, 512);
  now += 1_000;
  stderr.line('calm');
  assert.deepEqual(
    lines.slice(100).map(({ level, message, fields }) => [level, message, fields]),
    [
      ['warn', 'stderr lines dropped', { count: 30 }],
      ['info', 'stderr', { line: 'calm' }],
    ],
  );
});
