import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { memoryLog } from '../../src/auth/log.testing.ts';
import { Election, type ElectionPace } from '../../src/controller/leader/election.ts';
import { Relay } from '../support/relay.ts';
import { clusterForSuite, needsCluster, type Connection } from './cluster.testing.ts';
import { until } from '../../src/until.testing.ts';

/** Far longer than a test: no lease runs out, however slow a busy machine is. */
const pace: ElectionPace = { leaseMs: 3_600_000, renewDeadlineMs: 3_000_000, retryMs: 200 };
/** For tests that wait until the lease runs out. */
const briefPace: ElectionPace = { leaseMs: 8_000, renewDeadlineMs: 6_000, retryMs: 200 };
const candidateFile = fileURLToPath(new URL('./candidate.ts', import.meta.url));

describe('leader election by a real Lease', needsCluster, () => {
  const stage = clusterForSuite();

  const stand = (
    t: TestContext,
    { api, metrics }: Connection,
    name: string,
    identity: string,
    seen: string[],
    own = pace,
  ): Election => {
    const election = new Election({
      api,
      namespace: 'default',
      name,
      identity,
      onStartedLeading: () => void seen.push(`${identity} leads`),
      onStoppedLeading: () => void seen.push(`${identity} leads no more`),
      log: memoryLog().log,
      metrics,
      pace: own,
    });
    t.after(async () => await election.close());
    return election;
  };

  const spec = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
    const text = await stage.cluster.kubectl(['get', 'lease', name, '-o', 'json']);
    return (JSON.parse(text) as { readonly spec: Record<string, unknown> }).spec;
  };

  test('a single replica leads, and a leader that ends hands over at once', async (t) => {
    const seen: string[] = [];
    const elections: Election[] = [];
    for (const identity of ['a', 'b', 'c'])
      elections.push(stand(t, await stage.connect(), 'handed-over', identity, seen));
    await until('one leads', () => seen.length === 1);
    const leader = elections.findIndex(({ isLeader }) => isLeader);
    await until('all know', () => elections.every((election) => election.leader === 'abc'[leader]));
    assert.equal((await spec('handed-over'))['holderIdentity'], 'abc'[leader]);
    await elections[leader]?.close();
    await until('another leads', () => seen.length === 3);
    assert.equal(seen[1], `${'abc'[leader] ?? ''} leads no more`);
    assert.equal(elections.filter(({ isLeader }) => isLeader).length, 1);
    assert.equal((await spec('handed-over'))['leaseTransitions'], 1);
  });

  test('when the leader is killed, the other leads as soon as the lease has run out', async (t) => {
    const first = await startCandidate(t, stage.cluster.kubeconfig, 'first');
    await first.says('leads');
    const second = await startCandidate(t, stage.cluster.kubeconfig, 'second');
    const ended = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await ended;
    await second.says('leads');
    assert.equal((await spec('killed'))['holderIdentity'], 'second');
    assert.deepEqual(first.lines, ['leads']);
    // Its end may be known before its last words.
    const stopped = once(second.child, 'close');
    second.child.kill('SIGTERM');
    await stopped;
    assert.deepEqual(second.lines, ['leads', 'leads no more']);
    assert.equal((await spec('killed'))['holderIdentity'], '');
  });

  test('a leader that cannot reach the API server has stepped down before another begins', async (t) => {
    const relay = new Relay(stage.cluster.port);
    await relay.mend();
    t.after(async () => await relay.cut());
    const seen: string[] = [];
    const cut = stand(t, await stage.connect({ port: relay.port }), 'cut', 'cut', seen, briefPace);
    await until('it leads', () => cut.isLeader);
    const other = stand(t, await stage.connect(), 'cut', 'other', seen, briefPace);
    await until('the other knows', () => other.leader === 'cut');
    await relay.cut();
    await until('the other leads', () => other.isLeader);
    assert.equal(cut.isLeader, false);
    assert.deepEqual(seen, ['cut leads', 'cut leads no more', 'other leads']);
    await relay.mend();
    await until('it knows', () => cut.leader === 'other');
    assert.equal(cut.isLeader, false);
  });

  test('a leader keeps its lease through a short absence of the API server', async (t) => {
    const relay = new Relay(stage.cluster.port);
    await relay.mend();
    t.after(async () => await relay.cut());
    const seen: string[] = [];
    const leader = stand(t, await stage.connect({ port: relay.port }), 'short', 'it', seen);
    await until('it leads', () => leader.isLeader);
    const before = (await spec('short'))['renewTime'];
    await relay.cut();
    await relay.mend();
    let now = before;
    while (now === before) now = (await spec('short'))['renewTime'];
    assert.deepEqual(seen, ['it leads']);
  });

  test('a leader whose lease was deleted takes it again, and stays', async (t) => {
    const seen: string[] = [];
    const leader = stand(t, await stage.connect(), 'deleted', 'it', seen);
    await until('it leads', () => leader.isLeader);
    await stage.cluster.kubectl(['delete', 'lease', 'deleted']);
    let holder = '';
    while (holder !== 'it')
      holder = (
        await stage.cluster.kubectl([
          'get',
          'lease',
          'deleted',
          '--ignore-not-found',
          '-o',
          'jsonpath={.spec.holderIdentity}',
        ])
      ).trim();
    assert.deepEqual(seen, ['it leads']);
  });

  test('a leader whose lease somebody else holds steps down', async (t) => {
    const seen: string[] = [];
    const leader = stand(t, await stage.connect(), 'taken', 'it', seen);
    await until('it leads', () => leader.isLeader);
    const patch = { spec: { holderIdentity: 'a person', leaseDurationSeconds: 3600 } };
    await stage.cluster.kubectl(['patch', 'lease', 'taken', '--type=merge', '-p', JSON.stringify(patch)]);
    await until('it has stepped down', () => !leader.isLeader && seen.length === 2);
    assert.deepEqual(seen, ['it leads', 'it leads no more']);
    assert.equal(leader.leader, 'a person');
    await leader.close();
    // A lease of another holder is not given back.
    assert.equal((await spec('taken'))['holderIdentity'], 'a person');
  });
});

interface Candidate {
  readonly child: ChildProcess;
  readonly lines: string[];
  says(line: string): Promise<void>;
}

async function startCandidate(t: TestContext, kubeconfig: string, identity: string): Promise<Candidate> {
  const child = spawn(process.execPath, [candidateFile, kubeconfig, identity], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const lines = (): string[] => text.split('\n').slice(0, -1);
  return {
    child,
    get lines() {
      return lines();
    },
    says: async (line) => {
      await until(`${identity} says ${line}`, () => lines().includes(line));
    },
  };
}
