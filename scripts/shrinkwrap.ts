/**
 * Prints the `npm-shrinkwrap.json` of the published package: the part of `package-lock.json` that the gateway runs on,
 * without packages for development and without those of the workspaces. An installation of the package then gets the
 * very versions and contents (by their hashes) that the tests ran with.
 *
 *   node scripts/shrinkwrap.ts
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';

interface Lock {
  readonly name: string;
  readonly version: string;
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const root = resolve(import.meta.dirname, '..');

/** The lock entries that the gateway runs on, by place (`node_modules/zod`). @throws Error before `npm ci` */
const shippedPlaces = (): ReadonlySet<string> =>
  new Set(
    execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable', '--long', '--workspaces=false'], {
      cwd: root,
      encoding: 'utf8',
    })
      .split('\n')
      // `path:name@version`, and `:EXTRANEOUS` behind what the install script of a package brought.
      .filter((line) => line.startsWith(`${root}/node_modules/`) && !line.endsWith(':EXTRANEOUS'))
      .map((line) => relative(root, line.slice(0, line.indexOf(':', root.length)))),
  );

const lock = JSON.parse(readFileSync(resolve(root, 'package-lock.json'), 'utf8')) as Lock;
const own = Object.fromEntries(
  Object.entries(lock.packages[''] ?? {}).filter(
    ([field]) => field !== 'devDependencies' && field !== 'workspaces',
  ),
);
const places = shippedPlaces();
const packages = Object.fromEntries(Object.entries(lock.packages).filter(([place]) => places.has(place)));
if (Object.keys(packages).length !== places.size)
  throw new Error('node_modules and package-lock.json differ: npm ci');
console.log(
  JSON.stringify(
    {
      name: lock.name,
      version: lock.version,
      lockfileVersion: lock.lockfileVersion,
      requires: true,
      packages: { '': own, ...packages },
    },
    undefined,
    2,
  ),
);
