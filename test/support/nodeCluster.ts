import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findBed } from './kubeCluster.ts';

const run = promisify(execFile);
const imageMaker = fileURLToPath(new URL('../../deploy/image.sh', import.meta.url));
const program = fileURLToPath(new URL('../kubernetes/bed/cluster.sh', import.meta.url));
const balancer = fileURLToPath(new URL('../kubernetes/loadBalancer.ts', import.meta.url));
const names = fileURLToPath(new URL('../kubernetes/serviceNames.ts', import.meta.url));
/** Where pods ask for names: that of the node. */
const nameServer = '198.19.0.1';

/** Why there can be no cluster with pods here; undefined where there can. */
export function whyNoNode(): string | undefined {
  const bed = findBed();
  if ('missing' in bed) return bed.missing;
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'a cluster with pods needs Linux, and root for its namespaces';
  const places = (process.env['PATH'] ?? '').split(':');
  const lacks = ['containerd', 'runc', 'iptables', 'conntrack', 'openssl', 'unshare', 'nsenter'].find(
    (name) => !places.some((folder) => existsSync(join(folder, name))),
  );
  if (lacks !== undefined) return `a cluster with pods needs ${lacks}`;
  // Without them, every pod stays at ContainerCreating, and no event says why.
  return existsSync('/usr/lib/cni/bridge')
    ? undefined
    : 'a cluster with pods needs the CNI plugins in /usr/lib/cni';
}

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/** A Kubernetes of one node in namespaces of its own, with nothing but itself to reach. */
export class NodeCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'portcullis-node-'));
  readonly #children = new Set<ChildProcess>();

  /** @throws Error with what its programs say, when it does not come up */
  static async start(images: readonly string[] = []): Promise<NodeCluster> {
    const cluster = new NodeCluster();
    try {
      await run(program, ['up', cluster.folder, ...images]);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Path of an administrator's kubeconfig, good inside only. */
  get kubeconfig(): string {
    return join(this.folder, 'state', 'admin.kubeconfig');
  }

  /** Runs a command inside. @throws Error with what it says, when it fails */
  async run(command: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Output> {
    return await run(program, ['in', this.folder, ...command], { env, maxBuffer: 64 << 20 });
  }

  /**
   * Makes images of the checkout and gives them to the node.
   * @param flags of `deploy/image.sh`, one for each image; none makes that of the gateway
   */
  async makeImages(...flags: readonly ('--echo' | '--mcp' | undefined)[]): Promise<void> {
    for (const flag of flags) {
      const archive = join(this.folder, `${flag?.slice(2) ?? 'gateway'}.tar`);
      await run(imageMaker, [...(flag === undefined ? [] : [flag]), archive]);
      await this.run(['ctr', '-n', 'k8s.io', 'images', 'import', archive]);
    }
  }

  /** Gives Services of type LoadBalancer an address from now on. */
  startLoadBalancer(): void {
    this.spawn('load-balancer', [process.execPath, balancer, this.kubeconfig]);
  }

  /** Lets pods find Services by their names from now on. */
  startServiceNames(): void {
    this.spawn('service-names', [process.execPath, names, this.kubeconfig, nameServer]);
  }

  /** What its programs and the load balancer have logged. */
  log(name: string): string {
    return readFileSync(join(this.folder, 'log', `${name}.log`), 'utf8');
  }

  async stop(): Promise<void> {
    await run(program, ['down', this.folder]);
    await Promise.all(
      [...this.#children].map(async (child) => {
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      }),
    );
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a command inside that ends with the cluster, unless it does before; `log(name)` is what it says. */
  spawn(name: string, command: readonly string[]): void {
    const log = openSync(join(this.folder, 'log', `${name}.log`), 'a');
    const child = spawn(program, ['in', this.folder, ...command], { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#children.add(child);
  }
}
