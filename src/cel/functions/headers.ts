import { CelScalar, celMethod, isCelList, listType, mapType } from '@bufbuild/cel';
import type { CelFunc, CelInput, CelMap } from '@bufbuild/cel';
import { NoSuchKey } from '../failure.ts';
import { percentEncoded } from './encoding.ts';

const { DYN, STRING } = CelScalar;
const MAP = mapType(DYN, DYN);

/** Views of header fields, and queries of paths and URIs. */
export const headerFunctions: readonly CelFunc[] = [
  celMethod('raw', MAP, [], MAP, function () {
    return view(this, (lines) => lines);
  }),
  celMethod('split', MAP, [], MAP, function () {
    return view(this, (lines) => lines.flatMap((line) => line.split(',').map((part) => part.trim())));
  }),
  celMethod('join', MAP, [], MAP, function () {
    return view(this, (lines) => lines.join(','));
  }),
  celMethod('redacted', MAP, [], MAP, function () {
    return new Map(
      [...this.entries()].map(([name, value]) => {
        const secret = sensitive.has(String(name).toLowerCase());
        return [String(name), secret ? '<redacted>' : value] as [string, CelInput];
      }),
    );
  }),
  celMethod('cookie', MAP, [STRING], STRING, function (name) {
    for (const line of linesOf(this.get('cookie')))
      for (const pair of line.split(';')) {
        const equals = pair.indexOf('=');
        if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
      }
    throw new NoSuchKey(`no such cookie: ${name}`);
  }),

  celMethod('query', STRING, [STRING], listType(DYN), function (name) {
    const { pairs } = parted(String(this));
    const values = new URLSearchParams(pairs.join('&')).getAll(name);
    if (values.length === 0) throw new NoSuchKey(`no such query parameter: ${name}`);
    return values;
  }),
  celMethod('addQuery', STRING, [STRING, STRING], STRING, function (name, value) {
    const { path, pairs, rest } = parted(String(this));
    return `${path}?${[...pairs, pair(name, value)].join('&')}${rest}`;
  }),
  celMethod('setQuery', STRING, [STRING, STRING], STRING, function (name, value) {
    const { path, pairs, rest } = parted(String(this));
    const isOther = (one: string): boolean => !new URLSearchParams(one).has(name);
    const first = pairs.findIndex((one) => !isOther(one));
    const at = first < 0 ? pairs.length : first;
    const changed = [...pairs.slice(0, at), pair(name, value), ...pairs.slice(at).filter(isOther)];
    return `${path}?${changed.join('&')}${rest}`;
  }),
];

/** Fields whose values are credentials. */
const sensitive = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie'],
  ...['x-api-key', 'api-key', 'x-auth-token', 'x-goog-api-key', 'x-amz-security-token'],
]);

function linesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return isCelList(value) ? [...value].map(String) : [];
}

function view(headers: CelMap, of: (lines: string[]) => string | string[]): Map<string, CelInput> {
  return new Map([...headers.entries()].map(([name, value]) => [String(name), of(linesOf(value))]));
}

/** Unchanged parts stay as they were written. */
function parted(uri: string): { path: string; pairs: string[]; rest: string } {
  const hash = uri.indexOf('#');
  const rest = hash < 0 ? '' : uri.slice(hash);
  const plain = hash < 0 ? uri : uri.slice(0, hash);
  const mark = plain.indexOf('?');
  if (mark < 0) return { path: plain, pairs: [], rest };
  return {
    path: plain.slice(0, mark),
    pairs: plain
      .slice(mark + 1)
      .split('&')
      .filter(Boolean),
    rest,
  };
}

const pair = (name: string, value: string): string => `${percentEncoded(name)}=${percentEncoded(value)}`;
