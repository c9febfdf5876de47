import { normalizePath } from '../../http/index.ts';
import type { Match } from '../../model/index.ts';
import { beginningOf, type CompiledMatch, type Matchable } from './match.ts';
import { hashed, TextTable } from './textTable.ts';

/**
 * With thousands of routes, nearly every request goes to a route that no cache holds, and each object it looks at
 * costs as much as hundreds of instructions. So there are few of them on the way, and in each what is always
 * needed stands first.
 */

/** A rule ready to be tried: where it holds, `route` serves. */
export interface CompiledRule<Route> {
  readonly match: CompiledMatch;
  readonly route: Route;
  /** The kind of comparison of the path, and the text of the configuration. */
  readonly kind: 'exact' | 'prefix' | 'regex';
  readonly written: string;
  /** As the model has it. */
  readonly of: Match;
  /** The path prefix it stands for, without a slash at its end; undefined where the path is matched otherwise. */
  readonly prefix: string | undefined;
}

/** The result of the search for a request. */
export interface Found<Route> {
  readonly route: Route;
  readonly rule: CompiledRule<Route>;
}

/** A rule at its place among others for the same paths. */
interface Ranked<Route> extends Found<Route> {
  /** Place in the order of precedence among the rules of the table. */
  readonly rank: number;
  /** Everything but the path; undefined where the path is all. */
  readonly rest: CompiledMatch['rest'];
  /** If the place in the tree decides the match (a prefix), the path is not compared again. */
  readonly path: CompiledMatch['path'] | undefined;
  /** The one that is tried after it. */
  next: Ranked<Route> | undefined;
}

/** The rules that can only hold for paths beginning with the segments that lead here. */
interface Node<Route> {
  /** The first of them. */
  ranked: Ranked<Route> | undefined;
  /** By the segment that follows. */
  children: TextTable<Node<Route>> | undefined;
  /** The nearest node above that has rules. */
  wider: Node<Route> | undefined;
  /** The lowest rank here and above. */
  lowest: number;
}

/** Behind all ranks. A small integer: V8 would keep an infinity, and every number in its place, in an object apart. */
const LAST = 2 ** 30;
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
  /** The first rule for each path. */
  private readonly exact = new TextTable<Ranked<Route>>();
  private readonly root: Node<Route> = node();

  /** @param rules in the order of precedence, which has exact paths first */
  constructor(rules: readonly CompiledRule<Route>[]) {
    this.rules = rules;
    // The last one first, so that each goes in front of those that come after it.
    for (let rank = rules.length - 1; rank >= 0; rank--) this.add(rank, rules[rank] as CompiledRule<Route>);
    settle(this.root, undefined);
  }

  find(request: Matchable, path: string): Found<Route> | undefined {
    let exact = this.exact.size === 0 ? undefined : this.exact.get(path);
    for (; exact !== undefined; exact = exact.next)
      if (exact.rest === undefined || exact.rest(request)) return exact;
    // Mostly the deepest node has the rule that goes first; where another may (a long expression), the ranks decide.
    let found: Ranked<Route> | undefined;
    let before = LAST;
    for (let at = this.deepest(path); at !== undefined && at.lowest < before; at = at.wider) {
      for (let rule = at.ranked; rule !== undefined && rule.rank < before; rule = rule.next) {
        if (rule.path !== undefined && !rule.path(path)) continue;
        if (rule.rest !== undefined && !rule.rest(request)) continue;
        found = rule;
        before = rule.rank;
      }
    }
    return found;
  }

  /** All rules that hold for the path, whatever else they ask of a request, in their order. */
  forPath(path: string): CompiledRule<Route>[] {
    const ranked = [...chain(this.exact.get(path))];
    for (let at = this.deepest(path); at !== undefined; at = at.wider)
      for (const rule of chain(at.ranked)) if (rule.path === undefined || rule.path(path)) ranked.push(rule);
    return ranked.sort((a, b) => a.rank - b.rank).map(({ rule }) => rule);
  }

  private add(rank: number, rule: CompiledRule<Route>): void {
    const { kind, written, prefix } = rule;
    if (kind === 'exact') {
      const path = normalizePath(written) ?? written;
      this.exact.set(path, ranked(rank, rule, undefined, this.exact.get(path)));
      return;
    }
    const begins = prefix ?? beginningOf(written);
    // Only paths are cut into segments; a rule for anything else (`*`) is compared as it is.
    const rooted = begins === '' || begins.charCodeAt(0) === SLASH;
    const at = rooted ? this.nodeFor(begins) : this.root;
    at.ranked = ranked(rank, rule, prefix !== undefined && rooted ? undefined : rule.match.path, at.ranked);
  }

  private nodeFor(prefix: string): Node<Route> {
    let at = this.root;
    if (prefix === '') return at;
    for (const segment of prefix.slice(1).split('/')) {
      at.children ??= new TextTable();
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
      for (let from = 1; at.children !== undefined && from <= path.length;) {
        let hash = 0;
        let to = from;
        for (let code = 0; to < path.length && (code = path.charCodeAt(to)) !== SLASH; to++)
          hash = hashed(hash, code);
        const next = at.children.find(path, from, to, hash);
        if (next === undefined) break;
        at = next;
        from = to + 1;
      }
    }
    return at.ranked === undefined ? at.wider : at;
  }
}

const node = <Route>(): Node<Route> => ({
  ranked: undefined,
  children: undefined,
  wider: undefined,
  lowest: LAST,
});

const ranked = <Route>(
  rank: number,
  rule: CompiledRule<Route>,
  path: CompiledMatch['path'] | undefined,
  next: Ranked<Route> | undefined,
): Ranked<Route> => ({ route: rule.route, rule, rank, rest: rule.match.rest, path, next });

function* chain<Route>(first: Ranked<Route> | undefined): Iterable<Ranked<Route>> {
  for (let at = first; at !== undefined; at = at.next) yield at;
}

/** Links each node with what stands above it, without recursion: a path may have thousands of segments. */
function settle<Route>(root: Node<Route>, above: Node<Route> | undefined): void {
  const open: [Node<Route>, Node<Route> | undefined][] = [[root, above]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, wider] = next;
    at.wider = wider;
    at.lowest = Math.min(at.ranked?.rank ?? LAST, wider?.lowest ?? LAST);
    if (at.children === undefined) continue;
    const nearest = at.ranked === undefined ? wider : at;
    for (const child of at.children.values()) open.push([child, nearest]);
  }
}
