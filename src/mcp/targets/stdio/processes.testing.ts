/** Processes of tests that lead a group of their own, and whatever is left of them at the end. */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';

/** A shell that leads a process group and runs a script; it is killed with its group when the test ends. */
export async function startGroup(
  t: TestContext,
  script: string,
): Promise<ChildProcess & { readonly pid: number }> {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child, 'spawn');
  const { pid } = child;
  if (pid === undefined) throw new Error('a shell without a pid');
  t.after(() => {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The process group is gone.
    }
  });
  return Object.assign(child, { pid });
}
