import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { StdioTarget } from '../../../model/index.ts';
import { ChildInput } from './childInput.ts';
import { readOutput } from './childOutput.ts';
import { PacedLines } from './pacedLines.ts';
import { stdioOfInherited } from './descriptors.ts';
import { signalGroup } from './group.ts';
import { isolatedCommand } from './isolation.ts';
import { makePrivateFolder, removePrivateFolder } from './privateFolder.ts';
import { LineSplitter, type LineReader } from '../../../http/index.ts';
import { FairReader } from '../../../upstream/index.ts';

export interface ChildEvents extends LineReader {
  /** Receives a line of stderr. */
  onStderr(line: string): void;
  /** Receives the first bytes of a line of stderr that is too long, as latin1, and the length of the line. */
  onLongStderr(head: string, bytes: number): void;
  /** The child is of no more use: it could not start or its leader ended. Called once. */
  /** @param detail what only the operator may know, such as a path */
  onDown(reason: string, detail?: string): void;
}

/** A line of stderr longer than this is cut. */
const maxStderrLine = 4_096;
/** Output that was written before the end may still be in the pipe this long after it, in milliseconds. */
const drainMs = 100;
/** Members of a group that outlive their leader get this long after SIGTERM when nobody asked for a stop. */
const orphanMs = 500;
const pollMs = 25;
/** After SIGKILL a zombie that its new parent does not reap still answers; it is not waited for. */
const reapMs = 150;

/**
 * An MCP server process: its pipes, and the certainty that neither it nor anything it started in its process
 * group is left when `gone` resolves.
 */
export class Child {
  /** Undefined where the command could not be started. */
  readonly pid: number | undefined;
  /** Resolves (never rejects) when the whole process group is gone, and its folder. */
  readonly gone: Promise<void>;
  private readonly process: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly input: ChildInput;
  private readonly output: Readable;
  /** The program that the system was asked to start. */
  private readonly command: string;
  private readonly events: ChildEvents;
  private resolveGone: () => void = () => undefined;
  private timer: NodeJS.Timeout | undefined;
  private down = false;
  private exited = false;
  /** Two things have yet to close: the process with its other pipes, and its output. */
  private unclosed = 2;
  private stopping = false;
  private killAt = Infinity;
  private exitReason = '';
  private readonly reads: FairReader;

  /** @throws where the operating system refuses the arguments themselves (a NUL in them, too many) */
  constructor(
    target: StdioTarget,
    env: Record<string, string>,
    maxLineBytes: () => number,
    events: ChildEvents,
  ) {
    this.events = events;
    const { cmd, args, uid, gid } = isolatedCommand(target);
    this.command = cmd;
    const cwd = target.isolation?.privateFolder === true ? makePrivateFolder({ uid, gid }) : target.cwd;
    const leave = async (): Promise<void> => {
      if (target.isolation?.privateFolder === true && cwd !== undefined)
        await removePrivateFolder(cwd, { uid, gid });
    };
    try {
      this.process = spawn(cmd, args, {
        env,
        stdio: ['pipe', 'pipe', 'pipe', ...stdioOfInherited],
        detached: true,
        ...(uid === undefined ? {} : { uid }),
        ...(gid === undefined ? {} : { gid }),
        ...(cwd === undefined ? {} : { cwd }),
      }) as ChildProcessByStdio<Writable, Readable, Readable>;
      this.process.on('error', (error: NodeJS.ErrnoException) => this.onError(target, error));
      if ((this.process.stdin as Writable | undefined) === undefined) {
        // The event for it comes later, and nobody has to hear of the same child twice.
        this.down = true;
        throw new Error('the gateway has no file descriptors left for pipes');
      }
    } catch (error) {
      void leave();
      const isRefused = (error as NodeJS.ErrnoException).code === 'EPERM';
      if (isRefused && (uid !== undefined || gid !== undefined))
        throw new Error('the gateway has no right to start programs as another user or group', {
          cause: error,
        });
      throw error;
    }
    this.input = new ChildInput(this.process.stdin);
    this.pid = this.process.pid;
    this.gone = new Promise((resolve) => {
      this.resolveGone = () => void leave().then(resolve);
    });
    this.process.on('exit', (code, signal) => this.onExit(code, signal));
    this.process.on('close', () => this.onClose());
    // A write to a child that has just died fails; the exit that follows says why.
    this.process.stdin.on('error', () => this.onPipeLost('closed its input'));
    this.process.stderr.on('error', () => undefined);
    this.output = readOutput(this.process.stdout, (memory, length) => lines.take(memory, length));
    this.reads = new FairReader(this.output);
    const lines = new PacedLines(new LineSplitter(maxLineBytes, events), this.reads);
    this.output.on('error', () => undefined);
    this.output.on('end', () => {
      lines.end();
      this.onPipeLost('closed its output');
    });
    this.output.on('close', () => this.onClose());
    this.readErrors();
  }

  private readErrors(): void {
    const { events } = this;
    const { stderr } = this.process;
    const lines = new LineSplitter(() => maxStderrLine, {
      onLine: (text) => events.onStderr(text),
      onTooLong: (head, _tail, bytes) => events.onLongStderr(head, bytes),
    });
    const errors = new PacedLines(lines, new FairReader(stderr));
    stderr.on('data', (chunk: Buffer) => errors.take(chunk, chunk.length));
    stderr.on('end', () => errors.end());
  }

  /** Bytes (about) that the child has not taken from its stdin. */
  get backlog(): number {
    return this.input.backlog;
  }

  /** Queues one message; `flush` writes what is queued with one system call. */
  write(line: string): void {
    this.input.write(line);
  }

  flush(): void {
    this.input.flush();
  }

  /** Stops reading the child's messages, so that a flood waits in the pipe and then in the child. */
  pause(): void {
    this.reads.pause();
  }

  resume(): void {
    this.reads.resume();
  }

  /**
   * Asks the child to leave, ever more firmly: end of stdin, SIGTERM to the group, SIGKILL to the group.
   * `gone` tells when it has. A second call can only shorten the grace.
   */
  stop(graceMs: number): void {
    this.killAt = Math.min(this.killAt, performance.now() + graceMs);
    if (!this.stopping) {
      this.stopping = true;
      this.input.end();
      this.resume();
    }
    if (this.pid === undefined) return;
    if (this.exited) this.arm(pollMs, () => this.reap());
    else if (graceMs <= 0) this.kill();
    else this.arm(Math.min(1_000, graceMs / 2), () => this.terminate());
  }

  /** SIGKILL to the whole group, at once. */
  kill(): void {
    if (this.pid !== undefined) signalGroup(this.pid, 'SIGKILL');
  }

  private terminate(): void {
    signalGroup(this.pid!, 'SIGTERM');
    this.arm(Math.max(0, this.killAt - performance.now()), () => this.kill());
  }

  private onError(target: StdioTarget, error: NodeJS.ErrnoException): void {
    if (this.pid !== undefined) return;
    // A missing working directory and a missing command are the same error to the system.
    const missingCwd = error.code === 'ENOENT' && target.cwd !== undefined && !existsSync(target.cwd);
    const detail = missingCwd
      ? `the working directory "${target.cwd}" does not exist`
      : `the command "${this.command}" ${error.code === 'ENOENT' ? 'was not found' : `failed with ${error.code ?? 'an unknown error'}`}`;
    this.exited = true;
    this.setDown('could not be started', detail);
    this.resolveGone();
  }

  /** Usually its exit comes next and says more; a child that lives on can hear or say nothing any more. */
  private onPipeLost(reason: string): void {
    if (this.exited || this.stopping) return;
    this.arm(drainMs, () => {
      this.setDown(reason);
      this.stop(orphanMs);
    });
  }

  private onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.exited = true;
    const reason = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
    // Processes that the leader left behind must not outlive it; the poll waits for those that clean up.
    if (signalGroup(this.pid!, 0)) {
      signalGroup(this.pid!, 'SIGTERM');
      this.killAt = Math.min(this.killAt, performance.now() + orphanMs);
    }
    this.arm(drainMs, () => {
      this.setDown(reason);
      this.reap();
    });
    this.exitReason = reason;
  }

  /** The process is gone with its pipes, or its output is closed. After both, nothing more will be said. */
  private onClose(): void {
    if (--this.unclosed > 0 || this.pid === undefined) return;
    this.setDown(this.exitReason);
    this.reap();
  }

  private reap(): void {
    if (!signalGroup(this.pid!, 0)) {
      this.finish();
      return;
    }
    const over = performance.now() - this.killAt;
    if (over >= 0) signalGroup(this.pid!, 'SIGKILL');
    if (over >= reapMs) this.finish();
    else this.arm(pollMs, () => this.reap());
  }

  private finish(): void {
    clearTimeout(this.timer);
    this.setDown(this.exitReason);
    this.process.stdin.destroy();
    this.output.destroy();
    this.process.stderr.destroy();
    this.resolveGone();
  }

  private setDown(reason: string, detail?: string): void {
    if (this.down) return;
    this.down = true;
    this.events.onDown(reason, detail);
  }

  /**
   * Arms the only timer: each step of the end replaces the one before. It keeps the gateway alive on purpose: for
   * the second or two that it takes, leaving would orphan the group.
   */
  private arm(ms: number, step: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(step, ms);
  }
}
