import type { Match, ValueMatch } from '../../model/index.ts';
import { compileMatch, type Matchable } from './match.ts';

const everyPath = { kind: 'prefix', value: '/' } as const;
const kinds = { exact: 'exactly', prefix: 'below', regex: 'regex' };

/** A match as `portcullis explain` shows it. */
export function matchText({ method, path, headers, query }: Match): string {
  const conditions = [...headers.map(named('header')), ...query.map(named('query'))];
  return [method ?? 'any method', `${kinds[path.kind]} ${path.value}`, ...conditions].join(', ');
}

/** The part of a match that a request does not fulfil; undefined where it fulfils all. Values of the request are not shown. */
export function mismatch(match: Match, request: Matchable): string | undefined {
  if (!compileMatch({ path: match.path, headers: [], query: [] }).path(request.path))
    return 'the path differs';
  const fails = (part: Partial<Match>): boolean =>
    compileMatch({ path: everyPath, headers: [], query: [], ...part }).rest?.(request) === false;
  if (match.method !== undefined && fails({ method: match.method }))
    return `the method is not ${match.method}`;
  const header = match.headers.find((one) => fails({ headers: [one] }));
  if (header !== undefined) return `not ${named('header')(header)}`;
  const parameter = match.query.find((one) => fails({ query: [one] }));
  return parameter === undefined ? undefined : `not ${named('query')(parameter)}`;
}

const named =
  (part: string) =>
  ({ name, kind, value }: ValueMatch): string =>
    `${part} ${name} ${kind === 'exact' ? '=' : '~'} ${value}`;
