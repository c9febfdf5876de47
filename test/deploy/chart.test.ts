/**
 * The chart, and `deploy/install.yaml`, which is what it becomes with the values that hold unless others are given.
 * `UPDATE=1 node --test <this file>` writes that file anew.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { watchedKinds, crdResource } from '../../src/controller/kinds.ts';
import { provisionedResources } from '../../src/controller/provision/kinds.ts';
import { resourceName } from '../../src/controller/api/resource.ts';
import { chartFolder, findHelm, rendered } from '../support/helm.ts';

const run = promisify(execFile);
const found = findHelm();
const helm = 'helm' in found ? found.helm : '';
const install = new URL('../../deploy/install.yaml', import.meta.url);

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly spec: Readonly<Record<string, unknown>>;
}

const documentsOf = (text: string): readonly Document[] =>
  parseAllDocuments(text).map((one) =>
    'toJS' in one ? (one.toJS() as Document) : assert.fail('a document'),
  );

/** `verb resource.group` of everything that the rules allow without naming an object. */
const allowed = (documents: readonly Document[], kind: string): ReadonlySet<string> =>
  new Set(
    documents
      .filter((one) => one.kind === kind)
      .flatMap(({ rules = [] }) => rules)
      .filter(({ resourceNames }) => resourceNames === undefined)
      .flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((plural) =>
            verbs.map((verb) => `${verb} ${plural}${group === '' ? '' : `.${group}`}`),
          ),
        ),
      ),
  );

describe('the chart', { skip: 'missing' in found && found.missing }, () => {
  test('Helm has nothing against it', async () => {
    await run(helm, ['lint', '--strict', '--kube-version=1.36.0', chartFolder]);
  });

  test('install.yaml equals the rendered chart', async () => {
    const namespace = 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: portcullis-system\n';
    const head = '# Rendered from deploy/chart; see test/deploy/chart.test.ts.\n---\n';
    const text = head + namespace + (await rendered(helm, '--include-crds'));
    if (process.env['UPDATE'] === '1') await writeFile(install, text);
    assert.equal(await readFile(install, 'utf8'), text);
  });

  test('its version is that of the package', async () => {
    const chart = parse(await readFile(`${chartFolder}Chart.yaml`, 'utf8')) as Record<string, string>;
    const { version } = JSON.parse(
      await readFile(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { readonly version: string };
    assert.deepEqual([chart['version'], chart['appVersion']], [version, version]);
  });

  test('the controller has exactly the permissions for the objects that it watches and writes', async () => {
    const rules = allowed(documentsOf(await rendered(helm)), 'ClusterRole');
    const wanted = new Set<string>();
    for (const resource of [...watchedKinds.map((kind) => kind.resource), crdResource])
      for (const verb of ['list', 'watch']) wanted.add(`${verb} ${resourceName(resource)}`);
    for (const { resource } of watchedKinds)
      if (resource.group === 'gateway.networking.k8s.io' && resource.kind !== 'ReferenceGrant')
        wanted.add(`update ${resource.plural}/status.${resource.group}`);
    for (const resource of provisionedResources)
      for (const verb of ['get', 'list', 'watch', 'create', 'patch', 'delete'])
        wanted.add(`${verb} ${resourceName(resource)}`);
    for (const plural of ['gatewaypolicies', 'mcpbackends'])
      wanted.add(`update ${plural}/status.portcullis.dev`);
    wanted.add('create tokenreviews.authentication.k8s.io');
    wanted.add('update gateways/finalizers.gateway.networking.k8s.io');
    wanted.add('update mcpbackends/finalizers.portcullis.dev');
    assert.deepEqual([...rules].toSorted(), [...wanted].toSorted());
  });

  test('with namespaces to follow it is allowed nothing in others', async () => {
    const documents = documentsOf(await rendered(helm, '--set=watchNamespaces={a,b}'));
    assert.deepEqual(
      [...allowed(documents, 'ClusterRole')].filter(
        (rule) => !rule.startsWith('list') && !rule.startsWith('watch'),
      ),
      ['update gatewayclasses/status.gateway.networking.k8s.io', 'create tokenreviews.authentication.k8s.io'],
    );
    assert.deepEqual(
      documents.filter(({ kind }) => kind === 'RoleBinding').map(({ metadata }) => metadata.namespace),
      ['portcullis-system', 'a', 'b'],
    );
    assert.ok(![...allowed(documents, 'ClusterRole')].some((rule) => rule.includes('secrets')));
  });

  test('a value that is wrong or not known is refused by name', async () => {
    for (const [value, said] of [
      ['replicas=0', /replicas/],
      ['replica=2', /replica/],
      ['logLevel=loud', /logLevel/],
      ['controllerName=portcullis', /controllerName/],
      ['gatewayClass.parameters.name=x', /namespace/],
      ['image.repository=a@sha256:b', /repository/],
    ] as const)
      await assert.rejects(rendered(helm, `--set=${value}`), said);
  });
});
