import { GatewayError } from '../../errors.ts';
import { normalizePath } from '../../http/index.ts';
import type { Match, PathMatch, ValueMatch } from '../../model/index.ts';
import { compileRegex } from '../../regex/index.ts';

/** The parts of a request that a match may look at. */
export interface Matchable {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Host and port as sent, lower case. */
  readonly authority: string;
  readonly scheme: string;
  header(name: string): string | undefined;
}

/** A compiled match: does the request fulfil all its parts? */
export interface CompiledMatch {
  path(path: string): boolean;
  /** Everything but the path; undefined where the path is all. */
  readonly rest: ((request: Matchable) => boolean) | undefined;
}

/**
 * Units of work, of about 10 ns, that all regular expressions together may take to find the route of one request. One
 * expression has a limit (`regex/limits.ts`), but a host may have thousands of routes.
 */
const mostWork = 1_000_000;
// Finding a route is synchronous, so one request at a time counts.
let workLeft: number = mostWork;

/** Begins the search for the route of another request. */
export function beginSearch(): void {
  workLeft = mostWork;
}

/** @throws GatewayError route_work_limit */
function spend(units: number): void {
  workLeft -= units;
  if (workLeft < 0) throw new GatewayError('route_work_limit', { detail: `more than ${mostWork} units` });
}

/** Regular expressions are bounded in size and in work: no route can hang the gateway. */
export function compileMatch(match: Match): CompiledMatch {
  const parts = [
    ...(match.method === undefined ? [] : [methodIs(match.method)]),
    ...match.headers.map(headerIs),
    ...(match.query.length === 0 ? [] : [queryIs(match.query)]),
  ];
  const rest = parts.length === 0 ? undefined : (request: Matchable) => parts.every((part) => part(request));
  return { path: compilePath(match.path), rest };
}

/** `/a/` and `/a` are the same prefix: whole segments (Gateway API, PathMatchPathPrefix). Normalised like paths. */
export function prefixOf(value: string): string {
  const normal = normalizePath(value) ?? value;
  return normal.endsWith('/') ? normal.slice(0, -1) : normal;
}

/**
 * The whole segments with which every path begins that a regular expression can match, without a slash at their end:
 * a router need not try it on others. Empty where the expression may begin with anything, or where telling would take
 * more than a look.
 */
export function beginningOf(regex: string): string {
  const text = regex.startsWith('^/') ? regex.slice(1) : regex;
  if (text.charCodeAt(0) !== 47 || hasAlternatives(text)) return '';
  const literal = /^[^\\.+*?()[\]{}^$|]*/.exec(text)?.[0] ?? '';
  // Characters that are optional, or repeated from zero times on, are not certain to be there.
  const sure = repeated.test(text.slice(literal.length)) ? literal.slice(0, -1) : literal;
  return sure.slice(0, Math.max(0, sure.lastIndexOf('/')));
}

/** The last character may be repeated, also behind flags or an empty quotation: `/(?i)?` and `/\Q\E?` are like `/?`. */
const repeated = /^(?:[*?{]|\(\?[\w-]*\)|\\[QE])/;

/** Is there a `|` outside all groups? May say so where it is not. */
function hasAlternatives(regex: string): boolean {
  if (!regex.includes('|')) return false;
  if (regex.includes('\\Q')) return true;
  const plain = regex.replaceAll(/\\./gs, 'x').replaceAll(/\[\^?\]?(?:\[:\^?\w+:\]|[^\]])*\]/g, 'x');
  let depth = 0;
  for (const character of plain) {
    if (character === '(') depth++;
    else if (character === ')') depth--;
    else if (character === '|' && depth <= 0) return true;
  }
  return false;
}

const paths: Record<PathMatch['kind'], (value: string) => (path: string) => boolean> = {
  exact: (value) => (path) => path === value,
  prefix: (value) => {
    const prefix = prefixOf(value);
    if (prefix === '') return () => true;
    return (path) =>
      path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === 47);
  },
  regex: wholeRegex,
};

/** Requests come with their paths normalised: what is compared with them must be, too, or it would never hold. */
const compilePath = ({ kind, value }: PathMatch): ((path: string) => boolean) =>
  paths[kind](kind === 'regex' ? value : (normalizePath(value) ?? value));

function wholeRegex(value: string): (text: string) => boolean {
  const pattern = compileRegex(value);
  return (text) => pattern.whole(text, spend);
}

const methodIs =
  (method: string) =>
  (request: Matchable): boolean =>
    request.method === method;

const compileValue = ({ kind, value }: ValueMatch): ((text: string) => boolean) =>
  kind === 'regex' ? wholeRegex(value) : (text) => text === value;

function headerIs(match: ValueMatch): (request: Matchable) => boolean {
  const name = match.name.toLowerCase();
  const pseudo = pseudoHeaders.get(name);
  if (pseudo !== undefined) {
    const { value, normal } = pseudo;
    const test = compileValue(
      normal === undefined || match.kind === 'regex' ? match : { ...match, value: normal(match.value) },
    );
    return (request) => test(value(request));
  }
  const test = compileValue(match);
  return (request) => {
    const value = request.header(name);
    return value !== undefined && test(value);
  };
}

interface PseudoHeader {
  readonly value: (request: Matchable) => string;
  /** Brings what is written into the form that requests have; expressions are compared as they are written. */
  readonly normal?: (written: string) => string;
}

const lowerCase = (text: string): string => text.toLowerCase();

/** Pseudo headers that may stand in the place of a header's name, whatever the version of HTTP (RFC 9113 §8.3.1). */
const pseudoHeaders: ReadonlyMap<string, PseudoHeader> = new Map(
  Object.entries({
    ':method': { value: ({ method }) => method },
    ':path': {
      value: ({ path, query }) => (query === '' ? path : `${path}?${query}`),
      normal: (written) => {
        const mark = written.indexOf('?');
        const path = mark < 0 ? written : written.slice(0, mark);
        return (normalizePath(path) ?? path) + (mark < 0 ? '' : written.slice(mark));
      },
    },
    ':authority': { value: ({ authority }) => authority, normal: lowerCase },
    ':scheme': { value: ({ scheme }) => scheme, normal: lowerCase },
  } satisfies Record<string, PseudoHeader>),
);

function queryIs(matches: readonly ValueMatch[]): (request: Matchable) => boolean {
  const tests = matches.map((match) => ({ name: match.name, test: compileValue(match) }));
  return ({ query }) => {
    if (query !== latestQuery) {
      latestQuery = query;
      latestParameters = parametersOf(query);
    }
    return tests.every(({ name, test }) => {
      const value = latestParameters.get(name);
      return value !== undefined && test(value);
    });
  };
}

/** The query of the request that looks for its route: parsed once, however many matches look at it. */
let latestQuery = '';
let latestParameters: ReadonlyMap<string, string> = new Map();

/** The first value of a repeated parameter counts, as the Gateway API recommends. */
function parametersOf(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query))
    if (!parameters.has(name)) parameters.set(name, value);
  return parameters;
}
