import { compareHostnames, hostnameMatches, sortedRules, type Listener } from '../model/index.ts';
import { compileMatch, prefixOf, type CompiledMatch, type Matchable } from './match.ts';

/** A rule ready to be tried: where it holds, `route` serves. */
export interface CompiledRule<Route> {
  readonly match: CompiledMatch;
  readonly route: Route;
  /** The path text of the configuration, to tell explicit matches of well-known paths. */
  readonly written: string;
  /** The path prefix it stands for, without a slash at its end; undefined where the path is matched otherwise. */
  readonly prefix: string | undefined;
}

/** Picks from things that have a host name: the exact one, else the longest wildcard, else the one for every host. */
export class HostTable<T> {
  private readonly exact = new Map<string, T>();
  private readonly wildcards: { readonly pattern: string; readonly value: T }[] = [];
  private readonly rest: T | undefined;

  constructor(entries: readonly (readonly [hostname: string | undefined, value: T])[]) {
    for (const [hostname, value] of entries.toSorted(([a], [b]) => compareHostnames(a, b))) {
      if (hostname === undefined) this.rest ??= value;
      else if (hostname.startsWith('*.')) this.wildcards.push({ pattern: hostname, value });
      else if (!this.exact.has(hostname)) this.exact.set(hostname, value);
    }
  }

  find(host: string): T | undefined {
    const exact = this.exact.get(host);
    if (exact !== undefined) return exact;
    for (const { pattern, value } of this.wildcards) if (hostnameMatches(pattern, host)) return value;
    return this.rest;
  }
}

/** The rules of one listener, gathered by host name in the order they are tried. */
export class Router<Route> {
  private readonly byHost: HostTable<readonly CompiledRule<Route>[]>;

  /** @param routeOf the compiled route at a place of `listener.routes` */
  constructor(listener: Listener, routeOf: (index: number) => Route) {
    const indexes = new Map(listener.routes.map((route, index) => [route, index]));
    const rules = sortedRules(listener).map(({ hostname, match, route }) => ({
      hostname,
      rule: {
        match: compileMatch(match),
        route: routeOf(indexes.get(route) ?? -1),
        written: match.path.value,
        prefix: match.path.kind === 'prefix' ? prefixOf(match.path.value) : undefined,
      },
    }));
    // A rule also serves every narrower host name: each host gets the whole list it can reach, in order.
    const covering = (host: string | undefined): CompiledRule<Route>[] =>
      rules
        .filter(({ hostname }) => hostname === undefined || (host !== undefined && covers(hostname, host)))
        .map(({ rule }) => rule);
    const hosts = new Set(rules.map(({ hostname }) => hostname));
    this.byHost = new HostTable([...hosts].map((host) => [host, covering(host)] as const));
  }

  find(request: Matchable, host: string, path: string): CompiledRule<Route> | undefined {
    const rules = this.byHost.find(host);
    if (rules === undefined) return undefined;
    for (const rule of rules) {
      if (rule.match.path(path) && (rule.match.rest === undefined || rule.match.rest(request))) return rule;
    }
    return undefined;
  }

  /** The first route of a host that is accepted. */
  findAny(host: string, accept: (route: Route) => boolean): Route | undefined {
    return this.byHost.find(host)?.find((rule) => accept(rule.route))?.route;
  }

  /** The route that serves a path, whatever else it asks of a request. */
  findByPath(host: string, path: string, accept: (route: Route) => boolean): Route | undefined {
    return this.byHost.find(host)?.find((rule) => rule.match.path(path) && accept(rule.route))?.route;
  }
}

const covers = (pattern: string, host: string): boolean =>
  pattern === host || hostnameMatches(pattern, host.startsWith('*.') ? host.slice(2) : host);
