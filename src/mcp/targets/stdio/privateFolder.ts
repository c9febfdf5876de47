import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface FolderOwner {
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
}

/** The owner stays as it is. */
const same = -1;
/** The time for a removal, in milliseconds: the slot of the child and the shutdown of the gateway wait for it. */
const removalMs = 5_000;

/** Makes a folder with the mode 0700 below the temporary folder. @throws Error where that is not possible */
export function makePrivateFolder({ uid = same, gid = same }: FolderOwner): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-child-'));
  if (uid !== same || gid !== same) chownSync(folder, uid, gid);
  return folder;
}

/**
 * Removes the folder with all that is in it. A process of its owner may still replace a folder by a link to another
 * place, so another owner removes the contents with no more rights than its own. Never rejects.
 * @param limit ends the wait
 */
export async function removePrivateFolder(
  folder: string,
  { uid, gid }: FolderOwner,
  limit = AbortSignal.timeout(removalMs),
): Promise<void> {
  try {
    if (uid === undefined)
      await Promise.race([rm(folder, { recursive: true, force: true }), once(limit, 'abort')]);
    else await removeAs(folder, { uid, ...(gid === undefined ? {} : { gid }) }, limit);
  } catch {
    // The folder stays for the clean-up of the temporary folder.
  }
}

/** Other processes of the owner can read the environment of this one, and stop it for good. */
async function removeAs(
  folder: string,
  owner: { readonly uid: number; readonly gid?: number },
  signal: AbortSignal,
): Promise<void> {
  const program = spawn('rm', ['-rf', '--', folder], {
    ...owner,
    env: { PATH: process.env['PATH'] },
    cwd: '/',
    stdio: 'ignore',
    signal,
    killSignal: 'SIGKILL',
  });
  try {
    await once(program, 'close');
  } finally {
    // A gateway without the right to kill the program must not wait for it at its end.
    program.unref();
  }
}
