import { execFileSync } from 'node:child_process';
import { globSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Builds the console where its build is missing, or older than its sources. Test files that build at the same time do
 * not disturb each other: each build takes its place as a whole.
 * @returns the folder of the built files
 * @throws Error when the build fails
 */
export function builtConsole(): string {
  const folder = join(root, 'ui/dist');
  const sources = ['ui/src/**/*', 'ui/{index.html,package.json,vite.config.ts}', 'package-lock.json'];
  const changed = Math.max(...globSync(sources, { cwd: root }).map((path) => modified(join(root, path))));
  if (modified(join(folder, 'index.html')) > changed) return folder;
  const next = `${folder}-${process.pid}`;
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  execFileSync(
    process.execPath,
    [vite, 'build', 'ui', '--outDir', next, '--emptyOutDir', '--logLevel', 'warn'],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  replace(folder, next);
  return folder;
}

/** Puts a folder in the place of another one, unless another process was faster. */
function replace(folder: string, next: string): void {
  const old = `${next}-old`;
  try {
    renameSync(folder, old);
  } catch {
    // There was none, or another process has moved it.
  }
  try {
    renameSync(next, folder);
  } catch {
    rmSync(next, { recursive: true, force: true });
  }
  rmSync(old, { recursive: true, force: true });
}

/** The time of the last change; 0 for a missing file. */
const modified = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
