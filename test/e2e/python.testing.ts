import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../../.cache', import.meta.url));

/** A folder with a Python package and all that it needs; or the reason why there is none. */
export type Installed = { readonly folder: string } | { readonly missing: string };

/** @param requirement a package with its exact version, as pip names it */
export function installPython(requirement: string): Installed {
  let version: string;
  try {
    version = execFileSync('python3', ['-c', 'import sys, pip; print("%d.%d" % sys.version_info[:2])'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return { missing: 'python3 with pip is not installed' };
  }
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 10))
    return { missing: `python3 is ${version}; ${requirement} needs 3.10` };
  const folder = join(cache, `python-${version}-${requirement.replace('==', '-')}`);
  if (existsSync(folder)) return { folder };
  mkdirSync(cache, { recursive: true });
  // Filled under another name, so that a run that is broken off leaves no half folder behind.
  const filling = mkdtempSync(join(cache, 'filling-'));
  try {
    execFileSync(
      'python3',
      ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', filling, requirement],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    if (!existsSync(folder)) renameSync(filling, folder);
    return { folder };
  } catch (error) {
    // A developer may be offline; the run that decides must not be.
    if (process.env['CI'] !== undefined) throw error;
    return { missing: `${requirement} cannot be installed: ${(error as Error).message}` };
  } finally {
    rmSync(filling, { recursive: true, force: true });
  }
}
