import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareReaders } from './http1.ts';

test('llhttp reads every accepted HTTP/1.1 message in the same way', async () => {
  // Always the same messages: `npm run fuzz` looks for new ones.
  const outcome = await compareReaders(20_261_121, 20_000);
  assert.deepEqual(outcome.differences.slice(0, 3), []);
  assert.ok(outcome.accepted > 10_000, `only ${outcome.accepted} of ${outcome.cases} messages were accepted`);
  assert.ok(outcome.excused < outcome.cases / 20, `${outcome.excused} differences were excused`);
});
