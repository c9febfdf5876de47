/** On a cluster with pods: proxies are replaced, and controllers, while clients go on asking. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findHelm } from '../support/helm.ts';
import { findBed } from '../support/kubeCluster.ts';
import { NodeCluster, whyNoNode } from '../support/nodeCluster.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const helm = findHelm();
const skip = whyNoNode() ?? ('missing' in helm && helm.missing);
const client = fileURLToPath(new URL('askingClient.ts', import.meta.url));

interface Report {
  readonly answers: number;
  readonly failures: readonly string[];
}

describe('while clients go on asking', { skip }, () => {
  let cluster: NodeCluster | undefined;

  const kubectl = async (...args: readonly string[]): Promise<string> => {
    assert.ok(cluster !== undefined);
    return (await cluster.run(['kubectl', '-n', 'portcullis-system', ...args])).stdout;
  };

  before(async () => {
    const bed = findBed();
    assert.ok('kube' in bed && 'helm' in helm);
    cluster = await NodeCluster.start();
    await cluster.makeImages(undefined, '--echo');
    await kubectl('apply', '--server-side', '-f', join(bed.crds, 'standard'));
    const chart = [
      join(root, 'deploy/chart'),
      '--namespace=portcullis-system',
      '--create-namespace',
      '--wait',
    ];
    await cluster.run([helm.helm, 'install', 'portcullis', ...chart]);
    for (const name of ['gateway', 'httpbin', 'route'])
      await cluster.run(['kubectl', 'apply', '-f', join(root, `deploy/samples/${name}.yaml`)]);
    cluster.startLoadBalancer();
    await kubectl('wait', '--for=condition=Programmed', 'gateway/http', '--timeout=2m');
    await cluster.run(['kubectl', '-n', 'httpbin', 'rollout', 'status', 'deployment/httpbin']);
  });
  after(async () => await cluster?.stop());

  /** Asks until the work is done; returns what went wrong meanwhile. */
  const asking = async (work: () => Promise<void>): Promise<Report> => {
    assert.ok(cluster !== undefined);
    const stop = join(cluster.folder, `stop-${String(performance.now())}`);
    const address = await kubectl('get', 'gateway', 'http', '-o', 'jsonpath={.status.addresses[0].value}');
    const done = cluster.run([process.execPath, client, address, 'www.example.com', stop]);
    try {
      await work();
    } finally {
      await run('touch', [stop]);
    }
    return JSON.parse((await done).stdout) as Report;
  };

  const assertGood = ({ answers, failures }: Report): void => {
    assert.deepEqual(failures, []);
    assert.ok(answers > 100, String(answers));
  };

  /** Every pod is another one when it ends, and the former ones are gone. */
  const roll = async (
    deployment: string,
    selector: string,
    namespace = 'portcullis-system',
  ): Promise<void> => {
    const at = ['-n', namespace];
    const former = (await kubectl(...at, 'get', 'pods', '-l', selector, '-o', 'name')).trim().split('\n');
    await kubectl(...at, 'rollout', 'restart', `deployment/${deployment}`);
    await kubectl(...at, 'rollout', 'status', `deployment/${deployment}`, '--timeout=3m');
    await kubectl(...at, 'wait', '--for=delete', ...former, '--timeout=3m');
  };

  test('the proxies of a Gateway are replaced without a failure', async () => {
    assertGood(await asking(async () => await roll('http', 'app.kubernetes.io/component=proxy')));
  });

  test('its backend is replaced without a failure', async () => {
    assertGood(await asking(async () => await roll('httpbin', 'app=httpbin', 'httpbin')));
  });

  test('the controllers are replaced, and the proxies while there is none, without a failure', async () => {
    assertGood(
      await asking(async () => {
        await roll('portcullis-controller', 'app.kubernetes.io/component=controller');
        await kubectl('scale', 'deployment/portcullis-controller', '--replicas=0');
        await kubectl(
          'wait',
          '--for=delete',
          'pod',
          '-l',
          'app.kubernetes.io/component=controller',
          '--timeout=2m',
        );
      }),
    );
    await kubectl('scale', 'deployment/portcullis-controller', '--replicas=2');
    await kubectl('rollout', 'status', 'deployment/portcullis-controller', '--timeout=2m');
  });
});
