import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tetherDescriptor, tetherVariable } from '../../../bin/parent.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const configFile = 'examples/quickstart/config.yaml';
const readyWithinMilliseconds = 60_000;
const stopWithinMilliseconds = 15_000;
const linesKept = 200;

export interface Gateway {
  /** Resolves when the process has ended, however. */
  readonly ended: Promise<void>;
  /** Rejects when the gateway ends or a minute passes first. */
  ready(readinessUrl: string, signal: AbortSignal): Promise<void>;
  log(): readonly string[];
  /** Hands over the lines kept so far and each one to come. */
  follow(tell: (line: string) => void): void;
  /** Asks it to stop and waits; ends its whole process group when it does not. */
  close(): Promise<void>;
}

/** Starts the gateway as a user would, as a process group of its own. */
export function startGateway(environment: Record<string, string>): Gateway {
  const child = spawn(process.execPath, ['bin/portcullis', '-f', configFile], {
    cwd: root,
    env: { ...process.env, ...environment, [tetherVariable]: String(tetherDescriptor) },
    // The fourth is never written to: it closes when the demo is gone, even by SIGKILL, and the gateway notices.
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C in the terminal comes to the demo alone, which then stops things in order.
    detached: true,
  });
  const lines: string[] = [];
  let tell: ((line: string) => void) | undefined;
  for (const stream of [child.stdout, child.stderr].filter((one) => one !== null)) {
    createInterface({ input: stream }).on('line', (line) => {
      if (tell) return tell(line);
      lines.push(line);
      if (lines.length > linesKept) lines.shift();
    });
  }
  child.on('error', (error) => lines.push(error.message));
  const ended = once(child, 'close').then(
    () => undefined,
    () => undefined,
  );
  return {
    ended,
    log: () => lines,
    follow: (to) => {
      tell = to;
      lines.splice(0).forEach(to);
    },
    async ready(readinessUrl, signal) {
      const deadline = Date.now() + readyWithinMilliseconds;
      while (!(await answersOk(readinessUrl))) {
        signal.throwIfAborted();
        if (hasEnded(child))
          throw new Error(`the gateway ended (${child.exitCode ?? child.signalCode}):\n${lines.join('\n')}`);
        if (Date.now() > deadline)
          throw new Error(`the gateway is not ready after a minute:\n${lines.join('\n')}`);
        await sleep(50);
      }
    },
    async close() {
      if (!hasEnded(child)) child.kill('SIGTERM');
      const stopped = await Promise.race([
        ended.then(() => true),
        sleep(stopWithinMilliseconds, false, { ref: false }),
      ]);
      if (!stopped) killGroup(child);
      await ended;
    },
  };
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It ended meanwhile.
  }
}
