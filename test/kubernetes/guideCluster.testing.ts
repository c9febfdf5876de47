import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Step } from '../support/guide.ts';
import { findHelm } from '../support/helm.ts';
import { findBed } from '../support/kubeCluster.ts';
import { NodeCluster, whyNoNode } from '../support/nodeCluster.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const helm = findHelm();

/** For `describe`: why guides cannot be run here, where they cannot. */
export const needsGuideCluster = { skip: whyNoNode() ?? ('missing' in helm && helm.missing) } as const;

/** The URLs that cannot be fetched inside the cluster's namespaces → the files of the bed. */
const release = /https:\/\/\S+\/releases\/download\/(v[\d.]+)\/(standard|experimental)-install\.yaml/;

export const pageOf = (name: string): string => readFileSync(join(root, 'docs/guides', name), 'utf8');

export interface GuideCluster {
  /** Gives Services of type LoadBalancer an address from now on. */
  startLoadBalancer(): void;
  /** Runs steps in one shell, as a reader would in one terminal; returns what each has printed. */
  run(steps: readonly Step[]): Promise<readonly string[]>;
}

/** A cluster with pods for the tests of a `describe`, and a terminal as the reader of a page has it. */
export function guideCluster(page: string): GuideCluster {
  let started: NodeCluster | undefined;
  let path = '';

  before(async () => {
    const cluster = (started = await NodeCluster.start());
    cluster.startServiceNames();
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
  after(async () => await started?.stop());

  const running = (): NodeCluster => {
    assert.ok(started !== undefined, 'the cluster is not started');
    return started;
  };

  return {
    startLoadBalancer: () => running().startLoadBalancer(),
    run: async (steps) => {
      const cluster = running();
      const mark = '@@ step of the guide';
      const script = steps.map(({ fence }) => `echo '${mark}'\n${fence.text}`).join('\n');
      // A background job of a step would hold the terminal open for ever if a later step fails.
      const trap = `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT`;
      const command = `export PATH='${path}'\nset -euo pipefail\n${trap}\ncd '${root}'\n${script}`;
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
    },
  };
}
