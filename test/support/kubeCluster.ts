import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { freePorts } from './loopback.ts';

/**
 * A Kubernetes API server with its store and controllers, as plain processes on loopback: no node, no privileges, and
 * as many side by side as memory allows (some 400 MB each). The programs come from a folder outside the checkout that
 * `test/kubernetes/bed/build.sh` fills.
 */

export interface Bed {
  /** The one binary that holds etcd, kube-apiserver, kube-controller-manager and kubectl. */
  readonly kube: string;
  /** The CRDs of the Gateway API: a folder with `standard` and `experimental`. */
  readonly crds: string;
}

const gatewayApiVersion = 'v1.6.3';

/** The bed, or why there is none. */
export function findBed(): Bed | { readonly missing: string } {
  const { PORTCULLIS_TESTBED, XDG_CACHE_HOME, PORTCULLIS_TESTBED_REQUIRED } = process.env;
  const folder =
    PORTCULLIS_TESTBED ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'portcullis', 'testbed');
  const kube = join(folder, 'kube');
  const crds = join(folder, 'crds', gatewayApiVersion);
  const lacks = [kube, crds].find((path) => !existsSync(path));
  if (lacks === undefined) return { kube, crds };
  const missing = `there is no ${lacks}; test/kubernetes/bed/build.sh makes it`;
  // Where the tests decide, a bed that is not there is no excuse.
  if (PORTCULLIS_TESTBED_REQUIRED === '1') throw new Error(missing);
  return { missing };
}

export interface Cluster {
  /** Path of a kubeconfig of an administrator. */
  readonly kubeconfig: string;
  /** `https://127.0.0.1:port` */
  readonly server: string;
  readonly port: number;
  /** Path of a kubeconfig that goes another way, or with other credentials. */
  kubeconfigFor(options: KubeconfigOptions): string;
  /** Runs kubectl; resolves to what it prints. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** Applies a manifest of one or more documents. */
  apply(manifest: string): Promise<void>;
  /** Installs the CRDs of the Gateway API and waits until they are served. */
  installGatewayApi(channel?: 'standard' | 'experimental'): Promise<void>;
  /** Kills the API server as a power cut would. */
  killApiServer(): Promise<void>;
  /** Starts it again on the same port; resolves when it is ready. */
  startApiServer(): Promise<void>;
  /** Lets the store forget everything but the newest version of each object. */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

export interface KubeconfigOptions {
  /** Of loopback, instead of the API server's own. */
  readonly port?: number;
  /** Instead of the administrator's. */
  readonly token?: string;
}

interface Program {
  readonly child: ChildProcess;
  readonly log: string;
}

/** @param controllers Also the controllers: garbage collection, namespaces, service accounts; not needed by most tests. */
export async function startCluster({ controllers = false } = {}): Promise<Cluster> {
  const bed = findBed();
  if ('missing' in bed) throw new Error(bed.missing);
  const cluster = new LocalCluster(bed, controllers);
  try {
    await cluster.start();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

const run = promisify(execFile);
const readyWithinMs = 90_000;

class LocalCluster implements Cluster {
  port = 0;
  readonly #folder = mkdtempSync(join(tmpdir(), 'portcullis-kube-'));
  readonly #crds: string;
  readonly #controllers: boolean;
  readonly #programs = new Map<string, Program>();
  readonly #token = randomUUID();
  /** A test that dies must leave nothing behind. */
  readonly #onExit = (): void => {
    for (const { child } of this.#programs.values()) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  };
  #ca = '';
  #etcd = { client: 0, peer: 0 };

  constructor({ kube, crds }: Bed, controllers: boolean) {
    this.#crds = crds;
    this.#controllers = controllers;
    // The binary runs as the program it is called by.
    for (const name of ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl'])
      symlinkSync(kube, this.#file(name));
  }

  get kubeconfig(): string {
    return this.#file('kubeconfig');
  }

  get server(): string {
    return `https://127.0.0.1:${String(this.port)}`;
  }

  async start(): Promise<void> {
    process.once('exit', this.#onExit);
    const [port = 0, client = 0, peer = 0] = await freePorts(3);
    this.port = port;
    this.#etcd = { client, peer };
    this.#writeFiles();
    const clientUrl = `http://127.0.0.1:${String(client)}`;
    const peerUrl = `http://127.0.0.1:${String(peer)}`;
    this.#spawn('etcd', [
      '--name=only',
      `--data-dir=${this.#file('data')}`,
      // Nothing of this must outlive the test.
      '--unsafe-no-fsync',
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=only=${peerUrl}`,
      '--log-level=warn',
    ]);
    await this.startApiServer();
  }

  async startApiServer(): Promise<void> {
    this.#spawn('kube-apiserver', [
      `--etcd-servers=http://127.0.0.1:${String(this.#etcd.client)}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${String(this.port)}`,
      '--service-cluster-ip-range=198.18.128.0/17',
      // The Service `kubernetes` would want an address other than loopback.
      '--endpoint-reconciler-type=none',
      `--tls-cert-file=${this.#file('server.crt')}`,
      `--tls-private-key-file=${this.#file('server.key')}`,
      `--token-auth-file=${this.#file('tokens.csv')}`,
      `--service-account-key-file=${this.#file('accounts.pub')}`,
      `--service-account-signing-key-file=${this.#file('accounts.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      '--authorization-mode=RBAC',
      '--profiling=false',
      `--cert-dir=${this.#file('certificates')}`,
    ]);
    await this.#until('the API server is ready', async () => {
      await this.kubectl(['get', '--raw', '/readyz']);
    });
    await this.#until('the namespace default exists', async () => {
      await this.kubectl(['get', 'namespace', 'default']);
    });
    if (this.#controllers) await this.#startControllers();
  }

  async killApiServer(): Promise<void> {
    await this.#kill('kube-apiserver');
  }

  async compact(): Promise<void> {
    const call = async (path: string, body: unknown): Promise<unknown> => {
      const answer = await fetch(`http://127.0.0.1:${String(this.#etcd.client)}/v3/kv/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`etcd answered ${String(answer.status)}: ${await answer.text()}`);
      return await answer.json();
    };
    const read = (await call('range', { key: Buffer.from('/').toString('base64') })) as {
      readonly header: { readonly revision: string };
    };
    await call('compaction', { revision: read.header.revision });
  }

  kubeconfigFor(options: KubeconfigOptions): string {
    const file = this.#file(`kubeconfig-${randomUUID()}`);
    writeFileSync(file, this.#kubeconfig(options), { mode: 0o600 });
    return file;
  }

  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const running = run(this.#file('kubectl'), [`--kubeconfig=${this.kubeconfig}`, ...args], {
      // Its cache of what the server knows would outlive the server.
      env: { ...process.env, HOME: this.#folder },
      maxBuffer: 64 << 20,
      timeout: 60_000,
    });
    // A program on a busy machine may have ended before this: its exit code tells more than a broken pipe.
    running.child.stdin?.on('error', () => {}).end(input);
    return (await running).stdout;
  }

  async apply(manifest: string): Promise<void> {
    await this.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], manifest);
  }

  async installGatewayApi(channel: 'standard' | 'experimental' = 'standard'): Promise<void> {
    const folder = join(this.#crds, channel);
    // The others are of `gateway.networking.x-k8s.io`, which nobody asks for, or no CRDs.
    const files = readdirSync(folder).filter((name) => /^gateway\.networking\.k8s\.io_(?!vap_)/.test(name));
    await this.kubectl(['apply', '--server-side', ...files.flatMap((name) => ['-f', join(folder, name)])]);
    await this.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  }

  async stop(): Promise<void> {
    // The others depend on the store: it goes last.
    for (const name of ['kube-controller-manager', 'kube-apiserver', 'etcd']) await this.#kill(name);
    process.removeListener('exit', this.#onExit);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** They end by themselves when the API server goes away while they start. */
  async #startControllers(): Promise<void> {
    if (this.#programs.get('kube-controller-manager')?.child.exitCode === null) return;
    this.#spawn('kube-controller-manager', [
      `--kubeconfig=${this.kubeconfig}`,
      '--use-service-account-credentials',
      `--service-account-private-key-file=${this.#file('accounts.key')}`,
      '--leader-elect=false',
      '--secure-port=0',
    ]);
    await this.#until('the controllers work', async () => {
      await this.kubectl(['get', 'serviceaccount', 'default']);
    });
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }

  #writeFiles(): void {
    const ca = authority('test cluster');
    this.#ca = ca.cert;
    const identity = ca.issue({
      name: 'kube-apiserver',
      names: ['127.0.0.1', 'localhost', 'kubernetes.default.svc'],
    });
    const accounts = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const files = {
      'server.crt': identity.cert,
      'server.key': identity.key,
      'accounts.key': accounts.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
      'accounts.pub': accounts.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      'tokens.csv': `${this.#token},admin,admin,"system:masters"\n`,
      kubeconfig: this.#kubeconfig({}),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(this.#file(name), text, { mode: 0o600 });
  }

  #kubeconfig({ port = this.port, token = this.#token }: KubeconfigOptions): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'test',
          cluster: {
            server: `https://127.0.0.1:${String(port)}`,
            'certificate-authority-data': Buffer.from(this.#ca).toString('base64'),
          },
        },
      ],
      users: [{ name: 'admin', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
      'current-context': 'test',
    });
  }

  #spawn(name: string, args: readonly string[]): void {
    const log = this.#file(`${name}.log`);
    const output = openSync(log, 'a');
    const child = spawn(this.#file(name), args, { stdio: ['ignore', output, output] });
    closeSync(output);
    this.#programs.set(name, { child, log });
  }

  async #kill(name: string): Promise<void> {
    const program = this.#programs.get(name);
    if (program === undefined) return;
    this.#programs.delete(name);
    const { child } = program;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  async #until(what: string, attempt: () => Promise<void>): Promise<void> {
    const end = performance.now() + readyWithinMs;
    for (;;)
      try {
        await attempt();
        return;
      } catch (error) {
        for (const [name, { child, log }] of this.#programs)
          if (child.exitCode !== null)
            throw new Error(`${name} has ended: ${readFileSync(log, 'utf8').slice(-2_000)}`, {
              cause: error,
            });
        if (performance.now() > end) throw new Error(`waited in vain until ${what}`, { cause: error });
        await pause(100);
      }
  }
}
