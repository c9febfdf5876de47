/** Sessions of one user, whose server is a child with scope: user. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { mcpBackend, startHarness, stdioTarget } from '../../harness.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';

const own = stdioTarget({ name: 'own', scope: 'user' });

test('a value of the caller that a cut line of stderr begins with is not in the log', async (t) => {
  const token = `S3CR3T-${'abcdefghij'.repeat(19)}`;
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [{ ...own, injected: { TOKEN: { kind: 'header', header: 'x-token' } } }],
    }),
    caller: () => ({ principal: 'ada', environment: () => ({ values: { TOKEN: token }, digest: 'one' }) }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  await client.call('stderr', { line: `${'x'.repeat(400)}${token}${'y'.repeat(5_000)}` });
  const line = await until('the line is logged', () =>
    harness.log.find(({ message }) => message === 'stderr'),
  );
  assert.deepEqual(line.fields?.['line'], `${'x'.repeat(400)}[TOKEN]… (5597 bytes)`);
});
