/**
 * Finds its way through JSON text without building values, so that a message can be passed on as it was written
 * with only an id replaced. Offsets are indices of the string. On text that is not JSON the scanner never
 * throws and never loops: it says `broken` or -1. It does not replace a parser: it checks structure, not each token.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** First index at or after `at` that is not JSON white space. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  for (;;) {
    const c = text.charCodeAt(i);
    if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return i;
    i++;
  }
}

/** `at` is the opening quote; answers the index after the closing one, or -1. */
export function skipString(text: string, at: number): number {
  let from = at + 1;
  for (;;) {
    const end = text.indexOf('"', from);
    if (end < 0) return -1;
    // An even number of backslashes before a quote leaves it unescaped.
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) & 1) return end + 1;
    // A text with an escaped quote has others, and a search for each costs more than a look at each character.
    const far = end + nearby;
    for (from = end + 1; from < far; from++) {
      const c = text.charCodeAt(from);
      if (c === QUOTE) return from + 1;
      if (c === BACKSLASH) from++;
      else if (c !== c) return -1;
    }
  }
}

/** Characters behind an escaped quote that are read one by one. */
const nearby = 4_096;

/** `at` is the first character of a value; answers the index after its last, or -1. */
export function skipValue(text: string, at: number): number {
  const c = text.charCodeAt(at);
  if (c === QUOTE) return skipString(text, at);
  if (c === OPEN_OBJECT || c === OPEN_LIST) return skipNested(text, at);
  let end = at;
  for (;;) {
    const d = text.charCodeAt(end);
    // NaN (the end of the text) fails every comparison.
    if (!(d > 0x20) || d === COMMA || d === CLOSE_OBJECT || d === CLOSE_LIST || d === COLON || d === QUOTE)
      return end > at ? end : -1;
    end++;
  }
}

function skipNested(text: string, at: number): number {
  let depth = 0;
  let i = at;
  for (;;) {
    const c = text.charCodeAt(i);
    if (c === QUOTE) {
      i = skipString(text, i);
      if (i < 0) return -1;
      continue;
    }
    i++;
    if (c === OPEN_OBJECT || c === OPEN_LIST) depth++;
    else if (c === CLOSE_OBJECT || c === CLOSE_LIST) {
      if (--depth === 0) return i;
    } else if (c !== c) return -1;
  }
}

/** The common part of members and elements: values in a row, with commas between them, up to a bracket. */
abstract class Sequence {
  /** The start of the value that `next` reached. */
  start = 0;
  end = 0;
  /** True when the text is not such a row after all. */
  broken: boolean;
  /** After the last value: the index after the closing bracket. */
  after: number;
  protected readonly text: string;
  private readonly close: number;
  private first = true;

  /** `at` is the index of the opening bracket. */
  constructor(text: string, at: number, open: number, close: number) {
    this.text = text;
    this.after = at + 1;
    this.close = close;
    this.broken = text.charCodeAt(at) !== open;
  }

  next(): boolean {
    if (this.broken) return false;
    const text = this.text;
    let i = skipSpace(text, this.after);
    const c = text.charCodeAt(i);
    if (c === this.close) {
      this.after = i + 1;
      return false;
    }
    if (!this.first) {
      if (c !== COMMA) return this.fault();
      i = skipSpace(text, i + 1);
    }
    this.first = false;
    i = this.valueAt(i);
    const end = i < 0 ? -1 : skipValue(text, i);
    if (end < 0) return this.fault();
    this.start = i;
    this.end = end;
    this.after = end;
    return true;
  }

  /** The start of the value, `i` being behind the comma; -1 if the text is at fault. */
  protected abstract valueAt(i: number): number;

  private fault(): false {
    this.broken = true;
    return false;
  }
}

/** The members of one object, in order: `while (m.next())` then read `key`, `start` and `end` of the value. */
export class Members extends Sequence {
  key = '';

  constructor(text: string, at: number) {
    super(text, at, OPEN_OBJECT, CLOSE_OBJECT);
  }

  protected override valueAt(i: number): number {
    const text = this.text;
    if (text.charCodeAt(i) !== QUOTE) return -1;
    const keyEnd = skipString(text, i);
    if (keyEnd < 0) return -1;
    const key = decodeString(text, i, keyEnd);
    const colon = skipSpace(text, keyEnd);
    if (key === undefined || text.charCodeAt(colon) !== COLON) return -1;
    this.key = key;
    return skipSpace(text, colon + 1);
  }
}

/** The elements of one list, in order: `while (e.next())` then read `start` and `end`. */
export class Elements extends Sequence {
  constructor(text: string, at: number) {
    super(text, at, OPEN_LIST, CLOSE_LIST);
  }

  protected override valueAt(i: number): number {
    return i;
  }
}

/** The string between the quotes at `start` and before `end`, or undefined where an escape is wrong. */
export function decodeString(text: string, start: number, end: number): string | undefined {
  const raw = text.slice(start + 1, end - 1);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(text.slice(start, end)) as string;
  } catch {
    return undefined;
  }
}

/** A piece of a text and what is to stand there instead. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Most edits come in the order of the text, and a copy of the list costs more than a look. */
function isInOrder(edits: readonly Edit[]): boolean {
  for (let at = 1; at < edits.length; at++) if (edits[at]!.start < edits[at - 1]!.start) return false;
  return true;
}

/** The text with every edit done; edits may come in any order and must not overlap. */
export function splice(text: string, edits: readonly Edit[]): string {
  const ordered = isInOrder(edits) ? edits : edits.toSorted((a, b) => a.start - b.start);
  let out = '';
  let at = 0;
  for (const edit of ordered) {
    out += text.slice(at, edit.start) + edit.replacement;
    at = edit.end;
  }
  return out + text.slice(at);
}
