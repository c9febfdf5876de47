import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { environmentVariable } from '../model/index.ts';
import type { SocketHandle } from '../proxy/index.ts';
import {
  format,
  inheritanceMessages,
  formatMismatch,
  successorVariable,
  type FromPredecessor,
  type FromSuccessor,
  type Inheritance,
} from './inheritance.ts';

/** The command line of a program. */
export interface Program {
  /** Looked for along `PATH` where it has no slash. */
  readonly file: string;
  readonly args: readonly string[];
}

/** A program that has all it needs to go on alone. */
export interface Successor {
  readonly pid: number;
  readonly version: string;
  /** Tells it that this program accepts nothing any more. */
  takesOver(): void;
  /** Ends it after all. */
  end(): void;
}

export interface SuccessorOptions {
  readonly program: Program;
  readonly inheritance: Inheritance;
  /** Names of environment variables that hold secrets: the program gets them, and its environment block does not. */
  readonly withheld: readonly string[];
  /** For the start of the program until it is ready. */
  readonly timeoutMs: number;
  /** Gives up. */
  readonly signal: AbortSignal;
}

/** The time for a successor that is given up to end itself. */
const lastWordMs = 5_000;

/**
 * Starts the program that is to take the place of this one, gives it the ports and waits until it serves.
 * @throws Error saying why it does not; nothing is left of it then, or will be soon
 */
export async function startSuccessor({
  program: { file, args },
  inheritance,
  withheld,
  timeoutMs,
  signal,
}: SuccessorOptions): Promise<Successor> {
  const entries = Object.entries(process.env);
  const secrets = Object.fromEntries(entries.filter(([name]) => withheld.includes(name)));
  const shown = Object.fromEntries(entries.filter(([name]) => !withheld.includes(name)));
  const child = spawn(file, args, {
    env: { ...shown, [successorVariable]: '1', [environmentVariable]: '4' },
    // JSON, since another version of Node may speak another dialect of anything else.
    serialization: 'json',
    stdio: ['inherit', 'inherit', 'inherit', 'ipc', 'pipe'],
  });
  giveSecrets(child, secrets);
  const started = Promise.withResolvers<string>();
  let version = 'unknown';
  const onMessage = (message: FromSuccessor): void => {
    if (message.portcullis === 'hello') {
      ({ version } = message);
      if (message.format === format) void giveAll(child, inheritance).catch(started.reject);
      else started.reject(new Error(formatMismatch(message.format)));
    } else if (message.portcullis === 'failed') started.reject(new Error(message.problem));
    else if (message.portcullis === 'ready') started.resolve(version);
  };
  const onExit = (code: number | null, by: NodeJS.Signals | null): void =>
    started.reject(new Error(`the new process exited: ${by ?? `exit code ${code ?? '?'}`}`));
  const onAbort = (): void => started.reject(new Error('the gateway was told to stop in the meantime'));
  child.on('message', onMessage);
  child.on('exit', onExit);
  child.on('error', (error) => {
    // It could not be started, or what was sent did not arrive: then its end says more.
    if (child.pid === undefined) started.reject(new Error(`${file} cannot be started: ${error.message}`));
  });
  const late = setTimeout(
    () => started.reject(new Error(`the new process was not ready within ${timeoutMs / 1_000} s`)),
    timeoutMs,
  );
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    version = await started.promise;
  } catch (error) {
    giveUp(child);
    throw error;
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', onAbort);
    child.off('message', onMessage);
    child.off('exit', onExit);
  }
  // From here on it is a program of its own, which this one does not wait for. The channel stays open, so that the
  // successor sees by its end when this process has ended.
  child.unref();
  child.channel?.unref();
  const { pid = 0 } = child;
  return {
    pid,
    version,
    takesOver: () => void send(child, { portcullis: 'yours' }).catch(() => undefined),
    end: () => giveUp(child),
  };
}

function giveSecrets(child: ChildProcess, secrets: NodeJS.ProcessEnv): void {
  // Missing where the program could not be started.
  const pipe = child.stdio[4] as Writable | null | undefined;
  // A program that ends before it reads them says by its end what is wrong.
  pipe?.on('error', () => undefined);
  pipe?.end(JSON.stringify(secrets));
}

async function giveAll(child: ChildProcess, inheritance: Inheritance): Promise<void> {
  for (const [message, handle] of inheritanceMessages(inheritance)) await send(child, message, handle);
}

function send(child: ChildProcess, message: FromPredecessor, handle?: SocketHandle): Promise<void> {
  return new Promise((resolve, reject) => {
    // Node sends its own handles of sockets, too; its types know only the objects around them.
    child.send(message, handle as undefined, undefined, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** Lets it end what it serves already; whether it does is not waited for. */
function giveUp(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const last = setTimeout(() => child.kill('SIGKILL'), lastWordMs);
  child.once('exit', () => clearTimeout(last));
}
