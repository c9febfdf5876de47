import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';

const install = new URL('../../deploy/install.yaml', import.meta.url);
const controller = '--as=system:serviceaccount:portcullis-system:portcullis-controller';
const kinds = new Set(['ClusterRole', 'ClusterRoleBinding', 'Namespace', 'ServiceAccount']);

/** The rights that `deploy/install.yaml` gives the controller, and their limits. */
const rightsAndLimits = async (): Promise<string> =>
  parseAllDocuments(await readFile(install, 'utf8'))
    .map((one) => ('toJS' in one ? (one.toJS() as { readonly kind: string }) : assert.fail('a document')))
    .filter(({ kind }) => kinds.has(kind) || kind.startsWith('ValidatingAdmissionPolicy'))
    .map((object) => JSON.stringify(object))
    .join('\n---\n');

const configMap = (name: string, labels: object): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'tenant', labels } });
const managed = { 'app.kubernetes.io/managed-by': 'portcullis' };

describe('the admission policy of the chart', { skip: needsCluster.skip }, () => {
  const stage = clusterForSuite();

  before(async () => {
    await stage.cluster.apply(await rightsAndLimits());
    await stage.cluster.kubectl(['create', 'namespace', 'tenant']);
    await stage.cluster.apply([configMap('own', managed), configMap('foreign', {})].join('\n---\n'));
    // An API server takes a policy into use some moments after it was written.
    const end = performance.now() + 60_000;
    for (let at = 0; !(await refused(['create', 'configmap', `probe-${String(at)}`])); at++) {
      if (performance.now() > end) throw new Error('the admission policy does not come into use');
      await pause(100);
    }
  });

  const as = (args: readonly string[]): Promise<string> =>
    stage.cluster.kubectl([...args, '-n', 'tenant', controller]);

  const refused = async (args: readonly string[]): Promise<boolean> => {
    try {
      await as(args);
      return false;
    } catch (error) {
      const { stderr } = error as { readonly stderr: string };
      assert.match(stderr, /writes objects with the label app\.kubernetes\.io\/managed-by=portcullis only/);
      return true;
    }
  };

  test('keeps the controller from objects that others made', async () => {
    assert.ok(await refused(['delete', 'configmap', 'foreign']));
    assert.ok(await refused(['annotate', 'configmap', 'foreign', 'a=b']));
    // Nor does the label of its own choice make one its own.
    assert.ok(await refused(['label', 'configmap', 'foreign', 'app.kubernetes.io/managed-by=portcullis']));
    for (const kind of ['serviceaccount', 'deployment'])
      assert.ok(await refused(['create', kind, 'new', ...(kind === 'deployment' ? ['--image=a'] : [])]));
  });

  test('lets the controller write and delete its own objects', async () => {
    await as(['annotate', 'configmap', 'own', 'a=b']);
    assert.ok(await refused(['label', 'configmap', 'own', 'app.kubernetes.io/managed-by-']));
    await as(['delete', 'configmap', 'own']);
  });

  test('keeps nobody else from anything', async () => {
    await stage.cluster.kubectl(['delete', 'configmap', 'foreign', '-n', 'tenant']);
  });
});
