/** The words that an expression may have at a place. The gateway names them; the console keeps no list of its own. */

import type { ExpressionWords } from '../api/types.ts';

/** A word to offer. */
export interface CelWord {
  readonly label: string;
  /** The type of a variable, or the arguments and the result of a call. */
  readonly detail: string;
  /** All forms of a call; absent for variables. */
  readonly signatures?: readonly string[];
}

/** Members of maps whose members the gateway cannot know beforehand, by the name of the map. */
export type KnownMembers = Readonly<Record<string, readonly string[]>>;

export interface WordsAt {
  /** The beginning of the word at the cursor. */
  readonly from: number;
  readonly words: readonly CelWord[];
}

type FunctionWord = ExpressionWords['functions'][number];

/**
 * The words for the end of a text.
 * @param before the expression up to the cursor
 */
export function wordsAt(before: string, all: ExpressionWords, known: KnownMembers): WordsAt {
  const from = /[A-Za-z_]\w*$/.exec(before)?.index ?? before.length;
  const left = before.slice(0, from);
  return { from, words: left.endsWith('.') ? members(left.slice(0, -1), all, known) : names(all) };
}

/** The words that stand alone. */
const names = ({ variables, functions }: ExpressionWords): CelWord[] => [
  ...variables.map(({ name, type }) => ({ label: name, detail: type })),
  ...functions.filter(({ on }) => on === undefined).map((each) => callWord(each, each.name)),
];

/** The words after a value and a dot. */
function members(value: string, { variables, functions }: ExpressionWords, known: KnownMembers): CelWord[] {
  const path = pathOf(value);
  const inside = below(path, functions).map(({ label, each }) => callWord(each, label));
  // `math.` and the like begin the names of functions, and are no values.
  if (inside.length > 0) return inside;
  const type = variables.find(({ name }) => name === path)?.type ?? (/["']$/.test(value) ? 'string' : 'dyn');
  const methods = functions.filter(
    ({ on = [] }) => on.includes(type) || on.includes('dyn') || (type === 'dyn' && on.length > 0),
  );
  return [
    ...below(path, variables).map(({ label, each }) => ({ label, detail: each.type })),
    ...(known[path] ?? []).filter(isName).map((label) => ({ label, detail: 'dyn' })),
    ...methods.map((each) => callWord(each, each.name)),
  ];
}

/** The dotted name that a value is; empty for the result of a call and the like. */
function pathOf(value: string): string {
  const [path = ''] = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/.exec(value) ?? [];
  return /[.\w)\]"']$/.test(value.slice(0, value.length - path.length)) ? '' : path;
}

/** Names one level below a path, with the parts after it. */
const below = <T extends { readonly name: string }>(path: string, list: readonly T[]) =>
  path === ''
    ? []
    : list.flatMap((each) => {
        const label = each.name.slice(path.length + 1);
        return each.name.startsWith(`${path}.`) && isName(label) ? [{ label, each }] : [];
      });

const isName = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text);

function callWord({ name, signatures }: FunctionWord, label: string): CelWord {
  const [first = ''] = signatures;
  return { label, detail: first.slice(first.indexOf(`${name}(`) + name.length), signatures };
}
