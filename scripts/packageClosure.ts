/**
 * Prints the folders, below `node_modules`, of a package and of everything that it runs on, a line each:
 *
 *   node scripts/packageClosure.ts NAME
 *
 * `npm ls` cannot say it of a package that the gateway itself does not run on.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const modules = resolve(import.meta.dirname, '../node_modules');
const found = new Set<string>();

/** The folder where Node would find a package: the nearest `node_modules` that has it. */
function folderOf(name: string, from: string): string | undefined {
  const nested = join(from, 'node_modules', name);
  if (existsSync(join(nested, 'package.json'))) return nested;
  if (from === modules) {
    const top = join(modules, name);
    return existsSync(join(top, 'package.json')) ? top : undefined;
  }
  return folderOf(name, from.startsWith(`${modules}/`) ? join(from, '..') : modules);
}

function add(name: string, from: string, optional: boolean): void {
  const folder = folderOf(name, from);
  if (folder === undefined) {
    if (optional) return;
    throw new Error(`there is no ${name} for ${relative(modules, from)}: npm ci`);
  }
  if (found.has(folder)) return;
  found.add(folder);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as { readonly [field: string]: Readonly<Record<string, string>> | undefined };
  for (const dependency of Object.keys(dependencies))
    add(dependency, folder, dependency in optionalDependencies);
  for (const dependency of Object.keys(optionalDependencies)) add(dependency, folder, true);
}

const [name] = process.argv.slice(2);
if (name === undefined) throw new Error('usage: node scripts/packageClosure.ts NAME');
add(name, modules, false);
for (const folder of [...found].toSorted()) console.log(relative(modules, folder));
