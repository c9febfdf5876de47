import assert from 'node:assert/strict';
import { before, describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { findHelm, rendered } from '../support/helm.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';
import { installation, startLeader } from './leader.testing.ts';

const helm = findHelm();
const skip = needsCluster.skip !== false ? needsCluster.skip : 'missing' in helm && helm.missing;

describe('with the rights that the chart gives it, the controller', { skip }, () => {
  const stage = clusterForSuite();

  before(async () => {
    await stage.cluster.installGatewayApi('experimental');
    await stage.cluster.kubectl(['create', 'namespace', 'portcullis-system']);
    for (const name of ['a', 'b']) await stage.cluster.kubectl(['create', 'namespace', name]);
    await install();
  });

  const install = async (...values: readonly string[]): Promise<void> => {
    assert.ok('helm' in helm);
    // Rights of the installation before must not help this one.
    for (const kind of ['clusterrolebindings', 'rolebindings'])
      await stage.cluster.kubectl(['delete', kind, '-A', '-l', 'app.kubernetes.io/name=portcullis']);
    await stage.cluster.apply(await rendered(helm.helm, '--include-crds', ...values));
  };

  const start = async (t: TestContext, watchNamespaces?: readonly string[]): Promise<readonly string[]> => {
    const token = await stage.cluster.kubectl([
      'create',
      'token',
      'portcullis-controller',
      '-n',
      'portcullis-system',
    ]);
    const { lines } = await startLeader(t, await stage.connect({ token: token.trim() }), {
      namespace: 'portcullis-system',
      watchNamespaces,
      installation: () => installation,
    });
    const written = (): string[] => lines.map((line) => JSON.stringify(line));
    await stage.cluster.apply([gateway('a'), gateway('b')].join('\n---\n'));
    await eventually('service', 'a');
    await eventually('deployment', 'a');
    await stage.cluster.kubectl([
      'wait',
      '-n',
      'a',
      '--for=condition=Accepted',
      'gateway/http',
      '--timeout=30s',
    ]);
    return written().filter((line) => /forbidden|denied/.test(line));
  };

  const exists = async (kind: string, namespace: string): Promise<boolean> =>
    (await stage.cluster.kubectl(['get', kind, 'http', '-n', namespace, '--ignore-not-found'])) !== '';

  const eventually = async (kind: string, namespace: string): Promise<void> => {
    const end = performance.now() + 60_000;
    while (!(await exists(kind, namespace))) {
      if (performance.now() > end) throw new Error(`there is no ${kind} in ${namespace}`);
      await pause(50);
    }
  };

  test('serves Gateways of every namespace', async (t) => {
    assert.deepEqual(await start(t), []);
    await eventually('service', 'b');
    await stage.cluster.kubectl(['delete', 'gateway', 'http', '-n', 'a']);
    await stage.cluster.kubectl(['delete', 'deployment,service', 'http', '-n', 'a']);
  });

  test('serves those of the namespaces it was given, and may look into no other', async (t) => {
    await install('--set=watchNamespaces={a}');
    assert.deepEqual(await start(t, ['a']), []);
    const account = '--as=system:serviceaccount:portcullis-system:portcullis-controller';
    for (const [verb, resource, namespace, answer] of [
      ['list', 'secrets', 'a', 'yes'],
      ['list', 'secrets', 'b', 'no'],
      ['list', 'secrets', 'portcullis-system', 'no'],
      ['create', 'deployments.apps', 'b', 'no'],
    ] as const) {
      const asked = stage.cluster.kubectl(['auth', 'can-i', verb, resource, '-n', namespace, account]);
      // It says no by its exit code as well.
      const said = await asked.catch((error: unknown) => (error as { readonly stdout: string }).stdout);
      assert.equal(said.trim(), answer, `${verb} ${resource} in ${namespace}`);
    }
  });

  test('gets its objects as the chart writes them', async () => {
    assert.ok('helm' in helm);
    const documents = parseAllDocuments(await rendered(helm.helm));
    const kinds = documents.map((one) => ('toJS' in one ? (one.toJS() as { kind: string }).kind : ''));
    for (const kind of new Set(kinds)) {
      const found = await stage.cluster.kubectl([
        'get',
        kind,
        '-A',
        '-l',
        'app.kubernetes.io/name=portcullis',
        '-o',
        'name',
      ]);
      assert.notEqual(found.trim(), '', kind);
    }
  });
});

const gateway = (namespace: string): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'http', namespace },
    spec: { gatewayClassName: 'portcullis', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
  });
