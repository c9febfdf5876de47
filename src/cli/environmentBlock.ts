import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { messageOf } from '../errorText.ts';
import { environmentVariable } from '../model/index.ts';
import type { Terminal } from './command.ts';
import { ownProgram } from './ownProgram.ts';

/** Memory of the system that looks like a folder: what is written there never reaches a disk. */
const memoryFolder = '/dev/shm';

/**
 * Takes variables out of the environment block of this process, which every process of the same user can read
 * (`/proc/PID/environ`). A block cannot be changed, so the process starts its own program anew: with the same process id,
 * a block without these variables, and their values on descriptor 0. `bin/portcullis` puts them back into `process.env`.
 *
 * @returns where nothing was to be done, or why it cannot be done. It does not return where it was done
 */
export async function leaveBlockWithout(
  names: () => Promise<readonly string[]>,
  { tethered }: Pick<Terminal, 'tethered'>,
): Promise<string | undefined> {
  // A terminal without this field is not that of a process: a test, which must go on.
  if (process.platform !== 'linux' || tethered === undefined) return undefined;
  const exposed = exposedNames(await names());
  if (exposed.length === 0) return undefined;
  // A parent that speaks to this process over another descriptor would lose it.
  if (process.send !== undefined) return 'a parent process holds a channel to this process';
  if (tethered) return 'a launcher holds a pipe to this process, and keeps the variables in its own block';
  const { execve } = process;
  if (execve === undefined) return `Node ${process.versions.node} cannot start its own program anew`;
  const values = Object.fromEntries(exposed.map((name) => [name, process.env[name]]));
  try {
    stdinFrom(JSON.stringify(values));
    const env = Object.entries(process.env).filter(([name]) => !exposed.includes(name));
    execve(process.execPath, [process.argv0, ...ownProgram().args], {
      ...Object.fromEntries(env),
      [environmentVariable]: '0',
    });
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** The variables that the environment block of this process shows. */
function exposedNames(names: readonly string[]): readonly string[] {
  try {
    const block = new Set(
      readFileSync('/proc/self/environ', 'latin1')
        .split('\0')
        .map((entry) => entry.split('=', 1)[0]),
    );
    return [...new Set(names)].filter((name) => block.has(name) && process.env[name] !== undefined);
  } catch {
    // Without /proc nobody reads the block there.
    return [];
  }
}

/** Puts a text on descriptor 0: the one that a program started anew keeps, and that Node can choose. */
function stdinFrom(text: string): void {
  const path = `${memoryFolder}/portcullis-${randomUUID()}`;
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  try {
    // The system gives the lowest descriptor that is free.
    closeSync(0);
    openSync(path, 'r');
  } finally {
    unlinkSync(path);
  }
}
