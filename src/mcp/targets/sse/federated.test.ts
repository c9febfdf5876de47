/** A server over HTTP+SSE beside another server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../until.testing.ts';
import { mcpBackend, sseTarget, startHarness, stdioTarget } from '../../harness.testing.ts';
import { quick } from '../../remote.testing.ts';
import { RawClient } from '../../rawClient.testing.ts';
import { SseServer } from './sseServer.testing.ts';

test('a server over HTTP+SSE is one of several, before and after its stream breaks', async (t) => {
  const server = await SseServer.start();
  const targets = [sseTarget(server.url), stdioTarget()];
  const harness = await startHarness({ backend: mcpBackend({ targets }), runtime: { restart: quick } });
  t.after(async () => {
    await harness.close();
    await server.close();
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  assert.equal(await client.call('old_echo', { text: 'far' }), 'far');
  assert.equal(await client.call('fixture_echo', { text: 'near' }), 'near');
  const pid = await client.call('fixture_pid');
  server.stream.cut();
  await until('another stream is open', () => server.of('GET').length === 2);
  assert.equal(await client.call('old_echo', { text: 'again' }), 'again');
  assert.equal(await client.call('fixture_pid'), pid, 'the other server is not touched');
  assert.equal(await client.delete(), 204);
  await until('the stream is closed', () => server.streams.size === 0);
});
