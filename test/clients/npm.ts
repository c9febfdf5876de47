import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../.cache', import.meta.url));

/** Packages that bring a hundred others: they are fetched for this suite only. */
const pinned = { 'mcp-remote': '0.15.1', mcporter: '0.12.3' } as const;

/** The folder of a package. It is fetched into the cache of the checkout where it is missing. */
export function fetchPackage(name: keyof typeof pinned): string {
  const prefix = join(cache, `npm-${name}-${pinned[name]}`);
  const folder = join(prefix, 'node_modules', name);
  // npm writes this file last.
  if (existsSync(join(prefix, 'node_modules', '.package-lock.json'))) return folder;
  mkdirSync(prefix, { recursive: true });
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent', '--save-exact'];
  execFileSync('npm', ['install', '--prefix', prefix, ...flags, `${name}@${pinned[name]}`], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return folder;
}
