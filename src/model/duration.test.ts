import assert from 'node:assert/strict';
import test from 'node:test';
import { formatDuration, maxDurationMs, parseDuration } from './duration.ts';

test('durations are read in every unit and in sums of them', () => {
  const cases: [string, number][] = [
    ['0', 0],
    ['0s', 0],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['1.5h', 5_400_000],
    ['3m0s', 180_000],
    ['1h1m1s1ms', 3_661_001],
    ['1us', 1],
    ['250µs', 1],
    ['1000000ns', 1],
  ];
  for (const [text, ms] of cases) assert.equal(parseDuration(text), ms, text);
});

test('an invalid duration is undefined', () => {
  for (const text of [
    '',
    '10',
    '10 s',
    '-1s',
    '1d',
    's',
    '1s2',
    '1e3s',
    '.5s',
    '1.s',
    'Infinity',
    `${'9'.repeat(80)}s`,
  ])
    assert.equal(parseDuration(text), undefined, text);
});

test('a duration longer than a timer can wait is refused', () => {
  assert.equal(parseDuration(`${maxDurationMs}ms`), maxDurationMs);
  assert.equal(parseDuration(`${maxDurationMs + 1}ms`), undefined);
});

test('formatting gives a text that reads back as the same time', () => {
  for (const ms of [0, 1, 999, 1_000, 90_000, 5_400_000, maxDurationMs])
    assert.equal(parseDuration(formatDuration(ms)), ms);
  assert.equal(formatDuration(90_000), '1m30s');
});
