import type { Reading, Seen } from '../../fuzz/seen.ts';

/**
 * The habits of a reader of HTTP/1.1 for messages that RFC 9112 does not describe. Strict is what a message must
 * survive to be one; each of the others is a habit that some server has had (`readers.ts`). It shares nothing
 * with the gateway's own reader: what that gets wrong must not be wrong here in the same way.
 */
export interface Habits {
  /** The line end: CRLF only, a line feed, or a lone carriage return as well. */
  readonly lineEnd: 'crlf' | 'lf' | 'any';
  /** Parts of the request line: one space between them, or any white space around and between. */
  readonly requestLine: 'exact' | 'loose';
  /** Field names: a token right before the colon; trimmed of white space; anything before the colon; `_` is `-`. */
  readonly name: 'token' | 'trimmed' | 'anything' | 'underscore';
  /** A line that begins with white space: an error, part of the value before it, or a field of its own. */
  readonly fold: 'refuse' | 'join' | 'field';
  /** Bytes of a value: the grammar, anything, or nothing behind a NUL. */
  readonly value: 'grammar' | 'anything' | 'untilNul';
  /** White space around a value: space and tab, or whatever Unicode takes for it. */
  readonly trim: 'ows' | 'unicode';
  /** A number: digits only, or whatever a number can be found at the front of. */
  readonly number: 'digits' | 'prefix';
  /** Several lengths: an error, the first, or the last. */
  readonly lengths: 'one' | 'first' | 'last';
  /** The sign of a chunked body: the one coding `chunked`, its being last, being first, or being in there. */
  readonly coding: 'exact' | 'last' | 'first' | 'contains';
  /** A coding that is not chunked: an error, or ignored. */
  readonly unknownCoding: 'refuse' | 'ignore';
  /** A length and a coding: an error, or which of them counts. */
  readonly both: 'refuse' | 'coding' | 'length';
  /** The line of a chunk's size: the grammar, or whatever stands behind the number. */
  readonly chunkLine: 'grammar' | 'anything';
  /** Behind the data of a chunk: CRLF, or whatever comes. */
  readonly chunkEnd: 'crlf' | 'any';
  /** Trailers: fields like others, or fields that are merged into the head for who asks afterwards. */
  readonly trailers: 'grammar' | 'anything';
}

export const strict: Habits = {
  lineEnd: 'crlf',
  requestLine: 'exact',
  name: 'token',
  fold: 'refuse',
  value: 'grammar',
  trim: 'ows',
  number: 'digits',
  lengths: 'one',
  coding: 'exact',
  unknownCoding: 'refuse',
  both: 'refuse',
  chunkLine: 'grammar',
  chunkEnd: 'crlf',
  trailers: 'grammar',
};

/** The message at the front of a text: whole, still growing, or none. */
export type Front =
  | { readonly kind: 'message'; readonly seen: Seen; readonly end: number }
  | { readonly kind: 'more'; readonly seen: Seen | undefined }
  | { readonly kind: 'bad'; readonly why: string; readonly seen: Seen | undefined };

/** The facts about the present message that are known from elsewhere. */
export interface Surroundings {
  /** Methods of the requests that answers belong to, in order; GET where there are none left. */
  readonly methods?: readonly string[];
  /** Set if the text is at its end. */
  readonly ended?: boolean;
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const value = /^[\t\x20-\x7e\x80-\xff]*$/;
const requestLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP\/1\.[01]$/;
const looseRequestLine = /^\s*(\S+)\s+(\S.*?)\s+HTTP\/\S*\s*$/s;
const statusLine = /^HTTP\/1\.[01] ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const looseStatusLine = /^\s*HTTP\/\S+\s+(\d{3})/s;
const chunkLine =
  /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:=(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+|"(?:[\t\x20!\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/;

class Refused extends Error {}

/** Reads one message. @param text one character a byte */
export function readOne(
  text: string,
  from: number,
  direction: 'request' | 'answer',
  habits: Habits,
  { methods = [], ended = false }: Surroundings = {},
): Front {
  let seen: Seen | undefined;
  try {
    const start = line(text, from, habits);
    if (start === undefined) return { kind: 'more', seen };
    const first =
      direction === 'request' ? readRequestLine(start.text, habits) : readStatusLine(start.text, habits);
    const head = readFields(text, start.end, habits);
    if (head === undefined) return { kind: 'more', seen };
    seen = { ...first, fields: head.fields, body: '', complete: false };
    const end = readBody(text, head.end, habits, seen, direction, methods[0] ?? 'GET', ended);
    if (end === undefined) return { kind: 'more', seen };
    seen.complete = true;
    return { kind: 'message', seen, end };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { kind: 'bad', why: error.message, seen };
  }
}

/** Reads message after message. */
export function readAll(
  text: string,
  direction: 'request' | 'answer',
  habits: Habits,
  { methods = [], ended = false }: Surroundings = {},
): Reading {
  const reading: Reading = { messages: [], refusal: undefined, closed: false };
  const left = [...methods];
  for (let at = 0; at < text.length;) {
    const front = readOne(text, at, direction, habits, { methods: left, ended });
    if (front.seen !== undefined) reading.messages.push(front.seen);
    if (front.kind === 'bad') reading.refusal = front.why;
    if (front.kind !== 'message') break;
    if (direction === 'answer' && Number(front.seen.start) >= 200) left.shift();
    at = front.end;
  }
  return reading;
}

function line(text: string, from: number, { lineEnd }: Habits): { text: string; end: number } | undefined {
  const feed = text.indexOf('\n', from);
  const carriage = text.indexOf('\r', from);
  if (lineEnd === 'any' && carriage !== -1 && (feed === -1 || carriage < feed)) {
    if (carriage + 1 === text.length) return undefined;
    return { text: text.slice(from, carriage), end: carriage + (text[carriage + 1] === '\n' ? 2 : 1) };
  }
  if (feed === -1) {
    // A carriage return in the middle of a line that has no end yet will not get better.
    if (lineEnd === 'crlf' && carriage !== -1 && carriage + 1 < text.length) throw new Refused('bare CR');
    return undefined;
  }
  if (lineEnd !== 'crlf') {
    const end = feed > from && text[feed - 1] === '\r' ? feed - 1 : feed;
    return { text: text.slice(from, end), end: feed + 1 };
  }
  if (carriage !== feed - 1 || carriage < from) throw new Refused('bare CR or LF');
  return { text: text.slice(from, carriage), end: feed + 1 };
}

function readRequestLine(start: string, habits: Habits): { start: string; target: string } {
  const parts = (habits.requestLine === 'exact' ? requestLine : looseRequestLine).exec(start);
  if (parts === null) throw new Refused('request line');
  return { start: parts[1] as string, target: parts[2] as string };
}

function readStatusLine(start: string, habits: Habits): { start: string; target: string } {
  const parts = (habits.requestLine === 'exact' ? statusLine : looseStatusLine).exec(start);
  if (parts === null) throw new Refused('status line');
  return { start: parts[1] as string, target: '' };
}

function readFields(
  text: string,
  from: number,
  habits: Habits,
): { fields: [string, string][]; end: number } | undefined {
  const fields: [string, string][] = [];
  for (let at = from; ;) {
    const next = line(text, at, habits);
    if (next === undefined) return undefined;
    at = next.end;
    if (next.text === '') return { fields, end: at };
    let { text: content } = next;
    if (/^[ \t]/.test(content)) {
      if (habits.fold === 'refuse') throw new Refused('folded line');
      const before = fields.at(-1);
      if (habits.fold === 'join' && before !== undefined) {
        before[1] += ` ${trimmed(content, habits)}`;
        continue;
      }
      content = content.trim();
    }
    const colon = content.indexOf(':');
    if (colon === -1) {
      // A reader that is not strict about names skips such a line.
      if (habits.name === 'token') throw new Refused('line without a colon');
      continue;
    }
    fields.push([fieldName(content.slice(0, colon), habits), fieldValue(content.slice(colon + 1), habits)]);
  }
}

function fieldName(name: string, { name: habit }: Habits): string {
  if (habit === 'token' && !token.test(name)) throw new Refused('field name');
  if (habit === 'trimmed') return name.trim().toLowerCase();
  return habit === 'underscore' ? name.toLowerCase().replaceAll('_', '-') : name.toLowerCase();
}

function fieldValue(raw: string, habits: Habits): string {
  if (habits.value === 'grammar' && !value.test(raw)) throw new Refused('field value');
  const nul = raw.indexOf('\0');
  return trimmed(habits.value === 'untilNul' && nul !== -1 ? raw.slice(0, nul) : raw, habits);
}

const trimmed = (text: string, { trim }: Habits): string =>
  trim === 'ows'
    ? text.replaceAll(/^[ \t]+|[ \t]+$/g, '')
    : text.replaceAll(/^[\s\0\x85]+|[\s\0\x85]+$/g, '');

const valuesOf = ({ fields }: Seen, name: string): string[] =>
  fields.filter(([known]) => known === name).map(([, content]) => content);

/** @returns where the message ends, undefined where that is not there yet; `seen.body` holds what is */
function readBody(
  text: string,
  from: number,
  habits: Habits,
  seen: Seen,
  direction: 'request' | 'answer',
  method: string,
  ended: boolean,
): number | undefined {
  const codings = valuesOf(seen, 'transfer-encoding');
  const lengths = valuesOf(seen, 'content-length');
  const chunked = isChunked(codings, habits);
  const length = lengthOf(lengths, habits);
  if (codings.length > 0 && lengths.length > 0 && habits.both === 'refuse')
    throw new Refused('length and coding');
  if (direction === 'answer') {
    const status = Number(seen.start);
    if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return from;
  }
  if (chunked && !(length !== undefined && habits.both === 'length'))
    return readChunks(text, from, habits, seen);
  if (length === undefined) {
    if (direction === 'request') return from;
    seen.body = text.slice(from);
    return ended ? text.length : undefined;
  }
  seen.body = text.slice(from, from + length);
  return text.length - from < length ? undefined : from + length;
}

function isChunked(codings: readonly string[], habits: Habits): boolean {
  if (codings.length === 0) return false;
  const list = codings
    .join(',')
    .toLowerCase()
    .split(',')
    .map((coding) => trimmed(coding, habits));
  const found = {
    exact: codings.length === 1 && list[0] === 'chunked' && list.length === 1,
    last: list.at(-1) === 'chunked',
    first: list[0] === 'chunked',
    contains: codings.join(',').toLowerCase().includes('chunked'),
  }[habits.coding];
  if (!found && habits.unknownCoding === 'refuse') throw new Refused('transfer coding');
  return found;
}

function lengthOf(lengths: readonly string[], habits: Habits): number | undefined {
  if (lengths.length === 0) return undefined;
  if (lengths.length > 1 && habits.lengths === 'one') throw new Refused('several lengths');
  const text = (habits.lengths === 'last' ? lengths.at(-1) : lengths[0]) as string;
  if (habits.number === 'digits' ? !/^\d{1,15}$/.test(text) : Number.isNaN(Number.parseInt(text, 10)))
    throw new Refused('length');
  return Math.max(0, Number.parseInt(text, 10));
}

function readChunks(text: string, from: number, habits: Habits, seen: Seen): number | undefined {
  for (let at = from; ;) {
    const size = line(text, at, habits);
    if (size === undefined) return undefined;
    const length = chunkSize(size.text, habits);
    at = size.end;
    if (length === 0) return readFields(text, at, trailerHabits(habits))?.end;
    seen.body += text.slice(at, at + length);
    if (text.length < at + length + 2) {
      const behind = text.slice(at + length);
      if (habits.chunkEnd === 'crlf' && behind !== '' && behind !== '\r') throw new Refused('end of a chunk');
      return undefined;
    }
    at += length;
    if (text.startsWith('\r\n', at)) at += 2;
    else if (habits.chunkEnd === 'crlf') throw new Refused('end of a chunk');
    else at += text[at] === '\n' ? 1 : 2;
  }
}

const trailerHabits = (habits: Habits): Habits =>
  habits.trailers === 'grammar' ? habits : { ...habits, name: 'anything', value: 'anything', fold: 'field' };

function chunkSize(text: string, habits: Habits): number {
  if (habits.chunkLine === 'grammar') {
    const parts = chunkLine.exec(text);
    if (parts === null) throw new Refused('chunk size');
    return Number.parseInt(parts[1] as string, 16);
  }
  const size = Number.parseInt(text.trim() === '' ? '0' : text, 16);
  if (Number.isNaN(size)) throw new Refused('chunk size');
  return Math.max(0, size);
}
