import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  Scalar,
  visit,
  type Alias,
  type Document,
  type Node,
  type ParsedNode,
  type YAMLMap,
} from 'yaml';
import { ComposeError, composeYaml } from '../files/index.ts';
import { formatPath, type Path } from './path.ts';
import type { Problem } from './problem.ts';
import { readPlain, sourceOffset } from './scalar.ts';
import { expand, mayExpand, type Environment, type Expansion } from './variables.ts';

/** A YAML document as plain data that remembers where each piece of it was written. */
export interface Tree {
  /**
   * Objects, lists, strings, numbers and booleans. A key without a value (`routes:`) is there with `undefined`, so
   * that it counts as left out but its name is still checked.
   */
  readonly value: unknown;
  /** Problems of the text itself: grammar, duplicate keys, variables. */
  readonly problems: readonly Problem[];
  /** Paths that have a problem already; what a schema says about them would only repeat it. */
  readonly faulty: ReadonlySet<string>;
  /** Names of the variables that the text names. */
  readonly variables: ReadonlySet<string>;
  /** The place of a field: of its value, or of its key. A field that is not there has the place of its parent. */
  place(path: Path, part: 'key' | 'value', offset?: number): Required<Pick<Problem, 'line' | 'column'>>;
  /** The text of a scalar as written, after variables were put in; undefined for maps and lists. */
  written(path: Path): Written | undefined;
  /** The offsets of a scalar in the text, quotes included; undefined for maps and lists. */
  extent(path: Path): Extent | undefined;
  /** The scalars that a merge key brings, and that its map overrides. An anchor may give them to another field. */
  overridden(): Iterable<Extent>;
}

/** The offsets of a scalar in the text. */
export type Extent = readonly [start: number, end: number];

interface Written {
  readonly text: string;
  /** False where quotes or a block make it a string whatever it says. */
  readonly plain: boolean;
  /** Names of the variables that it was made of. */
  readonly variables: readonly string[];
}

/**
 * The place where a field was written. There are as many as values: what they share with the nodes of the text is
 * not copied.
 */
interface Spot {
  readonly key: number | undefined;
  readonly value: number;
  readonly scalar: Scalar.Parsed | undefined;
  /** Absent where the text names no variable. */
  readonly expansion: Expansion | undefined;
  /** The parts of a map or list, by key or index. */
  parts: Map<string | number, Spot> | undefined;
}

/** Values of the text itself: 100 000 routes of an ordinary length have fewer. */
const maxNodes = 1_000_000;
/** An alias may repeat a piece, but not without end ("billion laughs"). */
const maxRepeated = 100_000;
const maxDepth = 64;
/** The parser keeps a few tokens for each level. More than this is refused before memory is spent on it. */
const maxOpenTokens = 4 * maxDepth;
/** A value takes about five tokens of the text, with its key, its colon and white space. */
const maxTokens = 5 * maxNodes;
/** A broken text can give an error for each of its lines; the first ones tell enough. */
const maxFaults = 20;

/**
 * Reads YAML 1.2 (merge keys included) and puts variables into its scalar values. Never throws.
 * @param isLiteral Tells whether the text at a path is taken as it is written.
 */
export function readTree(
  text: string,
  file: string,
  env: Environment,
  isLiteral: (path: Path) => boolean = () => false,
): Tree {
  return new TreeReader(text, file, env, isLiteral).read();
}

const tooManyValues = `has more than ${maxNodes} values: split it, or use fewer routes`;

class TreeReader {
  readonly #text: string;
  readonly #file: string;
  readonly #env: Environment;
  readonly #isLiteral: (path: Path) => boolean;
  readonly #lines = new LineCounter();
  readonly #problems: Problem[] = [];
  readonly #faulty = new Set<string>();
  readonly #variables = new Set<string>();
  /** The place of the whole document. */
  #top: Spot | undefined;
  /** Values that a merge key brings, and that fields of its map override. */
  readonly #overridden: Spot[] = [];
  /** The value of each alias: resolved in one pass, because yaml's own way walks the document every time. */
  readonly #aliases = new Map<Alias, Node>();
  /** Targets that are being read; an alias to one of them would never end. */
  readonly #entered = new Set<Node>();
  #nodes = 0;
  /** Values that aliases repeat. */
  #repeated = 0;
  #exhausted = false;

  constructor(text: string, file: string, env: Environment, isLiteral: (path: Path) => boolean) {
    this.#text = text;
    this.#file = file;
    this.#env = env;
    this.#isLiteral = isLiteral;
  }

  read(): Tree {
    const value = this.#readText();
    return {
      value,
      problems: this.#problems,
      faulty: this.#faulty,
      variables: this.#variables,
      place: (path, part, offset) => this.#place(path, part, offset),
      written: (path) => this.#written(path),
      extent: (path) => extentOf(this.#spot(path)),
      overridden: () => this.#overridden.flatMap((spot) => [...extentsIn(spot)]),
    };
  }

  #readText(): unknown {
    let document: Document.Parsed;
    try {
      document = composeYaml(this.#text, { maxOpenTokens, maxTokens }, this.#lines);
      this.#resolveAliases(document);
    } catch (error) {
      if (error instanceof ComposeError)
        this.#report(error.offset, [], error.reason === 'depth' ? error.message : tooManyValues);
      else this.#problems.push({ file: this.#file, path: '', message: 'cannot be parsed' });
      return undefined;
    }
    const faults = [...document.errors, ...document.warnings];
    for (const fault of faults.slice(0, maxFaults))
      this.#report(fault.pos[0], [], yamlMessage(fault.code, fault.message));
    if (faults.length > 0 || document.contents === null) return undefined;
    const value = this.#node(document.contents, [], undefined, undefined);
    return this.#exhausted ? undefined : value;
  }

  /** @param above the spot of what the node stands in */
  #node(node: ParsedNode, path: Path, key: number | undefined, above: Spot | undefined): unknown {
    if (this.#isTooMuch(node, path)) return undefined;
    if (isAlias(node)) return this.#through(node, path, (target) => this.#node(target, path, key, above));
    if (isScalar(node)) return this.#scalar(node as Scalar.Parsed, path, key, above);
    const spot = this.#note(path, above, {
      key,
      value: node.range[0],
      scalar: undefined,
      expansion: undefined,
      parts: undefined,
    });
    if (isSeq(node))
      return node.items.map(
        (item, index) => this.#node(item as ParsedNode, [...path, index], undefined, spot) ?? null,
      );
    const target: Record<string, unknown> = {};
    this.#fill(target, node, path, spot);
    return target;
  }

  /** Counts a value. From the first one too many on, nothing more is read. */
  #isTooMuch(node: ParsedNode, path: Path): boolean {
    if (this.#exhausted) return true;
    const repeated = this.#entered.size > 0;
    if (repeated) this.#repeated += 1;
    else this.#nodes += 1;
    const problem =
      path.length > maxDepth
        ? 'is nested too deeply'
        : this.#nodes > maxNodes
          ? tooManyValues
          : this.#repeated > maxRepeated
            ? `repeats more than ${maxRepeated} values by its aliases (do they repeat each other?)`
            : undefined;
    if (problem === undefined) return false;
    this.#report(node.range[0], path.slice(0, 4), problem);
    this.#exhausted = true;
    return true;
  }

  /** Fields of a map; those that a merge key brings are overridden by the map's own. */
  #fill(target: Record<string, unknown>, map: YAMLMap.Parsed, path: Path, spot: Spot): void {
    for (const pair of map.items) {
      const key = pair.key as Scalar.Parsed;
      if (isMergeKey(key)) this.#merge(target, pair.value, path, spot);
    }
    const own = new Set<string>();
    for (const pair of map.items) {
      const key = pair.key as Scalar.Parsed;
      const name = String(key.value);
      if (isMergeKey(key)) continue;
      if (own.has(name)) {
        this.#report(key.range[0], [...path, name], 'this field was given before');
        continue;
      }
      own.add(name);
      if (name === '__proto__') {
        this.#report(key.range[0], [...path, name], 'is not a possible field name');
        continue;
      }
      const [at] = key.range;
      const below = [...path, name];
      if (pair.value === null) {
        this.#note(below, spot, {
          key: at,
          value: at,
          scalar: undefined,
          expansion: undefined,
          parts: undefined,
        });
        target[name] = undefined;
      } else target[name] = this.#node(pair.value, below, at, spot) ?? undefined;
    }
  }

  #merge(target: Record<string, unknown>, node: ParsedNode | null, path: Path, spot: Spot): void {
    if (node === null || this.#isTooMuch(node, path)) return;
    if (isAlias(node)) this.#through(node, path, (source) => this.#merge(target, source, path, spot));
    else if (isMap(node)) this.#fill(target, node, path, spot);
    // The first of several merged maps wins, so the last is filled in first.
    else if (isSeq(node))
      for (const item of [...node.items].reverse()) this.#merge(target, item as ParsedNode, path, spot);
    else this.#report(node.range[0], path, 'a merge key (<<) takes a map or a list of maps');
  }

  #through(alias: Alias.Parsed, path: Path, read: (target: ParsedNode) => unknown): unknown {
    const target = this.#aliases.get(alias);
    if (target === undefined || this.#entered.has(target)) {
      const fault = target === undefined ? 'there is no anchor' : 'this alias stands within its own anchor';
      this.#report(alias.range[0], path, `${fault} &${alias.source}`);
      return undefined;
    }
    this.#entered.add(target);
    const value = read(target as ParsedNode);
    this.#entered.delete(target);
    return value;
  }

  #resolveAliases(document: Document.Parsed): void {
    if (!this.#text.includes('*')) return;
    const anchors = new Map<string, Node>();
    visit(document, {
      Node: (_key, node) => {
        if (isAlias(node)) {
          const target = anchors.get(node.source);
          if (target !== undefined) this.#aliases.set(node, target);
        } else if (node.anchor !== undefined) anchors.set(node.anchor, node);
      },
    });
  }

  #scalar(node: Scalar.Parsed, path: Path, key: number | undefined, above: Spot | undefined): unknown {
    const text = textOf(node);
    const expansion = mayExpand(text) && !this.#isLiteral(path) ? expand(text, this.#env) : undefined;
    this.#note(path, above, { key, value: node.range[0], scalar: node, expansion, parts: undefined });
    if (expansion === undefined) return node.value;
    for (const name of expansion.used) this.#variables.add(name);
    for (const fault of expansion.faults)
      this.#report(sourceOffset(node, this.#text, fault.offset), path, fault.message, fault.hint);
    if (!expansion.changed) return node.value;
    return isPlain(node) ? readPlain(expansion.text) : expansion.text;
  }

  #note(path: Path, above: Spot | undefined, spot: Spot): Spot {
    const part = path.at(-1);
    if (above === undefined || part === undefined) this.#top = spot;
    else {
      above.parts ??= new Map();
      const before = above.parts.get(part);
      if (before !== undefined) this.#overridden.push(before);
      above.parts.set(part, spot);
    }
    return spot;
  }

  #report(offset: number, path: Path, message: string, hint?: string): void {
    this.#faulty.add(formatPath(path));
    const problem = { file: this.#file, ...this.#lineColumn(offset), path: formatPath(path), message };
    this.#problems.push(hint === undefined ? problem : { ...problem, hint });
  }

  #lineColumn(offset: number): { line: number; column: number } {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }

  #place(path: Path, part: 'key' | 'value', offset?: number): { line: number; column: number } {
    let spot = this.#top;
    if (spot === undefined) return { line: 1, column: 1 };
    for (const step of path) {
      const next: Spot | undefined = spot.parts?.get(step);
      if (next === undefined) return this.#lineColumn(spot.value);
      spot = next;
    }
    if (part === 'key' && spot.key !== undefined) return this.#lineColumn(spot.key);
    const { scalar, expansion } = spot;
    if (offset === undefined || scalar === undefined) return this.#lineColumn(spot.value);
    return this.#lineColumn(sourceOffset(scalar, this.#text, expansion?.origin(offset) ?? offset));
  }

  #spot(path: Path): Spot | undefined {
    let spot = this.#top;
    for (const step of path) spot = spot?.parts?.get(step);
    return spot;
  }

  #written(path: Path): Written | undefined {
    const spot = this.#spot(path);
    if (spot?.scalar === undefined) return undefined;
    const { scalar, expansion } = spot;
    return {
      text: expansion?.text ?? textOf(scalar),
      plain: isPlain(scalar),
      variables: expansion?.used ?? [],
    };
  }
}

function extentOf(spot: Spot | undefined): Extent | undefined {
  const range = spot?.scalar?.range;
  return range && [range[0], range[1]];
}

function* extentsIn(spot: Spot): Iterable<Extent> {
  const own = extentOf(spot);
  if (own !== undefined) yield own;
  for (const part of spot.parts?.values() ?? []) yield* extentsIn(part);
}

function textOf(node: Scalar.Parsed): string {
  return typeof node.value === 'string' ? node.value : (node.source ?? '');
}

function isPlain(node: Scalar.Parsed): boolean {
  return node.type === Scalar.PLAIN && node.tag === undefined;
}

function isMergeKey(key: Scalar.Parsed): boolean {
  return key.type === Scalar.PLAIN && key.source === '<<';
}

const ownMessages: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'only one YAML document a file is allowed',
  TAB_AS_INDENT: 'tabs cannot indent YAML; use spaces',
  NON_STRING_KEY: 'a field name must be a plain word',
};

function yamlMessage(code: string, message: string): string {
  return ownMessages[code] ?? `YAML: ${message.split('\n')[0] ?? message}`;
}
