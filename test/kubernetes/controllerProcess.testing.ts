import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { launcher } from '../../src/launcher.testing.ts';
import { until } from '../../src/until.testing.ts';

/** A test, or a suite: what it started is ended with it. */
export interface Owner {
  after(end: () => unknown): void;
}

/** `portcullis controller`, as a pod runs it. */
export interface ControllerProcess {
  readonly pid: number;
  /** Status of the readiness probe. */
  probe(): Promise<number>;
  metrics(): Promise<string>;
  log(): string;
  /** Resolves when it is ready. */
  ready(): Promise<void>;
  isLeader(): Promise<boolean>;
  /** @returns the exit code */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export async function startControllerProcess(
  t: Owner,
  kubeconfig: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ControllerProcess> {
  const free = '127.0.0.1:0';
  const child = spawn(
    process.execPath,
    [
      launcher,
      'controller',
      `--kubeconfig=${kubeconfig}`,
      '--log-level=debug',
      '--admin=off',
      `--models=${free}`,
      `--stats=${free}`,
      `--readiness=${free}`,
      ...args,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } },
  );
  t.after(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit') as Promise<[number | null]>;
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const address = (name: string): string | undefined =>
    new RegExp(`Watching the cluster.* ${name}=(http://\\S+)`).exec(log)?.[1];
  await until('it says where it listens', () => {
    if (child.exitCode !== null) throw new Error(`the controller has ended: ${log}`);
    return address('readiness') !== undefined;
  });
  const metrics = async (): Promise<string> =>
    await (await fetch(new URL('/metrics', address('stats')))).text();
  return {
    pid: child.pid ?? 0,
    metrics,
    log: () => log,
    probe: async () => (await fetch(new URL('/readyz', address('readiness')))).status,
    ready: async () => {
      await until('the controller is ready', () => / ready gateways=/.test(log));
    },
    isLeader: async () => /portcullis_kube_leader\{[^}]*\} 1/.test(await metrics()),
    end: async (signal) => {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}
