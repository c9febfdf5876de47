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
 * Functions of the strings extension whose time grows with more than the lengths of their texts, that make a text
 * character by character, or that count UTF-16 units or lose a rest in the library: done here instead.
 */
const replaced: readonly CelFunc[] = [
  celMethod('charAt', STRING, [INT], STRING, function (at) {
    const text = String(this);
    const start = placeOrEnd(text, at);
    return text.slice(start, start + widthAt(text, start));
  }),
  celMethod('substring', STRING, [INT], STRING, function (from) {
    const text = String(this);
    return text.slice(placeOrEnd(text, from));
  }),
  celMethod('substring', STRING, [INT, INT], STRING, function (from, to) {
    const text = String(this);
    if (from > to) throw new Error('invalid argument to function substring: start > end');
    return text.slice(placeOrEnd(text, from), placeOrEnd(text, to));
  }),
  celMethod('indexOf', STRING, [STRING], INT, function (part) {
    const text = String(this);
    return charactersBefore(text, indexOf(text, part));
  }),
  celMethod('indexOf', STRING, [STRING, INT], INT, function (part, from) {
    const text = String(this);
    return charactersBefore(text, indexOf(text, part, place(text, from)));
  }),
  celMethod('lastIndexOf', STRING, [STRING], INT, function (part) {
    const text = String(this);
    return charactersBefore(text, lastIndexOf(text, part));
  }),
  celMethod('lastIndexOf', STRING, [STRING, INT], INT, function (part, from) {
    const text = String(this);
    return charactersBefore(text, lastIndexOf(text, part, place(text, from)));
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

/** The UTF-16 unit of a character of the text. Characters are code points, as `size` counts them. @throws Error */
function place(text: string, at: bigint): number {
  const unit = placeOrEnd(text, at);
  return unit < text.length ? unit : outOfBounds(at);
}

/** The same, also for the place behind the last character. @throws Error */
function placeOrEnd(text: string, at: bigint): number {
  if (at < 0n || at > BigInt(text.length)) return outOfBounds(at);
  const characters = Number(at);
  if (!hasWide(text)) return characters;
  charge(2 * text.length);
  let unit = 0;
  for (let i = 0; i < characters; i++) {
    if (unit >= text.length) return outOfBounds(at);
    unit += widthAt(text, unit);
  }
  return unit;
}

/** @throws Error */
function outOfBounds(at: bigint): never {
  throw new Error(`index ${at} out of bounds`);
}

/** The number of characters before a UTF-16 unit; -1 stays. */
function charactersBefore(text: string, end: number): bigint {
  if (end <= 0 || !hasWide(text)) return BigInt(end);
  charge(2 * end);
  let characters = 0;
  for (let unit = 0; unit < end; characters++) unit += widthAt(text, unit);
  return BigInt(characters);
}

/** Has the text characters of two UTF-16 units? */
function hasWide(text: string): boolean {
  charge(4 + (text.length >> 2));
  return /[\ud800-\udbff]/.test(text);
}

/** UTF-16 units of the character at a unit. */
const widthAt = (text: string, unit: number): number => ((text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1);

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
    charge(4 * text.length + by.length * Math.min(text.length + 1, most));
    const characters = [...text];
    return (
      characters.map((character, i) => (i < most ? by + character : character)).join('') +
      (characters.length < most ? by : '')
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

/** At most so many parts; the last one has the rest. */
function split(text: string, by: string, most: number): string[] {
  if (most === 0) return [];
  if (by === '') {
    charge(4 * text.length);
    const characters = [...text];
    if (characters.length <= most) return characters;
    return [...characters.slice(0, most - 1), characters.slice(most - 1).join('')];
  }
  const parts: string[] = [];
  let from = 0;
  for (const at of placesOf(text, by, most - 1)) {
    parts.push(text.slice(from, at));
    from = at + by.length;
  }
  parts.push(text.slice(from));
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
