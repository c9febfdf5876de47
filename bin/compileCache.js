// @ts-check
// Keeps what Node makes of the program (types removed, code compiled) for the next process. Half of the start of a
// gateway goes into this work. Node runs what it finds in a cache, so only the user of the process may write there: a
// checkout has its cache in its own folder, an installed package in the cache folder of the user.
// Plain JavaScript that any Node since 14 can read.
import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

/** @returns {string | undefined} the folder of an installed package; undefined where no safe one can be had */
function folderOfUser() {
  const { env, getuid } = process;
  const caches = env.XDG_CACHE_HOME || (env.HOME && join(env.HOME, '.cache'));
  // Windows has no such variables, and no owners that could be compared.
  if (!caches || getuid === undefined) return undefined;
  const folder = join(caches, 'portcullis');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // With sudo, HOME may be that of another user.
    for (const one of [caches, folder]) {
      const found = lstatSync(one);
      if (!found.isDirectory() || found.uid !== getuid() || (found.mode & 0o022) !== 0) return undefined;
    }
    return folder;
  } catch {
    return undefined;
  }
}

const folder = existsSync(join(root, 'src')) ? join(root, '.cache', 'compile') : folderOfUser();
// Without permission to write there, or in a Node that has no cache, a process compiles everything itself.
if (folder !== undefined) module.enableCompileCache?.(folder);
