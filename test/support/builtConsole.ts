import { execFileSync } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Builds the console where its build is missing, or older than its sources. Only one test file may ask for it, because
 * builds at the same time would disturb each other.
 * @returns the folder of the built files
 * @throws Error when the build fails
 */
export function builtConsole(): string {
  const folder = join(root, 'ui/dist');
  const sources = ['ui/src/**/*', 'ui/{index.html,package.json,vite.config.ts}', 'package-lock.json'];
  const changed = Math.max(...globSync(sources, { cwd: root }).map((path) => modified(join(root, path))));
  if (modified(join(folder, 'index.html')) <= changed)
    execFileSync(
      process.execPath,
      [join(root, 'node_modules/vite/bin/vite.js'), 'build', 'ui', '--logLevel', 'warn'],
      { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
    );
  return folder;
}

/** The time of the last change; 0 for a missing file. */
const modified = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
