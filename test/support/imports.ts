/** The imports between the files of src/, as their text has them: for the tests of its structure. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Paths relative to src/, and the text of each file. */
export type Tree = ReadonlyMap<string, string>;

export interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  /** `import()`, which loads the file when it runs. */
  readonly lazy: boolean;
}

/** An import of another file of the tree. */
interface FileImport extends Import {
  /** Relative to src/. */
  readonly target: string;
}

const statement =
  /^\s*(?:import|export)\s+(type\s)?[^'";]*?\sfrom\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

export const importsOf = (text: string): Import[] =>
  Array.from(text.matchAll(statement), ([, type, from, bare, dynamic]) => ({
    specifier: from ?? bare ?? dynamic ?? '',
    typeOnly: type !== undefined,
    lazy: dynamic !== undefined,
  }));

/** The imports of a file by a relative path. */
export const fileImportsOf = (tree: Tree, path: string): FileImport[] =>
  importsOf(tree.get(path) ?? '')
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map((found) => ({ ...found, target: posix.join(dirname(path), found.specifier) }));

export const roomOf = (path: string): string => path.split('/')[0] ?? '';
export const isTest = (path: string): boolean =>
  /\.(?:test|testing)\.ts$/.test(path) || path.includes('/fixtures/');

/** The first circle found from each node, as `a → b → a`. */
export function circles(nodes: Iterable<string>, next: (node: string) => Iterable<string>): string[] {
  const found: string[] = [];
  const finished = new Set<string>();
  const visit = (node: string, trail: readonly string[]): void => {
    const at = trail.indexOf(node);
    if (at >= 0) {
      found.push([...trail.slice(at), node].join(' → '));
      return;
    }
    if (finished.has(node)) return;
    for (const other of next(node)) visit(other, [...trail, node]);
    finished.add(node);
  };
  for (const node of nodes) visit(node, []);
  return found;
}

const root = fileURLToPath(new URL('../../src/', import.meta.url));

/** Every file of src/. */
export const source: Tree = new Map(
  globSync('**/*.ts', { cwd: root }).map((path) => [path, readFileSync(root + path, 'utf8')]),
);
