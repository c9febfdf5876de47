import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { until } from '../../until.testing.ts';
import { isFor, isSignedBy } from './certificate.ts';
import { startKubeServer, type KubeServer } from './kubeServer.testing.ts';
import { trustOf, type Material } from './material.ts';
import { OwnCertificate, type OwnCertificateOptions } from './ownCertificate.ts';

const secretName = 'portcullis-controller-tls';
const names = ['controller.ns.svc'];

interface Replica {
  readonly seen: Material[];
  readonly lines: ReturnType<typeof memoryLog>['lines'];
  leads: boolean;
  close(): Promise<void>;
}

function replica(
  t: TestContext,
  kube: KubeServer,
  leads: boolean,
  more: Partial<OwnCertificateOptions> = {},
): Replica {
  const { log, lines } = memoryLog();
  const seen: Material[] = [];
  const self: Replica = { seen, lines, leads, close: async () => await own.close() };
  const own = new OwnCertificate({
    api: kube.api,
    namespace: 'ns',
    secretName,
    names,
    mayWrite: () => self.leads,
    onMaterial: (material) => void seen.push(material),
    log,
    intervalMs: 5,
    retryMs: 2,
    ...more,
  });
  t.after(self.close);
  return self;
}

const has = (one: Replica): boolean => one.seen.length > 0;

test('the leader creates the missing Secret, and the other replicas find it', async (t) => {
  const kube = await startKubeServer(t);
  const follower = replica(t, kube, false);
  await until('it has looked', () => kube.requests.length > 2);
  assert.equal(kube.secrets.size, 0);
  const leader = replica(t, kube, true);
  await until('both have it', () => has(leader) && has(follower));
  assert.deepEqual(follower.seen, leader.seen);
  const [material] = leader.seen as [Material];
  assert.ok(isSignedBy(material.server, material.authority.cert));
  assert.ok(isFor(material.server.cert, names));
  const secret = kube.secrets.get(secretName)?.['data'] as Record<string, string>;
  assert.equal(Buffer.from(secret['ca.crt'] ?? '', 'base64').toString(), trustOf(material));
});

test('it is written once, and a replica that starts later uses it as it is', async (t) => {
  const kube = await startKubeServer(t);
  const first = replica(t, kube, true);
  await until('it has it', () => has(first));
  const writes = (): number => kube.requests.filter((one) => !one.startsWith('GET')).length;
  await first.close();
  const second = replica(t, kube, true);
  await until('it has it, too', () => has(second));
  const looks = kube.requests.length;
  await until('it has looked again', () => kube.requests.length > looks + 3);
  assert.equal(writes(), 1);
  assert.deepEqual(second.seen, first.seen);
});

test('two that think they lead end up with the same', async (t) => {
  const kube = await startKubeServer(t);
  const { promise, resolve } = Promise.withResolvers<void>();
  kube.hold = promise;
  const both = [replica(t, kube, true), replica(t, kube, true)];
  await until('both ask', () => kube.requests.length === 2);
  resolve();
  await until('both have it', () => both.every(has));
  assert.deepEqual(both[0]?.seen, both[1]?.seen);
});

test('the leader recreates a deleted or damaged Secret; other replicas keep the old material', async (t) => {
  const kube = await startKubeServer(t);
  const leader = replica(t, kube, true);
  const follower = replica(t, kube, false);
  await until('both have it', () => has(leader) && has(follower));
  for (const spoil of [
    () => kube.secrets.delete(secretName),
    () => kube.secrets.set(secretName, { metadata: { name: secretName, resourceVersion: '999' }, data: {} }),
    () =>
      kube.secrets.set(secretName, {
        metadata: { name: secretName, resourceVersion: '9999' },
        data: {
          'tls.crt': 'bm9uZQ==',
          'tls.key': 'bm9uZQ==',
          'authority.crt': 'bm9uZQ==',
          'authority.key': 'bm9uZQ==',
        },
      }),
  ]) {
    leader.leads = false;
    const [mine, theirs] = [leader.seen.length, follower.seen.length];
    spoil();
    const looks = kube.requests.length;
    await until('they have looked', () => kube.requests.length > looks + 6);
    assert.deepEqual([leader.seen.length, follower.seen.length], [mine, theirs]);
    leader.leads = true;
    await until('both have the new one', () => leader.seen.length > mine && follower.seen.length > theirs);
    assert.deepEqual(follower.seen.at(-1), leader.seen.at(-1));
  }
});

test('an API server that is away is tried again, and complained of once', async (t) => {
  const kube = await startKubeServer(t);
  kube.away = true;
  const one = replica(t, kube, true);
  await until('it has tried', () => kube.requests.length > 3);
  kube.away = false;
  await until('it has it', () => has(one));
  assert.equal(one.lines.filter(({ level }) => level === 'warn').length, 1);
});

test('replicas follow the renewal of an old certificate', async (t) => {
  const kube = await startKubeServer(t);
  let now = new Date();
  const leader = replica(t, kube, true, { now: () => now });
  const follower = replica(t, kube, false);
  await until('both have it', () => has(leader) && has(follower));
  now = new Date(now.getTime() + 61 * 86_400_000);
  await until('both have the next', () => leader.seen.length === 2 && follower.seen.length === 2);
  assert.equal(follower.seen[1]?.authority.cert, follower.seen[0]?.authority.cert);
  assert.notEqual(follower.seen[1]?.server.cert, follower.seen[0]?.server.cert);
});
