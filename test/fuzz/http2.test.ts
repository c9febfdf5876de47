import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryHttp2 } from './http2.ts';

test('the HTTP/2 codec neither throws nor loses its state on random frames', () => {
  // Always the same sessions: `npm run fuzz` looks for new ones.
  const { cases, ended, sound, problems } = tryHttp2(20_261_122, 4_000);
  assert.deepEqual(problems.slice(0, 3), []);
  assert.ok(ended > cases / 10 && sound > cases / 10, `${ended} of ${cases} ended with an error`);
});
