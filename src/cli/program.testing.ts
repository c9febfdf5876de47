import { spawn, type ChildProcess } from 'node:child_process';
import { launcher } from '../launcher.testing.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of Node before the program. */
  readonly node?: readonly string[];
  readonly program?: string;
  /** Standard input is a pipe: `child.stdin`. */
  readonly input?: boolean;
}

/** The real program in a process of its own. */
export class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  #out = '';
  #err = '';
  #listeners: (() => void)[] = [];

  constructor(
    args: readonly string[],
    { env = {}, node = [], program = launcher, input = false }: ProgramOptions = {},
  ) {
    this.child = spawn(process.execPath, [...node, '--', program, ...args], {
      // The environment of the test cannot override a setting.
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...env },
      stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#out += text;
      this.#tell();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#err += text;
      this.#tell();
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('close', (code, signal) => {
        resolve({ code, signal, out: this.#out, err: this.#err });
        this.#tell();
      });
    });
  }

  /** Waits until the output (both streams) has something that matches. */
  async saw(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(`${this.#out}${this.#err}`);
      if (found !== null) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`the program ended without ${pattern}:\n${this.#out}${this.#err}`);
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }

  #tell(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

/** Runs the program to its end. */
export function run(args: readonly string[], options?: ProgramOptions): Promise<Ended> {
  return new Program(args, options).ended;
}
