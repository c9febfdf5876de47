import type { z } from 'zod';
import { blankMessages, problemsOf } from './issues.ts';
import { valueAt, type Path } from './path.ts';
import type { Problem } from './problem.ts';
import type { DocumentSettings } from './schema/document.ts';
import { documentSchema } from './schema/document.ts';
import type { Tree } from './tree.ts';

export interface Checked {
  /** Present where the document fits the schema. */
  readonly settings: DocumentSettings | undefined;
  readonly problems: readonly Problem[];
  /** The plain data after quoted numbers and bare texts were read as what their fields take. */
  readonly value: unknown;
}

/**
 * Checks the shape of a document. Where a text is expected and a plain `8080` or `true` stands, it is taken as
 * written; where a number, `true` or `false` is expected and stands in quotes, it is read. YAML cannot know which was
 * meant, and a variable can turn one into the other (`port: "${PORT}"`, `env: {TOKEN: $TOKEN}`).
 */
export function validate(tree: Tree, file: string): Checked {
  let value = tree.value;
  // Each round can uncover fields below a map that did not fit before; the number of rounds is small but not one.
  for (let round = 0; round < 8; round++) {
    const result = documentSchema.safeParse(value, { error: blankMessages });
    if (result.success) return { settings: result.data, problems: [], value };
    const mended = mend(value, result.error.issues, tree);
    if (mended === undefined)
      return { settings: undefined, problems: problemsOf(result.error.issues, value, tree, file), value };
    value = mended;
  }
  throw new Error('the validation of a configuration did not finish');
}

/** A copy in which scalars of the wrong type are replaced by what their text means; undefined where there are none. */
function mend(value: unknown, issues: readonly z.core.$ZodIssue[], tree: Tree): unknown {
  const changes: { path: Path; to: unknown }[] = [];
  for (const issue of issues.flatMap(alternatives)) {
    if (issue.code !== 'invalid_type') continue;
    const path = issue.path as Path;
    const to = reading(issue.expected, path, valueAt(value, path), tree);
    if (to !== undefined) changes.push({ path, to });
  }
  if (changes.length === 0) return undefined;
  const copy: unknown = structuredClone(value);
  for (const { path, to } of changes) {
    const parent = valueAt(copy, path.slice(0, -1));
    const key = path.at(-1);
    if (typeof parent === 'object' && parent !== null && key !== undefined)
      (parent as Record<string | number, unknown>)[key] = to;
  }
  return copy;
}

/** A field that takes a text or a map takes the text that a plain scalar is written with. */
function alternatives(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const text = issue.errors.flat().find((one) => one.code === 'invalid_type' && one.expected === 'string');
  return text?.path.length === 0 ? [{ ...text, path: issue.path }] : [];
}

function reading(expected: string, path: Path, value: unknown, tree: Tree): unknown {
  const written = tree.written(path);
  if (written === undefined) return undefined;
  if (expected === 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? written.text : undefined;
  if (typeof value !== 'string' || written.plain) return undefined;
  if (expected === 'number' || expected === 'int')
    return /^-?\d{1,15}$/.test(value) ? Number(value) : undefined;
  if (expected === 'boolean') return value === 'true' ? true : value === 'false' ? false : undefined;
  return undefined;
}
