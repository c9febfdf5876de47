import { beginningOf, type CompiledMatch, type Matchable } from './match.ts';
import { normalizePath } from '../http/index.ts';

/** A rule ready to be tried: where it holds, `route` serves. */
export interface CompiledRule<Route> {
  readonly match: CompiledMatch;
  readonly route: Route;
  /** How the path is compared, and with what text of the configuration. */
  readonly kind: 'exact' | 'prefix' | 'regex';
  readonly written: string;
  /** The path prefix it stands for, without a slash at its end; undefined where the path is matched otherwise. */
  readonly prefix: string | undefined;
}

interface Ranked<Route> {
  /** Place in the order of precedence among the rules of the table. */
  readonly rank: number;
  readonly rule: CompiledRule<Route>;
  /** Where the place in the tree says it all (a prefix), the path is not looked at again. */
  readonly path: ((path: string) => boolean) | undefined;
}

/** The rules that can only hold for paths beginning with the segments that lead here. */
interface Node<Route> {
  readonly ranked: Ranked<Route>[];
  /** By the segment that follows. */
  children: Map<string, Node<Route>> | undefined;
  /** The nearest node above that has rules. */
  wider: Node<Route> | undefined;
  /** The lowest rank here and above. */
  first: number;
}

const SLASH = 47;

/**
 * The rules of one host name. What it finds is the first rule, in the order given, that holds; what it looks at does
 * not grow with the number of rules: exact paths by one look into a map, prefixes and the beginnings of regular
 * expressions by a walk along the segments of the path. Only rules for the same path are tried one after the other,
 * and regular expressions that begin alike.
 */
export class PathTable<Route> {
  /** In the order of precedence. */
  readonly rules: readonly CompiledRule<Route>[];
  private readonly exact = new Map<string, Ranked<Route>[]>();
  private readonly root: Node<Route> = node();

  /** @param rules in the order of precedence, which has exact paths first */
  constructor(rules: readonly CompiledRule<Route>[]) {
    this.rules = rules;
    for (const [rank, rule] of rules.entries()) this.add(rank, rule);
    settle(this.root, undefined);
  }

  find(request: Matchable, path: string): CompiledRule<Route> | undefined {
    const exact = this.exact.size === 0 ? undefined : this.exact.get(path);
    if (exact !== undefined) {
      for (const { rule } of exact)
        if (rule.match.rest === undefined || rule.match.rest(request)) return rule;
    }
    // Mostly the deepest node has the rule that goes first; where another may (a long expression), the ranks decide.
    let found: CompiledRule<Route> | undefined;
    let before = Number.POSITIVE_INFINITY;
    for (let at = this.deepest(path); at !== undefined && at.first < before; at = at.wider) {
      for (const { rank, rule, path: holds } of at.ranked) {
        if (rank >= before) break;
        if (holds !== undefined && !holds(path)) continue;
        if (rule.match.rest !== undefined && !rule.match.rest(request)) continue;
        found = rule;
        before = rank;
        break;
      }
    }
    return found;
  }

  /** All rules that hold for the path, whatever else they ask of a request, in their order. */
  forPath(path: string): CompiledRule<Route>[] {
    const ranked = [...(this.exact.get(path) ?? [])];
    for (let at = this.deepest(path); at !== undefined; at = at.wider)
      ranked.push(...at.ranked.filter(({ path: holds }) => holds === undefined || holds(path)));
    return ranked.sort((a, b) => a.rank - b.rank).map(({ rule }) => rule);
  }

  private add(rank: number, rule: CompiledRule<Route>): void {
    const { kind, written, prefix } = rule;
    if (kind === 'exact') {
      const path = normalizePath(written) ?? written;
      const same = this.exact.get(path);
      const ranked = { rank, rule, path: undefined };
      if (same === undefined) this.exact.set(path, [ranked]);
      else same.push(ranked);
      return;
    }
    const begins = prefix ?? beginningOf(written);
    // Nothing but paths is cut into segments; a rule for anything else (`*`) is compared as it is.
    const rooted = begins === '' || begins.charCodeAt(0) === SLASH;
    const at = rooted ? this.nodeFor(begins) : this.root;
    at.ranked.push({ rank, rule, path: prefix !== undefined && rooted ? undefined : rule.match.path });
  }

  private nodeFor(prefix: string): Node<Route> {
    let at = this.root;
    if (prefix === '') return at;
    for (const segment of prefix.slice(1).split('/')) {
      at.children ??= new Map();
      let next = at.children.get(segment);
      if (next === undefined) at.children.set(segment, (next = node()));
      at = next;
    }
    return at;
  }

  /** The node of the longest known beginning of the path, whole segments only. */
  private deepest(path: string): Node<Route> | undefined {
    let at = this.root;
    if (path.charCodeAt(0) === SLASH) {
      let from = 1;
      while (at.children !== undefined) {
        const slash = path.indexOf('/', from);
        const next = at.children.get(slash === -1 ? path.substring(from) : path.substring(from, slash));
        if (next === undefined) break;
        at = next;
        if (slash === -1) break;
        from = slash + 1;
      }
    }
    return at.ranked.length > 0 ? at : at.wider;
  }
}

const node = <Route>(): Node<Route> => ({
  ranked: [],
  children: undefined,
  wider: undefined,
  first: Number.POSITIVE_INFINITY,
});

/** Links each node with what stands above it, without recursion: a path may have thousands of segments. */
function settle<Route>(root: Node<Route>, above: Node<Route> | undefined): void {
  const open: [Node<Route>, Node<Route> | undefined][] = [[root, above]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, wider] = next;
    at.wider = wider;
    at.first = Math.min(
      at.ranked[0]?.rank ?? Number.POSITIVE_INFINITY,
      wider?.first ?? Number.POSITIVE_INFINITY,
    );
    if (at.children === undefined) continue;
    const nearest = at.ranked.length > 0 ? at : wider;
    for (const child of at.children.values()) open.push([child, nearest]);
  }
}
