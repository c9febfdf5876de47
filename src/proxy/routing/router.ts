import { sortedRules, type HttpListener, type Match, type Route as RouteOfModel } from '../../model/index.ts';
import { beginSearch, compileMatch, prefixOf, type Matchable } from './match.ts';
import { PathTable, type CompiledRule, type Found } from './pathTable.ts';

export type { CompiledRule } from './pathTable.ts';

/** Picks from things that have a host name: the exact one, else the longest wildcard, else the one for every host. */
export class HostTable<T> {
  private readonly exact = new Map<string, T>();
  /** By what follows the `*`, which begins with a dot. */
  private readonly wildcards = new Map<string, T>();
  private longestWildcard = 0;
  private readonly rest: T | undefined;

  /** If several entries have the same name, the first counts. */
  constructor(entries: readonly (readonly [hostname: string | undefined, value: T])[]) {
    for (const [hostname, value] of entries) {
      if (hostname === undefined) this.rest ??= value;
      else if (!hostname.startsWith('*.')) setFirst(this.exact, hostname, value);
      else {
        setFirst(this.wildcards, hostname.slice(1), value);
        this.longestWildcard = Math.max(this.longestWildcard, hostname.length - 1);
      }
    }
  }

  find(host: string): T | undefined {
    return this.exact.get(host) ?? this.findWider(host);
  }

  /** The same without the entry that has just this name. */
  findWider(host: string): T | undefined {
    if (this.wildcards.size > 0) {
      // `*.example.com` stands for one or more labels, so the first character is never its dot.
      const earliest = Math.max(1, host.length - this.longestWildcard);
      for (let dot = host.indexOf('.', earliest); dot !== -1; dot = host.indexOf('.', dot + 1)) {
        const wildcard = this.wildcards.get(host.substring(dot));
        if (wildcard !== undefined) return wildcard;
      }
    }
    return this.rest;
  }
}

/** The rules of one host name, and those that come after them. */
interface HostRules<Route> {
  readonly table: PathTable<Route>;
  /** A request that fails all rules of its own host name falls back on those of wider ones. */
  wider: HostRules<Route> | undefined;
}

/** The rules of one listener, gathered by host name in the order they are tried. */
export class Router<Route> {
  private readonly byHost: HostTable<HostRules<Route>>;

  /**
   * @param routeOf the compiled route at a place of `listener.routes`
   * @param matchOf the compiled form of a match
   */
  constructor(
    listener: Pick<HttpListener, 'hostname' | 'routes'>,
    routeOf: (index: number) => Route,
    matchOf: typeof compileMatch = compileMatch,
  ) {
    const indexes = new Map(listener.routes.map((route, index) => [route, index]));
    const compile = compileOnce((route) => routeOf(indexes.get(route) ?? -1), matchOf);
    const gathered = new Map<string | undefined, CompiledRule<Route>[]>();
    for (const { hostname, match, route } of sortedRules(listener)) {
      const rules = gathered.get(hostname);
      if (rules === undefined) gathered.set(hostname, [compile(route, match)]);
      else rules.push(compile(route, match));
    }
    const hosts = [...gathered].map(([hostname, rules]) => {
      const entry: HostRules<Route> = { table: new PathTable(rules), wider: undefined };
      return [hostname, entry] as const;
    });
    this.byHost = new HostTable(hosts);
    // `*.a.example.com` falls back on what `a.example.com` would, had it no rules of its own.
    for (const [hostname, entry] of hosts)
      if (hostname !== undefined)
        entry.wider = this.byHost.findWider(hostname.startsWith('*.') ? hostname.slice(2) : hostname);
  }

  /**
   * The first rule, in the order of `sortedRules`, that holds for the request.
   * @throws GatewayError route_work_limit
   */
  find(request: Matchable, host: string, path: string): Found<Route> | undefined {
    beginSearch();
    return this.findAgain(request, host, path);
  }

  /** The same for another reading of the path, within the work that the first search has left. @throws as `find` */
  findAgain(request: Matchable, host: string, path: string): Found<Route> | undefined {
    for (let at = this.byHost.find(host); at !== undefined; at = at.wider) {
      const found = at.table.find(request, path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * The rules that a request was compared with, in their order, for people: those for its path first.
   * @param most of them
   * @throws as `find`
   */
  candidates(host: string, path: string, most: number): readonly CompiledRule<Route>[] {
    beginSearch();
    const found = new Set<CompiledRule<Route>>();
    for (let at = this.byHost.find(host); at !== undefined; at = at.wider)
      for (const rule of at.table.forPath(path)) if (found.size < most) found.add(rule);
    for (let at = this.byHost.find(host); at !== undefined && found.size < most; at = at.wider)
      for (const rule of at.table.rules.slice(0, most)) if (found.size < most) found.add(rule);
    return [...found];
  }

  /** The first route of a host that is accepted. */
  findAny(host: string, accept: (route: Route) => boolean): Route | undefined {
    for (let at = this.byHost.find(host); at !== undefined; at = at.wider) {
      const rule = at.table.rules.find(({ route }) => accept(route));
      if (rule !== undefined) return rule.route;
    }
    return undefined;
  }

  /** The first route that serves a path, whatever else it asks of a request, and is accepted. @throws as `find` */
  findByPath(host: string, path: string, accept: (route: Route) => boolean): Route | undefined {
    beginSearch();
    for (let at = this.byHost.find(host); at !== undefined; at = at.wider) {
      const rule = at.table.forPath(path).find(({ route }) => accept(route));
      if (rule !== undefined) return rule.route;
    }
    return undefined;
  }
}

/** Compiles a match once, under however many host names its route is reached. */
function compileOnce<Route>(
  routeOf: (route: RouteOfModel) => Route,
  matchOf: typeof compileMatch,
): (route: RouteOfModel, match: Match) => CompiledRule<Route> {
  const known = new Map<RouteOfModel, Map<Match, CompiledRule<Route>>>();
  return (route, match) => {
    let ofRoute = known.get(route);
    if (ofRoute === undefined) known.set(route, (ofRoute = new Map<Match, CompiledRule<Route>>()));
    let rule = ofRoute.get(match);
    if (rule === undefined) {
      const { kind, value } = match.path;
      rule = {
        match: matchOf(match),
        route: routeOf(route),
        kind,
        written: value,
        of: match,
        prefix: kind === 'prefix' ? prefixOf(value) : undefined,
      };
      ofRoute.set(match, rule);
    }
    return rule;
  };
}

function setFirst<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}
