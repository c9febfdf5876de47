/** Tests of what operators see of targets that fail. */
import assert from 'node:assert/strict';
import { Circuits } from './circuits.ts';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import type { McpBackend } from '../../model/index.ts';
import {
  catalog,
  mcpBackend,
  remoteTarget,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RemoteServer } from '../remoteServer.testing.ts';
import { changeable } from './toolsFile.testing.ts';

const good = catalog({ name: 'good' });
const dead = stdioTarget({ name: 'dead', cmd: '/nowhere/program' });
const quick = { firstDelayMs: 1, maxDelayMs: 1, maxFailures: 4, windowMs: 60_000, coolDownMs: 30_000 };

async function start(
  t: TestContext,
  backend: Partial<McpBackend>,
  options: HarnessOptions = {},
): Promise<Harness> {
  const harness = await startHarness({ backend: mcpBackend({ failOpen: true, ...backend }), ...options });
  t.after(() => harness.close());
  return harness;
}

async function open(harness: Harness): Promise<RawClient> {
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
}

test('failed restarts are counted, and the sessions of a target by its state', async (t) => {
  const other = changeable(t, 'other', ['crash']);
  const harness = await start(t, { targets: [good, other.target] }, { runtime: { restart: quick } });
  const client = await open(harness);
  const metric = (name: string): number | undefined => harness.metrics().get(name);
  assert.equal(metric('mcp_target_sessions{target="other",state="ready"}'), 1);
  assert.equal(metric('mcp_target_failures_total{target="other"}'), undefined);
  other.remove();
  await client.post(client.tool('other_crash'));
  await until('the target is given up', () =>
    harness.runtime.view().sessions.some(({ targets }) => targets.some(({ state }) => state === 'failed')),
  );
  assert.equal(metric('mcp_target_failures_total{target="other"}'), 3);
  assert.equal(metric('mcp_target_sessions{target="other",state="failed"}'), 1);
  assert.equal(metric('mcp_target_sessions{target="other",state="ready"}'), undefined);
  assert.equal(metric('mcp_target_sessions{target="good",state="ready"}'), 1);
});

test('a target that does not start is shown with its reason and its next try, until it starts', async (t) => {
  const other = changeable(t, 'other', ['echo']);
  let clock = Date.now();
  const harness = await start(t, { targets: [good, other.target] }, { runtime: { now: () => clock } });
  other.remove();
  await (await open(harness)).delete();
  const [failed] = harness.runtime.view().failedStarts;
  assert.deepEqual([failed?.backend, failed?.target, failed?.at], ['backend-1', 'other', clock]);
  const [circuit] = harness.runtime.view().circuits;
  assert.deepEqual([circuit?.target, circuit?.retryAt], ['other', clock + 1_000]);
  assert.match(circuit?.reason ?? '', /target "other"/);
  clock += 1_000;
  assert.deepEqual(harness.runtime.view().circuits, []);
  other.write(['echo']);
  await open(harness);
  await until('the target has started', () => harness.runtime.view().failedStarts.length === 0);
});

test('new sessions leave a server alone for a while that cannot be reached', async (t) => {
  const server = await RemoteServer.start();
  const far = remoteTarget(server.url, { name: 'far' });
  await server.close();
  let clock = Date.now();
  const harness = await start(t, { targets: [good, far] }, { runtime: { now: () => clock } });
  const failures = (): number | undefined => harness.metrics().get('mcp_target_failures_total{target="far"}');
  await open(harness);
  const [circuit] = harness.runtime.view().circuits;
  assert.deepEqual([circuit?.target, circuit?.retryAt], ['far', clock + 1_000]);
  assert.match(circuit?.reason ?? '', /cannot be reached/);
  await open(harness);
  assert.equal(failures(), 1);
  clock += 1_000;
  await open(harness);
  assert.equal(failures(), 2);
});

test('the only target of a backend that does not start is shown and counted, too', async (t) => {
  const harness = await start(t, { targets: [dead] });
  await open(harness);
  assert.deepEqual(
    harness.runtime.view().failedStarts.map(({ backend, target }) => [backend, target]),
    [['backend-1', 'dead']],
  );
  assert.equal(harness.metrics().get('mcp_target_failures_total{target="dead"}'), 1);
  harness.use(mcpBackend({ targets: [catalog({ name: 'dead' })] }));
  await open(harness);
  assert.deepEqual(harness.runtime.view().failedStarts, []);
});

for (const stateless of [false, true])
  test(`initialize counts at each target${stateless ? ' of a backend without sessions' : ''}`, async (t) => {
    const harness = await start(t, { targets: [good, dead], ...(stateless && { stateless }) });
    await open(harness);
    const counted = [...harness.metrics()].filter(([name]) => /^mcp_requests_total.*initialize"/.test(name));
    assert.deepEqual(Object.fromEntries(counted), {
      'mcp_requests_total{method="initialize",target="good",outcome="ok"}': 1,
      'mcp_requests_total{method="initialize",target="dead",outcome="failed"}': 1,
    });
  });

test('starts that fail together count once', () => {
  let now = 0;
  const circuits = new Circuits(() => now);
  const failed = (): void => circuits.failed('key', 'gone', { backend: 'b', target: 'one' });
  for (let i = 0; i < 8; i++) failed();
  assert.equal(circuits.all[0]?.retryAt, 1_000);
  now = 1_000;
  for (let i = 0; i < 8; i++) failed();
  assert.equal(circuits.all[0]?.retryAt, 3_000);
});
