import {
  CelScalar,
  celFunc,
  celList,
  celMethod,
  isCelList,
  listType,
  type CelFunc,
  type CelList,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { compileRegex, compileUnits, type Regex } from '../../regex/index.ts';
import { indexOf, lastIndexOf, placesOf } from '../evaluate/search.ts';
import { charge } from '../limits.ts';

const { BOOL, DYN, INT, STRING } = CelScalar;
const LIST = listType(DYN);

/**
 * Functions of the strings extension whose time grows with more than the lengths of their texts, or that make a text
 * character by character: done here instead.
 */
const replaced: readonly CelFunc[] = [
  celMethod('indexOf', STRING, [STRING], INT, function (part) {
    return BigInt(indexOf(String(this), part));
  }),
  celMethod('indexOf', STRING, [STRING, INT], INT, function (part, from) {
    return BigInt(indexOf(String(this), part, place(this.length, from)));
  }),
  celMethod('lastIndexOf', STRING, [STRING], INT, function (part) {
    return BigInt(lastIndexOf(String(this), part));
  }),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (part, from) {
    return BigInt(lastIndexOf(String(this), part, place(this.length, from)));
  }),
  celMethod('lowerAscii', STRING, [], STRING, function () {
    return lowerAscii(String(this));
  }),
  celMethod('upperAscii', STRING, [], STRING, function () {
    return withAscii(String(this), (run) => run.toUpperCase());
  }),
  celMethod('replace', STRING, [STRING, STRING], STRING, function (part, by) {
    return replace(String(this), part, by, Infinity);
  }),
  celMethod('replace', STRING, [STRING, STRING, INT], STRING, function (part, by, most) {
    return replace(String(this), part, by, most < 0n ? Infinity : Number(most));
  }),
  celMethod('split', STRING, [STRING], LIST, function (by) {
    return celList(split(String(this), by, Infinity));
  }),
  celMethod('split', STRING, [STRING, INT], LIST, function (by, most) {
    return celList(split(String(this), by, most < 0n ? Infinity : Number(most)));
  }),
  celMethod('join', LIST, [], STRING, function () {
    return join(this, '');
  }),
  celMethod('join', LIST, [STRING], STRING, function (by) {
    return join(this, by);
  }),
];

const done = new Set(replaced.map(({ id }) => id));

/** The strings extension, prefixes, and regular expressions whose work is bounded. */
export const textFunctions: readonly CelFunc[] = [
  ...strings.filter(({ id }) => !done.has(id)),
  ...replaced,
  celMethod('stripPrefix', STRING, [STRING], STRING, function (prefix) {
    return this.startsWith(prefix) ? this.slice(prefix.length) : String(this);
  }),
  celMethod('stripSuffix', STRING, [STRING], STRING, function (suffix) {
    return this.endsWith(suffix) ? this.slice(0, this.length - suffix.length) : String(this);
  }),
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    return regex(pattern).part(String(this), charge);
  }),
  celFunc('matches', [STRING, STRING], BOOL, (text, pattern) => regex(pattern).part(text, charge)),
  celMethod('regexReplace', STRING, [STRING, STRING], STRING, function (pattern, replacement) {
    return regex(pattern).replaceAll(String(this), replacement, charge);
  }),
];

/** A place in a text of this length, or an error, as the extension has it. */
function place(length: number, at: bigint): number {
  if (at < 0n || at >= BigInt(length)) throw new Error(`index ${at} out of bounds [0, ${length})`);
  return Number(at);
}

export const lowerAscii = (text: string): string => withAscii(text, (run) => run.toLowerCase());

function withAscii(text: string, change: (run: string) => string): string {
  charge(4 + (text.length >> 2));
  if (!beyondAscii.test(text)) return change(text);
  charge(8 * text.length);
  return text.replace(asciiRuns, change);
}

// eslint-disable-next-line no-control-regex -- the whole range of ASCII
const beyondAscii = /[^\x00-\x7f]/;
// eslint-disable-next-line no-control-regex -- the whole range of ASCII
const asciiRuns = /[\x00-\x7f]+/g;

/** An empty part stands between all characters, and before and behind them. */
function replace(text: string, part: string, by: string, most: number): string {
  if (part === '') {
    const characters = Math.min(text.length + 1, most);
    charge(4 * text.length + by.length * characters);
    return (
      Array.from(text.split(''), (character, i) => (i < most ? by + character : character)).join('') +
      (text.length < most ? by : '')
    );
  }
  const places = placesOf(text, part, most);
  if (places.length === 0) return text;
  charge(4 + 4 * places.length + ((text.length + by.length * places.length) >> 1));
  const pieces: string[] = [];
  let from = 0;
  for (const at of places) {
    pieces.push(text.slice(from, at), by);
    from = at + part.length;
  }
  pieces.push(text.slice(from));
  return pieces.join('');
}

/** At most so many parts; the rest is left out, as the extension has it. */
function split(text: string, by: string, most: number): string[] {
  if (most === 1) return [text];
  if (by === '') {
    charge(4 * Math.min(text.length, most));
    return text.split('', Number.isFinite(most) ? most : undefined);
  }
  const parts: string[] = [];
  let from = 0;
  for (const at of placesOf(text, by, most)) {
    parts.push(text.slice(from, at));
    from = at + by.length;
  }
  if (parts.length < most) parts.push(text.slice(from));
  return parts;
}

function join(list: CelList, by: string): string {
  charge(4 + 8 * list.size);
  const parts: string[] = [];
  let length = 0;
  for (const part of isCelList(list) ? list : []) {
    if (typeof part !== 'string')
      throw new Error('invalid argument to function join: list contains non-string value');
    length += part.length + by.length;
    parts.push(part);
  }
  charge(length >> 1);
  return parts.join(by);
}

/** Compiled patterns that are not written out in an expression. Bounded: clients may choose them. */
const patterns = new Map<string, Regex>();

/** @throws Error for a text that is not a pattern */
function regex(pattern: string): Regex {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  charge(compileUnits(pattern));
  const compiled = compileRegex(pattern);
  if (patterns.size >= 256) patterns.clear();
  patterns.set(pattern, compiled);
  return compiled;
}
