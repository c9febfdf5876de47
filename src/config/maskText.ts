import { eachSecretField } from '../schema/index.ts';
import type { Path } from './path.ts';
import { documentSchema } from './schema/document.ts';
import { readTree, type Extent } from './tree.ts';

/** A variable in place of a value tells no secret. */
const isVariable = (text: string): boolean => /^["']?\$(?:\w+|\{\w+\})["']?$/.test(text);

/** Judges names and values that no schema marks. */
export interface SecretTests {
  readonly isSecretName: (name: string) => boolean;
  /** The value has a part with the form of a secret, such as a password in an address. */
  readonly holdsSecret: (value: string) => boolean;
}

/**
 * Replaces the secrets that stand in the text of a configuration: values of the fields that the schema marks, and of
 * fields whose name or value looks like a secret. Values that no field has, because a merge is overridden, count as
 * secrets. The configuration need not fit the schema. Comments stay.
 * @returns undefined for a text that is no YAML or gives a field twice: its secrets have no place
 */
export function maskText(
  text: string,
  mark: string,
  { isSecretName, holdsSecret }: SecretTests,
): string | undefined {
  const tree = readTree(text, '', {}, () => true);
  if (tree.value === undefined || tree.problems.length > 0) return undefined;
  const extents = new Map<number, Extent>();
  const inUse = new Set<number>();
  const mask = (extent: Extent | undefined): void => {
    if (extent !== undefined && !isVariable(text.slice(...extent))) extents.set(extent[0], extent);
  };
  eachSecretField(documentSchema, tree.value, (field, { kind, masked }) => {
    if (kind === 'variable' && masked !== 'field') return;
    for (const path of leaves(valueAt(tree.value, field), field)) mask(tree.extent(path));
  });
  for (const path of leaves(tree.value, [])) {
    const value = valueAt(tree.value, path);
    const extent = tree.extent(path);
    if (extent !== undefined) inUse.add(extent[0]);
    if (
      path.some((part) => typeof part === 'string' && isSecretName(part) && part !== 'authorization') ||
      (typeof value === 'string' && holdsSecret(value))
    )
      mask(extent);
  }
  for (const extent of tree.overridden()) if (!inUse.has(extent[0])) mask(extent);
  let masked = text;
  for (const [start, end] of [...extents.values()].toSorted(([a], [b]) => b - a))
    masked = `${masked.slice(0, start)}${JSON.stringify(mark)}${masked.slice(start, end).endsWith('\n') ? '\n' : ''}${masked.slice(end)}`;
  return masked;
}

function valueAt(document: unknown, path: Path): unknown {
  let here = document;
  for (const part of path)
    here =
      typeof here === 'object' && here !== null
        ? (here as Record<string | number, unknown>)[part]
        : undefined;
  return here;
}

/** The paths of the scalars in a value. */
function* leaves(value: unknown, path: Path): Iterable<Path> {
  if (typeof value !== 'object' || value === null) {
    if (value !== undefined) yield path;
    return;
  }
  for (const [key, member] of Array.isArray(value) ? value.entries() : Object.entries(value))
    yield* leaves(member, [...path, key]);
}
