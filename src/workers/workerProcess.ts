import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { relayLines, type MetricsSnapshot, type Sink } from '../telemetry/index.ts';
import { within } from '../within.ts';
import { Link, type Peer } from './link.ts';
import type { ToMain, ToWorker } from './workerMessages.ts';

/** The process runs the sources of a checkout. */
const unbuilt = import.meta.url.endsWith('.ts');

/** The compiled program has it beside it as JavaScript. */
const program = fileURLToPath(
  new URL(unbuilt ? './workerProgram.ts' : './workerProgram.js', import.meta.url),
);

/** The compiled code is kept for the next process, as the launcher keeps it. */
const compileCache = new URL(
  unbuilt ? '../../bin/compileCache.js' : '../bin/compileCache.js',
  import.meta.url,
);

const lastMessagesMs = 500;

export interface WorkerProcessOptions {
  readonly worker: number;
  /** The destination of its lines, those of the access log and all others. */
  readonly out: Pick<Sink, 'write'>;
  readonly err: Pick<Sink, 'write'>;
  /** Names of environment variables that hold secrets: what a worker needs of them is in its start. */
  readonly withheld: () => readonly string[];
  /** Takes records of requests, as JSON. */
  readonly records: (records: readonly string[]) => void;
  /** Answers when the counter of tokens listens, with the path of its socket. */
  readonly counter: () => Promise<string>;
}

/** A run of a worker, as the main process sees it. */
export class WorkerProcess {
  /** Names it in session ids: 16 hex digits. */
  readonly owner = randomBytes(8).toString('hex');
  readonly link: Link<ToWorker, ToMain>;
  readonly startedAt = performance.now();
  /** Resolves (never rejects) with how it ended, when nothing is left of it and of the processes below it. */
  readonly ended: Promise<string>;
  /** The last metrics that it reported. */
  metrics: MetricsSnapshot = [];
  /** When it last gave a sign of life, by `performance.now()`. */
  seenAt = performance.now();
  /** It starts or prepares a configuration, and may be silent for longer. */
  busy = false;
  private readonly child: ChildProcess;
  /** Process groups of its MCP servers, by their leaders. */
  private readonly groups = new Set<number>();

  constructor({ worker, out, err, withheld, records, counter }: WorkerProcessOptions) {
    const secrets = new Set(withheld());
    // The number is for people who look at a list of processes.
    this.child = fork(program, [String(worker)], {
      // The environment of a process can be read by every other process of its user.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !secrets.has(name))),
      execArgv: [...process.execArgv, '--import', compileCache.href],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.link = new Link<ToWorker, ToMain>(this.child as Peer, {
      group: ({ leader, alive }) => {
        if (alive) this.groups.add(leader);
        else this.groups.delete(leader);
      },
      records,
      counter,
    });
    this.ended = this.end();
    // Both are missing where the system had no file descriptors left for the process.
    const { stdout, stderr } = this.child as { stdout?: Readable | null; stderr?: Readable | null };
    if (stdout) relayLines(stdout, out);
    if (stderr) relayLines(stderr, err);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** No longer busy. */
  settled(): void {
    this.busy = false;
    this.seenAt = performance.now();
  }

  askForLife(): void {
    this.link.ask('beat', undefined).then(
      () => (this.seenAt = performance.now()),
      () => undefined,
    );
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private async end(): Promise<string> {
    const { child } = this;
    const disconnected = new Promise<void>((resolve) => child.once('disconnect', resolve));
    const how = await new Promise<string>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code ?? '?'}` : signal));
      child.on('error', (error) => {
        // It could not be started; an error of sending is followed by the exit.
        if (child.pid === undefined) resolve(error.message);
      });
    });
    // Its last message may still be on its way: it names the process groups that the worker leaves behind. Node
    // does not say that the channel is at its end while a socket is on its way to a process that is no more, so
    // the wait is not for ever.
    if (child.connected) await within(lastMessagesMs, disconnected);
    this.link.close();
    for (const leader of this.groups) {
      try {
        process.kill(-leader, 'SIGKILL');
      } catch {
        // It has ended by itself, as its input did.
      }
    }
    return how;
  }
}
