import { RE2JS } from 're2js';
import { normalizePath } from '../http/index.ts';
import type { Match, PathMatch, ValueMatch } from '../model/index.ts';

/** What a match may look at. */
export interface Matchable {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  header(name: string): string | undefined;
}

/** A compiled match: does the request fulfil all its parts? */
export interface CompiledMatch {
  path(path: string): boolean;
  /** Everything but the path; undefined where the path is all. */
  readonly rest: ((request: Matchable) => boolean) | undefined;
}

/** Regexes run in linear time (RE2): a pattern cannot hang the gateway. */
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
  // What may be left out, or repeated from zero times on, is not sure to be there.
  const sure = /[*?{]/.test(text.charAt(literal.length)) ? literal.slice(0, -1) : literal;
  return sure.slice(0, Math.max(0, sure.lastIndexOf('/')));
}

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
  const pattern = RE2JS.compile(value);
  return (text) => pattern.matches(text);
}

const methodIs =
  (method: string) =>
  (request: Matchable): boolean =>
    request.method === method;

const compileValue = ({ kind, value }: ValueMatch): ((text: string) => boolean) =>
  kind === 'regex' ? wholeRegex(value) : (text) => text === value;

function headerIs(match: ValueMatch): (request: Matchable) => boolean {
  const name = match.name.toLowerCase();
  const test = compileValue(match);
  return (request) => {
    const value = pseudoHeader(request, name) ?? request.header(name);
    return value !== undefined && test(value);
  };
}

/** `:method` and `:path` may stand where a header name does. */
function pseudoHeader(request: Matchable, name: string): string | undefined {
  if (name.charCodeAt(0) !== 58) return undefined;
  if (name === ':method') return request.method;
  if (name === ':path') return request.query === '' ? request.path : `${request.path}?${request.query}`;
  return name === ':authority' ? request.header('host') : undefined;
}

function queryIs(matches: readonly ValueMatch[]): (request: Matchable) => boolean {
  const tests = matches.map((match) => ({ name: match.name, test: compileValue(match) }));
  return (request) => {
    const query = new URLSearchParams(request.query);
    // Of a repeated parameter the first counts, as the Gateway API recommends.
    return tests.every(({ name, test }) => {
      const value = query.get(name);
      return value !== null && test(value);
    });
  };
}
