import { standardMethods, type Match, type PathMatch, type ValueMatch } from '../../model/index.ts';
import { quoted, type RouteExpressions } from '../../regex/index.ts';
import type { GrpcRouteMatch, HttpRouteMatch, TypedValue } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';

/** `every`: what a rule without matches means. */
const every: Match = { path: { kind: 'prefix', value: '/' }, headers: [], query: [] };

const pathKinds: Readonly<Record<string, PathMatch['kind']>> = {
  Exact: 'exact',
  PathPrefix: 'prefix',
  RegularExpression: 'regex',
};
const valueKinds: Readonly<Record<string, ValueMatch['kind']>> = {
  Exact: 'exact',
  RegularExpression: 'regex',
};
const methods: ReadonlySet<string> = new Set(standardMethods);

/** Thrown and caught within this file: a match that cannot be made. */
class Unsupported extends Error {}

/** The matches of a rule, or what in them cannot be done. */
export const httpMatches = (
  matches: readonly HttpRouteMatch[] = [],
  expressions: RouteExpressions,
): readonly Match[] | Problem => all(matches, (match) => httpMatch(match, expressions));

/**
 * The same for gRPC, which asks for `/package.Service/Method` (gRPC over HTTP/2, "Path"). A whole path goes before a
 * service, a longer service before a shorter one, and any service before a method alone (GRPCRouteRule, "matches").
 */
export const grpcMatches = (
  matches: readonly GrpcRouteMatch[] = [],
  expressions: RouteExpressions,
): readonly Match[] | Problem => all(matches, (match) => grpcMatch(match, expressions));

function all<Given>(matches: readonly Given[], one: (match: Given) => Match): readonly Match[] | Problem {
  if (matches.length === 0) return [every];
  try {
    return matches.map(one);
  } catch (error) {
    if (error instanceof Unsupported) return problem('UnsupportedValue', error.message);
    throw error;
  }
}

function httpMatch(
  { path = {}, headers = [], queryParams = [], method }: HttpRouteMatch,
  expressions: RouteExpressions,
): Match {
  const { type = 'PathPrefix', value = '/' } = path;
  if (method !== undefined && !methods.has(method))
    throw new Unsupported(`method ${method} is not supported`);
  return {
    path: { kind: pathKind(type, value, expressions), value },
    ...(method === undefined ? {} : { method }),
    headers: values('header', headers, (name) => name.toLowerCase(), expressions),
    query: values('query parameter', queryParams, (name) => name, expressions),
  };
}

function pathKind(type: string, value: string, expressions: RouteExpressions): PathMatch['kind'] {
  const kind = pathKinds[type];
  if (kind === undefined) throw new Unsupported(`path type ${type} is not supported`);
  if (kind === 'regex') checkRegex(value, expressions);
  else if (!value.startsWith('/')) throw new Unsupported(`path ${value} does not begin with a slash`);
  return kind;
}

/** RFC 9110 §5.6.2. The schema of the CRDs says the same, where the cluster minds it. */
const token = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;

/** If a name appears several times, the first counts (HTTPHeaderMatch, HTTPQueryParamMatch). */
function values(
  what: string,
  given: readonly TypedValue[],
  same: (name: string) => string,
  expressions: RouteExpressions,
): ValueMatch[] {
  const seen = new Set<string>();
  const matches: ValueMatch[] = [];
  for (const { type = 'Exact', name, value } of given) {
    const kind = valueKinds[type];
    if (kind === undefined) throw new Unsupported(`${what} type ${type} is not supported`);
    if (kind === 'regex') checkRegex(value, expressions);
    if (what === 'header' && !token.test(name)) throw new Unsupported(`header ${name} is no name`);
    if (seen.has(same(name))) continue;
    seen.add(same(name));
    matches.push({ name, kind, value });
  }
  return matches;
}

function grpcMatch({ method, headers = [] }: GrpcRouteMatch, expressions: RouteExpressions): Match {
  return {
    path: method === undefined ? every.path : grpcPath(method, expressions),
    headers: values('header', headers, (name) => name.toLowerCase(), expressions),
    query: [],
  };
}

function grpcPath(
  { type = 'Exact', service = '', method = '' }: NonNullable<GrpcRouteMatch['method']>,
  expressions: RouteExpressions,
): PathMatch {
  if (valueKinds[type] === undefined) throw new Unsupported(`method type ${type} is not supported`);
  if (service === '' && method === '') throw new Unsupported('neither service nor method is named');
  if (type === 'RegularExpression') {
    const value = `/${group(service)}/${group(method)}`;
    checkRegex(value, expressions);
    return { kind: 'regex', value, ...(service === '' ? ofAnyService : {}) };
  }
  if (service === '') {
    const value = `/[^/]+/${quoted(method)}`;
    checkRegex(value, expressions);
    return { kind: 'regex', value, ...ofAnyService };
  }
  return method === ''
    ? { kind: 'prefix', value: `/${service}` }
    : { kind: 'exact', value: `/${service}/${method}` };
}

/** Only the first slash counts, which is less than any service has, and as much as a match of everything. */
const ofAnyService = { counted: 1 } as const;

const group = (pattern: string): string => (pattern === '' ? '[^/]+' : `(?:${pattern})`);

function checkRegex(value: string, expressions: RouteExpressions): void {
  try {
    expressions.add(value);
  } catch (error) {
    const shown = value.length > mostShown ? `${value.slice(0, mostShown)}…` : value;
    throw new Unsupported(`regular expression ${shown}: ${error instanceof Error ? error.message : ''}`);
  }
}

/** Characters of an expression that a status repeats. */
const mostShown = 100;
