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

/** Makes a folder with the mode 0700 below the temporary folder. @throws Error where that is not possible */
export function makePrivateFolder({ uid = same, gid = same }: FolderOwner): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-child-'));
  if (uid !== same || gid !== same) chownSync(folder, uid, gid);
  return folder;
}

/**
 * Removes the folder with all that is in it. A process of its owner may still replace a folder by a link to another
 * place, so another owner removes the contents with no more rights than its own. Never rejects.
 */
export async function removePrivateFolder(folder: string, { uid, gid }: FolderOwner): Promise<void> {
  try {
    if (uid === undefined) await rm(folder, { recursive: true, force: true });
    else
      await once(
        spawn('rm', ['-rf', '--', folder], {
          uid,
          ...(gid === undefined ? {} : { gid }),
          cwd: '/',
          stdio: 'ignore',
        }),
        'close',
      );
  } catch {
    // The folder stays for the clean-up of the temporary folder.
  }
}
