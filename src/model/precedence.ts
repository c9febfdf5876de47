import type { HttpListener, Match, PathMatch, Route } from './model.ts';

/** A way into a route: a host name of it (absent: every host of the listener) and one of its matches. */
export interface Rule {
  readonly hostname?: string;
  readonly match: Match;
  readonly route: Route;
}

/**
 * All rules of a listener, the first one that holds wins. The order is that of the Gateway API (HTTPRoute,
 * "matches"): exact host before wildcard, longer host first; exact path, then the longest path; a method; more
 * headers; more query parameters; place in the list.
 *
 * The Gateway API leaves regular expressions to the implementation. Here a regular expression competes with
 * prefixes by the length of its text, and at the same length it goes first: that is what the files of our users were
 * written for, and `pathPrefix: /` stays the last resort beside any expression. A path may say how many of its
 * characters count (`counted`); the length of the text decides between paths with the same number.
 *
 * Rules whose host name lies outside that of the listener are left out: no request can reach them.
 */
export function sortedRules(listener: Pick<HttpListener, 'hostname' | 'routes'>): readonly Rule[] {
  const rules: Rule[] = [];
  for (const route of listener.routes) {
    for (const hostname of reachableHostnames(listener.hostname, route.hostnames)) {
      for (const match of route.matches) {
        rules.push(hostname === undefined ? { match, route } : { hostname, match, route });
      }
    }
  }
  // The sort is stable, so equal rules keep the order of the list.
  return rules.sort(compareRules);
}

/** Negative where `a` goes before `b`. */
export function compareRules(a: Rule, b: Rule): number {
  return (
    compareHostnames(a.hostname, b.hostname) ||
    pathRank(a.match.path) - pathRank(b.match.path) ||
    counted(b.match.path) - counted(a.match.path) ||
    b.match.path.value.length - a.match.path.value.length ||
    regexFirst(a.match.path) - regexFirst(b.match.path) ||
    absent(a.match.method) - absent(b.match.method) ||
    b.match.headers.length - a.match.headers.length ||
    b.match.query.length - a.match.query.length
  );
}

/** Does the name (lower case, without port) belong to the host of a listener or rule? */
export function hostnameMatches(pattern: string | undefined, host: string): boolean {
  if (pattern === undefined) return true;
  if (!pattern.startsWith('*.')) return pattern === host;
  // `*.example.com` stands for one or more labels, never for `example.com` itself.
  return host.length > pattern.length - 1 && host.endsWith(pattern.slice(1));
}

/** Exact before wildcard, longer first, "every host" last. Orders listeners as well as rules. */
export function compareHostnames(a: string | undefined, b: string | undefined): number {
  return hostnameRank(a) - hostnameRank(b) || (b?.length ?? 0) - (a?.length ?? 0);
}

/** The host names under which a route can be reached through a listener; undefined stands for every host. */
export function reachableHostnames(
  listener: string | undefined,
  route: readonly string[],
): readonly (string | undefined)[] {
  if (route.length === 0) return [undefined];
  const names = new Set<string | undefined>();
  for (const hostname of route) {
    if (hostname === '*') {
      names.add(undefined);
      continue;
    }
    const shared = sharedHostname(listener, hostname);
    if (shared !== undefined) names.add(shared);
  }
  return [...names];
}

/** The narrower of two host names where one covers the other. */
function sharedHostname(listener: string | undefined, route: string): string | undefined {
  if (listener === undefined || listener === route) return route;
  if (listener.startsWith('*.') && coveredBy(listener, route)) return route;
  if (route.startsWith('*.') && coveredBy(route, listener)) return listener;
  return undefined;
}

function coveredBy(wildcard: string, hostname: string): boolean {
  return hostnameMatches(wildcard, hostname.startsWith('*.') ? hostname.slice(2) : hostname);
}

const hostnameRank = (hostname: string | undefined): number =>
  hostname === undefined ? 2 : hostname.startsWith('*.') ? 1 : 0;
const pathRank = (path: PathMatch): number => (path.kind === 'exact' ? 0 : 1);
const counted = (path: PathMatch): number => path.counted ?? path.value.length;
const regexFirst = (path: PathMatch): number => (path.kind === 'regex' ? 0 : 1);
const absent = (method: string | undefined): number => (method === undefined ? 1 : 0);
