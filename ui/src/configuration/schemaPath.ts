/** The place of a line in a YAML text, by its indentation, so that it also works while the text is incomplete. */

/** A step is the name of a field, or `[]` for an entry of a list. */
export type Step = string;

interface Line {
  readonly indent: number;
  /** Columns of the dashes of list entries that begin in the line. */
  readonly dashes: readonly number[];
  readonly key: string | undefined;
}

/** Splits a line into its dashes and its key; undefined for blank lines and comments. */
function lineOf(text: string): Line | undefined {
  if (/^\s*(?:#.*)?$/.test(text)) return undefined;
  const dashes: number[] = [];
  let at = /^ */.exec(text)?.[0].length ?? 0;
  while (/^-(?: |$)/.test(text.slice(at))) {
    dashes.push(at);
    at += 1;
    while (text[at] === ' ') at += 1;
  }
  const [, quoted, plain] =
    /^(?:["']([^"']+)["']|([^\s#"'{}[\],:][^:#]*?))\s*:(?:\s|$)/.exec(text.slice(at)) ?? [];
  return { indent: at, dashes, key: quoted ?? plain };
}

/**
 * The fields around a place.
 * @param lines the text up to the line of the place
 * @param column the column at which the word of the place begins, counted from 0
 * @returns the steps from the root to the mapping that a word at the place belongs to
 */
export function pathAt(lines: readonly string[], column: number): readonly Step[] {
  const steps: Step[] = [];
  let below = column;
  const own = lineOf(lines.at(-1) ?? '');
  for (const dash of own?.dashes.toReversed() ?? [])
    if (dash < below) {
      steps.unshift('[]');
      below = dash;
      // A list may stand as far left as the field that holds it.
      below += 0.5;
    }
  for (const text of lines.slice(0, -1).toReversed()) {
    const line = lineOf(text);
    if (line === undefined) continue;
    if (line.key !== undefined && line.indent < below) {
      steps.unshift(line.key);
      below = line.indent;
    }
    for (const dash of line.dashes.toReversed())
      if (dash < below) {
        steps.unshift('[]');
        below = dash + 0.5;
      }
    if (below === 0) break;
  }
  return steps;
}
