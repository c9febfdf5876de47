/** Runs `docs/guides/sample-app.md` on a cluster, command by command, as it stands: with Helm, and with manifests. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answerIn, stepsOf, type Step } from '../support/guide.ts';
import { findHelm } from '../support/helm.ts';
import { findBed } from '../support/kubeCluster.ts';
import { NodeCluster, whyNoNode } from '../support/nodeCluster.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(join(root, 'docs/guides/sample-app.md'), 'utf8');
const helm = findHelm();
const skip = whyNoNode() ?? ('missing' in helm && helm.missing);

/** What cannot be fetched inside the cluster's namespaces → what the bed has of it. */
const release = /https:\/\/\S+\/releases\/download\/(v[\d.]+)\/(standard|experimental)-install\.yaml/;

describe('the guide to the sample app', { skip }, () => {
  let cluster: NodeCluster | undefined;
  let path = '';

  before(async () => {
    cluster = await NodeCluster.start();
    const bed = findBed();
    assert.ok('kube' in bed && 'helm' in helm);
    const tools = join(cluster.folder, 'bin');
    // kubectl as it is, but that it finds the release of the Gateway API without a network.
    const [url = ''] = release.exec(page) ?? [];
    const kubectl = `#!/bin/sh\nfor word do shift; [ "$word" = ${url} ] && word=${bed.crds}/standard; set -- "$@" "$word"; done\nexec -a kubectl ${bed.kube} "$@"\n`;
    const shim = join(cluster.folder, 'kubectl');
    writeFileSync(shim, kubectl.replace('#!/bin/sh', '#!/bin/bash'));
    chmodSync(shim, 0o755);
    assert.ok(existsSync(tools));
    path = [cluster.folder, join(helm.helm, '..'), process.env['PATH']].join(':');
  });
  after(async () => await cluster?.stop());

  /** Runs steps in one shell, as a reader would in one terminal; returns what each has printed. */
  const run = async (steps: readonly Step[]): Promise<readonly string[]> => {
    assert.ok(cluster !== undefined);
    const mark = '@@ step of the guide';
    const script = steps.map(({ fence }) => `echo '${mark}'\n${fence.text}`).join('\n');
    const command = `export PATH='${path}'\nset -euo pipefail\ncd '${root}'\n${script}`;
    try {
      const { stdout } = await cluster.run(['bash', '-c', command]);
      return stdout.split(`${mark}\n`).slice(1);
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
      const { fence } = steps[Math.max(0, stdout.split(mark).length - 2)] as Step;
      const { stdout: events } = await cluster.run(['kubectl', 'get', 'events,pods,gateways', '-A']);
      throw new Error(`line ${String(fence.line)}:\n${fence.text}\n${stdout}\n${stderr}\n${events}`, {
        cause: error,
      });
    }
  };

  /** The answer is as the page says: status, headers, and what is in the body, whatever the values of this moment. */
  const assertAnswer = (output: string, expected: string): void => {
    const [got, said] = [answerIn(output), answerIn(expected)];
    assert.ok(got !== undefined && said !== undefined, output);
    assert.equal(got.status, said.status);
    assert.deepEqual(Object.keys(got.headers).toSorted(), Object.keys(said.headers).toSorted());
    assert.equal(got.headers['content-type'], said.headers['content-type']);
    if (said.headers['content-type']?.startsWith('application/json') !== true)
      assert.equal(got.body.trim(), said.body.trim());
    else {
      const headers = ({ body }: { readonly body: string }): Readonly<Record<string, readonly string[]>> =>
        (JSON.parse(body) as { readonly headers: Readonly<Record<string, readonly string[]>> }).headers;
      assert.deepEqual(Object.keys(headers(got)), Object.keys(headers(said)));
      for (const name of ['Accept', 'Host', 'X-Forwarded-Proto'])
        assert.deepEqual(headers(got)[name], headers(said)[name]);
    }
  };

  for (const way of ['helm', 'manifest'])
    test(`every command works, and answers are as it says: ${way}`, async () => {
      const steps = stepsOf(page, new Set(['containerd', 'address', way]));
      const at = steps.findIndex(({ fence }) => fence.label === 'address');
      assert.ok(at > 0);
      // Up to here no load balancer is needed; the page says so, and there is none the first time.
      const without = await run(steps.slice(0, at));
      for (const [index, { expected }] of steps.slice(0, at).entries())
        if (expected !== undefined) assertAnswer(without[index] ?? '', expected);
      if (way === 'helm') {
        const status = await run(steps.filter(({ fence }) => fence.text.includes('.reason}')).slice(0, 1));
        assert.match(status.join(''), /Accepted True Accepted/);
        assert.match(status.join(''), /Programmed False AddressNotAssigned/);
        cluster?.startLoadBalancer();
      }
      const rest = await run(steps.slice(at));
      const wanted = steps.find(({ expected }) => expected !== undefined)?.expected ?? '';
      assertAnswer(rest[0] ?? '', wanted);
    });
});
