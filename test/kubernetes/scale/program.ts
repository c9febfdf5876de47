import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { launcher } from '../../../src/launcher.testing.ts';

/** In the chart Node may use 55 % of the 512 MiB of its container for the heap. */
const heapOfTheChart = '--max-old-space-size=281';

/** `portcullis controller` as the chart starts it, but for addresses that are free here. */
export class ControllerProgram {
  /** `performance.now()` when it was started. */
  readonly startedAt = performance.now();
  private readonly child: ChildProcess;
  private log = '';

  /** @param profile a folder for a profile of its CPU, written when it ends */
  constructor(kubeconfig: string, namespace: string, profile?: string) {
    const free = '127.0.0.1:0';
    this.child = spawn(
      process.execPath,
      [
        ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]),
        launcher,
        'controller',
        `--kubeconfig=${kubeconfig}`,
        `--namespace=${namespace}`,
        '--proxy-image=portcullis:scale',
        '--admin=off',
        `--models=${free}`,
        `--stats=${free}`,
        `--readiness=${free}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, NODE_OPTIONS: heapOfTheChart } },
    );
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.log += text));
  }

  /** Milliseconds from its start until it said that it is ready. */
  async ready(): Promise<number> {
    await this.saw(/ ready gateways=\d+ leader=/);
    return performance.now() - this.startedAt;
  }

  get modelsPort(): string {
    return /Watching the cluster.* models=(\d+)/.exec(this.log)?.[1] ?? '';
  }

  /** The largest its resident memory ever was, in bytes. */
  get peakBytes(): number {
    const status = readFileSync(`/proc/${String(this.child.pid)}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
  }

  /** The processor time that it has used so far, in milliseconds. */
  get cpuMs(): number {
    // After the name, which may hold anything (proc(5)): state is the third field, utime the 14th, stime the 15th.
    const stat = readFileSync(`/proc/${String(this.child.pid)}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticksPerSecond = 100;
    return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1_000;
  }

  /** Warnings and errors it has logged, a line each. */
  get complaints(): readonly string[] {
    return this.log.split('\n').filter((line) => /\b(?:warn|error)\b/i.test(line));
  }

  async figures(): Promise<Figures> {
    const stats = /Watching the cluster.* stats=(http:\S+)/.exec(this.log)?.[1];
    return new Figures(await (await fetch(new URL('/metrics', stats))).text());
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exited;
  }

  /** Kills the rest of it. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  private async saw(pattern: RegExp): Promise<void> {
    const end = performance.now() + 180_000;
    while (!pattern.test(this.log)) {
      if (this.child.exitCode !== null || performance.now() > end)
        throw new Error(`the controller never said ${String(pattern)}:\n${this.log.slice(-4_000)}`);
      await pause(5);
    }
  }
}

/** The metrics of a process, at one moment. */
export class Figures {
  private readonly lines: readonly string[];

  constructor(text: string) {
    this.lines = text.split('\n');
  }

  /** Sum of all series of a name whose labels contain all of these texts. */
  sum(name: string, ...labels: readonly string[]): number {
    let sum = 0;
    for (const line of this.lines) {
      const [, series, inside = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (series === `portcullis_${name}` && labels.every((label) => inside.includes(label)))
        sum += Number(value);
    }
    return sum;
  }
}
