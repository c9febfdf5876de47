import { literalPaths } from '../schema/index.ts';
import type { Path } from './path.ts';
import { documentSchema } from './schema/document.ts';

/** The paths of literal fields; found once, when the first text with a dollar is read. */
let known: readonly (readonly string[])[] | undefined;

/** Is the text at a path of a document taken as it is written, without variables? */
export function isLiteral(path: Path): boolean {
  known ??= literalPaths(documentSchema);
  return known.some(
    (one) => one.length === path.length && one.every((part, index) => part === '*' || part === path[index]),
  );
}
