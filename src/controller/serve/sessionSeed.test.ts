import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { until } from '../../until.testing.ts';
import { startKubeServer, type KubeServer } from './kubeServer.testing.ts';
import { SessionSeed } from './sessionSeed.ts';

const secretName = 'portcullis-sessions';

function replica(t: TestContext, kube: KubeServer, leads: boolean, intervalMs = 5) {
  const { log, lines } = memoryLog();
  let changes = 0;
  const seed = new SessionSeed({
    api: kube.api,
    namespace: 'ns',
    secretName,
    mayWrite: () => leads,
    onSeed: () => void changes++,
    log,
    intervalMs,
    retryMs: 2,
  });
  t.after(async () => await seed.close());
  return { seed, lines, changes: (): number => changes, key: () => seed.keyOf('shop/web') };
}

test('the leader makes the seed, and every replica derives the same keys of it', async (t) => {
  const kube = await startKubeServer(t);
  const follower = replica(t, kube, false);
  await until('it has looked', () => kube.requests.length > 2);
  assert.equal(follower.key(), undefined);
  assert.equal(kube.secrets.size, 0);
  const leader = replica(t, kube, true);
  await until('both have it', () => leader.key() !== undefined && follower.key() !== undefined);
  assert.match(leader.key() ?? '', /^[0-9a-f]{64}$/);
  assert.equal(follower.key(), leader.key());
  assert.notEqual(leader.seed.keyOf('shop/other'), leader.key());
  const later = replica(t, kube, true);
  await until('it has it, too', () => later.key() !== undefined);
  assert.equal(later.key(), leader.key());
  assert.equal(kube.requests.filter((one) => !one.startsWith('GET')).length, 1);
  assert.equal(leader.changes(), 1);
});

test('a damaged seed is replaced, and every replica gets the new one', async (t) => {
  const kube = await startKubeServer(t);
  const [leader, follower] = [replica(t, kube, true), replica(t, kube, false)];
  await until('both have it', () => leader.key() !== undefined && follower.key() !== undefined);
  const before = leader.key();
  kube.secrets.set(secretName, { ...kube.secrets.get(secretName), data: { seed: 'c2hvcnQ=' } });
  await until('both have another', () =>
    [leader, follower].every(({ key }) => key() !== undefined && key() !== before),
  );
  assert.equal(follower.key(), leader.key());
});

test('a seed that cannot be replaced stays in use', async (t) => {
  const kube = await startKubeServer(t);
  const leader = replica(t, kube, true);
  await until('it has it', () => leader.key() !== undefined);
  const before = leader.key();
  kube.readOnly = true;
  kube.secrets.delete(secretName);
  await until('it has tried', () => kube.requests.filter((one) => one.startsWith('POST')).length > 3);
  assert.equal(leader.key(), before);
  assert.equal(leader.seed.isKnown, true);
  kube.readOnly = false;
  await until('there is another', () => leader.key() !== before);
  assert.equal(leader.changes(), 2);
});

test('while the API server is away, and where the Secret cannot be written, keys stay as they are', async (t) => {
  const kube = await startKubeServer(t);
  const leader = replica(t, kube, true);
  await until('it has it', () => leader.key() !== undefined);
  const before = leader.key();
  kube.away = true;
  await until('it says so', () =>
    leader.lines.some(({ message }) => message.includes('could not be read or written')),
  );
  assert.equal(leader.key(), before);
  const stored = (kube.secrets.get(secretName)?.['data'] as Record<string, string>)['seed'] ?? '';
  assert.ok(
    !JSON.stringify(leader.lines).includes(stored) && !JSON.stringify(leader.lines).includes(before ?? '-'),
  );
});

test('a controller that starts while the API server is away has the keys soon after it is back', async (t) => {
  const kube = await startKubeServer(t);
  kube.away = true;
  const leader = replica(t, kube, true, 3_600_000);
  await until('it has tried', () => leader.lines.some(({ level }) => level === 'warn'));
  kube.away = false;
  await until('it has it', () => leader.key() !== undefined);
  assert.equal(leader.lines.filter(({ level }) => level === 'warn').length, 1);
});
