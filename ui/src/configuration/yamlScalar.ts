/** Finds a text of a YAML document by its field path, and writes another one in its place. All else stays. */

import { yamlLanguage } from '@codemirror/lang-yaml';

type Node = ReturnType<typeof yamlLanguage.parser.parse>['topNode'];

/** A part of a text. */
export interface Extent {
  readonly from: number;
  readonly to: number;
}

/** A field that was found in a document. */
export interface Found extends Extent {
  /** The text of a scalar; absent for mappings, lists, aliases and values with an anchor. */
  readonly scalar?: string;
  /** Fields of a mapping by their names. */
  readonly fields: ReadonlyMap<string, Found>;
  /** Writes another text in the place of this value. */
  readonly write: (value: string) => string;
}

const collections = new Set(['BlockMapping', 'FlowMapping', 'BlockSequence', 'FlowSequence']);

/**
 * The value at a field path, such as `binds[0].listeners[0]`.
 * @returns undefined where the document has no such field
 */
export function fieldIn(text: string, path: string): Found | undefined {
  let here = valueOf(yamlLanguage.parser.parse(text).topNode.getChild('Document'));
  for (const step of stepsOf(path)) {
    if (here === undefined) return undefined;
    here = typeof step === 'number' ? valueOf(here.getChildren('Item')[step]) : pairsOf(text, here).get(step);
  }
  return here && foundAt(text, here);
}

const stepsOf = (path: string): readonly (string | number)[] =>
  [...path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|([^.[\]]+)/g)].map(([, index, quoted, plain = '']) =>
    index !== undefined ? Number(index) : quoted === undefined ? plain : (JSON.parse(quoted) as string),
  );

function foundAt(text: string, node: Node): Found {
  const scalar = scalarOf(text, node);
  const isMapping = node.name.endsWith('Mapping');
  return {
    from: node.from,
    to: node.to,
    ...(scalar !== undefined && { scalar }),
    fields: new Map(
      isMapping ? [...pairsOf(text, node)].map(([name, value]) => [name, foundAt(text, value)] as const) : [],
    ),
    write: (value) => written(text, node, value),
  };
}

/** The value below a document, an item or a pair. */
function valueOf(node: Node | null | undefined): Node | undefined {
  for (let child = node?.firstChild ?? null; child !== null; child = child.nextSibling)
    if (collections.has(child.name) || /(?:Literal|Alias|Anchored|Tagged)$/.test(child.name)) return child;
  return undefined;
}

function pairsOf(text: string, mapping: Node): ReadonlyMap<string, Node> {
  const pairs = new Map<string, Node>();
  for (const pair of mapping.getChildren('Pair')) {
    const key = pair.getChild('Key')?.firstChild;
    const value = valueOf(pair);
    const name = key ? scalarOf(text, key) : undefined;
    if (name !== undefined && value !== undefined) pairs.set(name, value);
  }
  return pairs;
}

/** The text of a scalar; line breaks that YAML folds are spaces. */
function scalarOf(text: string, { name, from, to }: Node): string | undefined {
  const raw = text.slice(from, to);
  if (name === 'Literal') return raw.replace(/\s*\n\s*/g, ' ');
  if (name === 'BlockLiteral') return raw.slice(raw.indexOf('\n') + 1);
  if (name !== 'QuotedLiteral') return undefined;
  const folded = raw.replace(/\s*\n\s*/g, ' ');
  if (folded.startsWith("'")) return folded.slice(1, -1).replaceAll("''", "'");
  try {
    return JSON.parse(folded) as string;
  } catch {
    // YAML has escapes that JSON lacks.
    return undefined;
  }
}

/** A text as a scalar: plain where it was plain and still can be, quoted otherwise, a block for several lines. */
function written(text: string, node: Node, value: string): string {
  const isInFlow = parentOf(node, /^Flow(?:Mapping|Sequence)$/) !== undefined;
  if (/[\n\t]/.test(value)) {
    // A comment behind the value would be a part of the block.
    const isFollowed = node.name !== 'BlockLiteral' && /^[^\S\n]*\S/.test(text.slice(node.to));
    if (isInFlow || isFollowed || /^\s|\t|\n\s*\n$/.test(value)) return JSON.stringify(value);
    const owner = parentOf(node, /^(?:Pair|Item)$/)?.from ?? 0;
    const indent = ' '.repeat(owner - (text.lastIndexOf('\n', owner - 1) + 1) + 2);
    const lines = value.trimEnd().split('\n');
    return `|-\n${lines.map((line) => (line === '' ? '' : indent + line)).join('\n')}`;
  }
  const wasPlain = node.name === 'Literal';
  return wasPlain && !isInFlow && isPlain(value) ? value : `'${value.replaceAll("'", "''")}'`;
}

function parentOf(node: Node, name: RegExp): Node | undefined {
  for (let { parent } = node; parent !== null; parent = parent.parent)
    if (name.test(parent.name)) return parent;
  return undefined;
}

/** Certainly a text without quotes, and nothing that YAML reads as another type or as a comment. */
const isPlain = (value: string): boolean =>
  /^[A-Za-z_(][^\n]*\S$/.test(value) &&
  !/:(?:\s|$)|\s#/.test(value) &&
  !/^(?:true|false|null|yes|no|on|off)$/i.test(value);
