import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { launcher } from '../../src/launcher.testing.ts';
import { freePorts } from './loopback.ts';

export interface RunningGateway {
  /** Of the bind that was given as port 0. */
  readonly port: number;
  readonly pid: number;
  /** What it has written to stdout and stderr so far. */
  output(): string;
  /** SIGTERM, and the exit code it ends with. */
  stop(): Promise<number | null>;
}

/** A configuration as its file would hold it; the process-wide addresses are filled in here. */
export interface GatewayConfig {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly binds: readonly [Readonly<Record<string, unknown>>, ...Readonly<Record<string, unknown>>[]];
}

/**
 * Runs the real program on a temporary file, on free ports, and returns when its readiness probe answers 200.
 *
 * @throws Error with the program's output when it ends before it is ready or needs longer than 30 s.
 */
export async function startGateway(config: GatewayConfig): Promise<RunningGateway> {
  const [port, readiness] = (await freePorts(2)) as [number, number];
  const [first, ...others] = config.binds;
  const directory = await mkdtemp(join(tmpdir(), 'portcullis-'));
  const file = join(directory, 'config.yaml');
  // JSON is YAML.
  await writeFile(
    file,
    JSON.stringify({
      ...config,
      config: {
        adminAddr: 'off',
        statsAddr: 'off',
        readinessAddr: `127.0.0.1:${readiness}`,
        ...config.config,
      },
      binds: [{ ...first, port }, ...others],
    }),
  );

  const child = spawn(process.execPath, [launcher, '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  exited.catch(() => {});
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => void (output += chunk));
  }
  const stop = async () => {
    child.kill('SIGTERM');
    const [code] = await exited;
    await rm(directory, { recursive: true, force: true });
    return code;
  };

  const deadline = Date.now() + 30_000;
  while (!(await isReady(readiness))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      if (child.exitCode === null) await stop();
      throw new Error(`the gateway did not become ready:\n${output}`);
    }
    await delay(20);
  }
  return { port, pid: child.pid ?? 0, output: () => output, stop };
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/healthz/ready`)).ok;
  } catch {
    return false;
  }
}
