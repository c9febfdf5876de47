import { eachSecretField } from '../schema/index.ts';
import type { Path } from './path.ts';
import { documentSchema } from './schema/document.ts';
import { readTree } from './tree.ts';

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
 * fields whose name or value looks like a secret. The configuration need not fit the schema. Comments stay.
 * @returns undefined for a text that is no YAML, whose secrets have no place
 */
export function maskText(
  text: string,
  mark: string,
  { isSecretName, holdsSecret }: SecretTests,
): string | undefined {
  const tree = readTree(text, '', {}, () => true);
  if (tree.value === undefined) return undefined;
  const extents = new Map<number, readonly [start: number, end: number]>();
  const mask = (path: Path): void => {
    const extent = tree.extent(path);
    if (extent !== undefined && !isVariable(text.slice(...extent))) extents.set(extent[0], extent);
  };
  eachSecretField(documentSchema, tree.value, (field, { kind, masked }) => {
    if (kind === 'variable' && masked !== 'field') return;
    for (const path of leaves(valueAt(tree.value, field), field)) mask(path);
  });
  for (const path of leaves(tree.value, [])) {
    const value = valueAt(tree.value, path);
    if (
      path.some((part) => typeof part === 'string' && isSecretName(part) && part !== 'authorization') ||
      (typeof value === 'string' && holdsSecret(value))
    )
      mask(path);
  }
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
