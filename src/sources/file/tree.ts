import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  Scalar,
  visit,
  type Alias,
  type Document,
  type Node,
  type ParsedNode,
  type YAMLMap,
} from 'yaml';
import { formatPath, type Path } from './path.ts';
import type { Problem } from './problem.ts';
import { readPlain, sourceOffset } from './scalar.ts';
import { expand, type Environment, type Expansion } from './variables.ts';

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
  /** The place of a field: of its value, or of its key. A field that is not there has the place of its parent. */
  place(path: Path, part: 'key' | 'value', offset?: number): Required<Pick<Problem, 'line' | 'column'>>;
  /** The text of a scalar as written, after variables were put in; undefined for maps and lists. */
  written(path: Path): Written | undefined;
}

interface Written {
  readonly text: string;
  /** False where quotes or a block make it a string whatever it says. */
  readonly plain: boolean;
  /** Names of the variables that it was made of. */
  readonly variables: readonly string[];
}

interface Spot {
  readonly key: number | undefined;
  readonly value: number;
  readonly scalar?: { readonly node: Scalar.Parsed; readonly expansion: Expansion };
}

/** An alias may repeat a piece, but not without end ("billion laughs"). */
const maxNodes = 100_000;
const maxDepth = 64;
/** A broken text can give an error for each of its lines; the first ones tell enough. */
const maxFaults = 20;
const maxTextLength = 8 * 1024 * 1024;

/** Reads YAML 1.2 (merge keys included) and puts variables into its scalar values. Never throws. */
export function readTree(text: string, file: string, env: Environment): Tree {
  return new TreeReader(text, file, env).read();
}

class TreeReader {
  readonly #text: string;
  readonly #file: string;
  readonly #env: Environment;
  readonly #lines = new LineCounter();
  readonly #problems: Problem[] = [];
  readonly #faulty = new Set<string>();
  readonly #spots = new Map<string, Spot>();
  /** What each alias stands for: resolved in one pass, because yaml's own way walks the document every time. */
  readonly #aliases = new Map<Alias, Node>();
  /** Targets that are being read; an alias to one of them would never end. */
  readonly #entered = new Set<Node>();
  #nodes = 0;
  #exhausted = false;

  constructor(text: string, file: string, env: Environment) {
    this.#text = text;
    this.#file = file;
    this.#env = env;
  }

  read(): Tree {
    const value = this.#readText();
    return {
      value,
      problems: this.#problems,
      faulty: this.#faulty,
      place: (path, part, offset) => this.#place(path, part, offset),
      written: (path) => this.#written(path),
    };
  }

  #readText(): unknown {
    if (this.#text.length > maxTextLength) {
      this.#problems.push({
        file: this.#file,
        path: '',
        message: 'is larger than 8 MiB: not a configuration',
      });
      return undefined;
    }
    let document: Document.Parsed;
    try {
      document = parseDocument(this.#text, {
        lineCounter: this.#lines,
        merge: true,
        stringKeys: true,
        // Checked in #fill, where the path of the field is known.
        uniqueKeys: false,
        prettyErrors: false,
        resolveKnownTags: false,
        // 'silent' would also hide that there is a second document.
        logLevel: 'error',
      });
      this.#resolveAliases(document);
    } catch (error) {
      // Deep flow collections exhaust the stack of the parser.
      const message = error instanceof RangeError ? 'is nested too deeply' : 'cannot be parsed';
      this.#problems.push({ file: this.#file, path: '', message });
      return undefined;
    }
    const faults = [...document.errors, ...document.warnings];
    if (faults.some((fault) => /stack/i.test(fault.message))) {
      this.#problems.push({ file: this.#file, path: '', message: 'is nested too deeply' });
      return undefined;
    }
    for (const fault of faults.slice(0, maxFaults))
      this.#report(fault.pos[0], [], yamlMessage(fault.code, fault.message));
    if (faults.length > 0 || document.contents === null) return undefined;
    const value = this.#node(document.contents, [], undefined);
    return this.#exhausted ? undefined : value;
  }

  #node(node: ParsedNode, path: Path, key: number | undefined): unknown {
    this.#nodes += 1;
    if (this.#nodes > maxNodes || path.length > maxDepth) {
      if (!this.#exhausted)
        this.#report(
          node.range[0],
          path.slice(0, 4),
          path.length > maxDepth
            ? 'is nested too deeply'
            : 'has too many values (do its aliases repeat each other?)',
        );
      this.#exhausted = true;
    }
    if (this.#exhausted) return undefined;
    if (isAlias(node)) return this.#through(node, path, (target) => this.#node(target, path, key));
    if (isScalar(node)) return this.#scalar(node as Scalar.Parsed, path, key);
    this.#spots.set(spotKey(path), { key, value: node.range[0] });
    if (isSeq(node))
      return node.items.map(
        (item, index) => this.#node(item as ParsedNode, [...path, index], undefined) ?? null,
      );
    const target: Record<string, unknown> = {};
    this.#fill(target, node, path);
    return target;
  }

  /** Fields of a map; those that a merge key brings are overridden by the map's own. */
  #fill(target: Record<string, unknown>, map: YAMLMap.Parsed, path: Path): void {
    for (const pair of map.items) {
      const key = pair.key as Scalar.Parsed;
      if (isMergeKey(key)) this.#merge(target, pair.value, path);
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
      const value = pair.value === null ? undefined : this.#node(pair.value, [...path, name], key.range[0]);
      if (pair.value === null)
        this.#spots.set(spotKey([...path, name]), { key: key.range[0], value: key.range[0] });
      target[name] = value ?? undefined;
    }
  }

  #merge(target: Record<string, unknown>, node: ParsedNode | null, path: Path): void {
    this.#nodes += 1;
    if (node === null || this.#nodes > maxNodes) return;
    if (isAlias(node)) this.#through(node, path, (source) => this.#merge(target, source, path));
    else if (isMap(node)) this.#fill(target, node, path);
    // Of several merged maps the first wins, so that the last is filled in first.
    else if (isSeq(node))
      for (const item of [...node.items].reverse()) this.#merge(target, item as ParsedNode, path);
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

  #scalar(node: Scalar.Parsed, path: Path, key: number | undefined): unknown {
    const text = typeof node.value === 'string' ? node.value : (node.source ?? '');
    const expansion = expand(text, this.#env);
    this.#spots.set(spotKey(path), { key, value: node.range[0], scalar: { node, expansion } });
    for (const fault of expansion.faults)
      this.#report(sourceOffset(node, this.#text, fault.offset), path, fault.message, fault.hint);
    if (!expansion.changed) return node.value;
    return isPlain(node) ? readPlain(expansion.text) : expansion.text;
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
    for (let length = path.length; length >= 0; length--) {
      const spot = this.#spots.get(spotKey(path.slice(0, length)));
      if (spot === undefined) continue;
      const exact = length === path.length;
      if (exact && part === 'key' && spot.key !== undefined) return this.#lineColumn(spot.key);
      if (exact && offset !== undefined && spot.scalar !== undefined) {
        const { node, expansion } = spot.scalar;
        return this.#lineColumn(sourceOffset(node, this.#text, expansion.origin(offset)));
      }
      return this.#lineColumn(spot.value);
    }
    return { line: 1, column: 1 };
  }

  #written(path: Path): Written | undefined {
    const scalar = this.#spots.get(spotKey(path))?.scalar;
    if (scalar === undefined) return undefined;
    return { text: scalar.expansion.text, plain: isPlain(scalar.node), variables: scalar.expansion.used };
  }
}

function isPlain(node: Scalar.Parsed): boolean {
  return node.type === Scalar.PLAIN && node.tag === undefined;
}

function isMergeKey(key: Scalar.Parsed): boolean {
  return key.type === Scalar.PLAIN && key.source === '<<';
}

function spotKey(path: Path): string {
  return JSON.stringify(path);
}

const ownMessages: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'only one YAML document a file is allowed',
  TAB_AS_INDENT: 'tabs cannot indent YAML; use spaces',
  NON_STRING_KEY: 'a field name must be a plain word',
};

function yamlMessage(code: string, message: string): string {
  return ownMessages[code] ?? `YAML: ${message.split('\n')[0] ?? message}`;
}
