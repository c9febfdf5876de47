import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/** A child that speaks a JSON message a line; one request at a time. */
export class StdioConnection {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #received = '';
  #waiting: { resolve(line: string): void; reject(error: Error): void } | undefined;

  constructor(command: readonly string[]) {
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => this.#read(chunk));
    this.#child.on('error', (error) => this.#waiting?.reject(error));
    this.#child.on('exit', () => this.#waiting?.reject(new Error('the server ended')));
  }

  request(line: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#child.stdin.write(`${line}\n`);
    });
  }

  notify(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async close(): Promise<void> {
    this.#waiting = undefined;
    const exited = once(this.#child, 'exit');
    this.#child.stdin.end();
    await exited;
  }

  #read(chunk: string): void {
    this.#received += chunk;
    if (!this.#received.endsWith('\n')) return;
    const line = this.#received.slice(0, -1);
    this.#received = '';
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(line);
  }
}
