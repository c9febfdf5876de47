/** A file that changes again and again under load. `npm run faults` does the same a thousand times. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { reloadUnderLoad } from './reloads.testing.ts';

// Most of the time is waited for files to be quiet and for connections to go.
describe('a file that changes again and again', { concurrency: true }, () => {
  for (const workers of [1, 2])
    test(`reloads under load lose no request and leave nothing behind, with ${workers === 1 ? 'one process' : 'two workers'}`, async () => {
      const { served, failures, before, after, sessionKept, federationKept } = await reloadUnderLoad({
        workers,
        warmUp: 4,
        reloads: 12,
      });
      assert.deepEqual(failures, []);
      assert.ok(served > 100, `${served} requests`);
      assert.ok(sessionKept);
      assert.ok(federationKept);
      assert.equal(after.processes, before.processes);
      assert.ok(
        after.descriptors <= before.descriptors,
        `files: ${before.descriptors}, then ${after.descriptors}`,
      );
      assert.ok(after.threads <= before.threads, `threads: ${before.threads}, then ${after.threads}`);
    });
});
