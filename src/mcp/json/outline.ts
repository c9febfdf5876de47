/**
 * Finds the members that a reader will ask for in the bytes of checked JSON, so that nobody needs to search the text
 * for them. The walk can stop at any byte and go on later, so that a large message does not hold up others.
 */

import { isLike, type Found, type FoundMembers, type Span } from './envelope.ts';
import { isSeparator } from './oneLine.ts';
import { decodeString } from './scan.ts';

/** Names of members to find in an object, each with the names to find in its value where that is an object. */
export interface WatchedMembers extends ReadonlyMap<string, WatchedMembers | undefined> {}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Bytes of the longest key that is decoded: a watched name has at most 37 characters, and an escape six bytes. */
const maxKey = 256;

/** An object or list that the walk looks into. */
interface Level {
  readonly parent: Level | undefined;
  /** Undefined for the list around the messages of a batch. */
  readonly watched: WatchedMembers | undefined;
  /** Offset of the message. */
  readonly base: number;
  readonly found: Map<string, Found>;
  /** The watched member that the walk is in. */
  name: string | undefined;
  /** Offset of the value that the walk is in. */
  valueAt: number;
  /** Members of that value, where the walk looked into it. */
  inner: FoundMembers | undefined;
}

export interface OutlineOptions {
  readonly watched: WatchedMembers;
  /** Messages of a batch that are recorded. */
  readonly maxMessages: number;
}

export class Outline {
  /** The text is a list of messages. */
  isBatch = false;
  /** A character that `oneLine` escapes stands in the text. */
  hasSeparators = false;
  /** Places of the messages in the text; places within a message count from its first character. */
  readonly messages: Span[] = [];
  private readonly bytes: Buffer;
  private readonly options: OutlineOptions;
  private at = 0;
  /** Characters that the text has less than bytes, up to here. */
  private shrunk = 0;
  private level: Level | undefined;
  /** Brackets that are open within the level. */
  private nested = 0;
  private inString = false;
  private expectsKey = false;
  /** The start of the key that the walk is in; -1 in other strings. */
  private keyAt = -1;
  private root: FoundMembers | undefined;

  /** @param bytes valid JSON in UTF-8, without white space between tokens */
  constructor(bytes: Buffer, options: OutlineOptions) {
    this.bytes = bytes;
    this.options = options;
  }

  /**
   * Goes on for about so many bytes.
   * @returns whether the walk is over
   */
  run(bytes: number): boolean {
    const stop = Math.min(this.bytes.length, this.at + bytes);
    while (this.at < stop) {
      if (this.inString) this.string(stop);
      else this.token();
    }
    if (this.at < this.bytes.length) return false;
    if (!this.isBatch) this.messages.push(place(0, this.length, this.root));
    return true;
  }

  /** Characters of the text with its separators escaped, up to here. */
  get length(): number {
    return this.at - this.shrunk;
  }

  private token(): void {
    const c = this.bytes[this.at];
    if (c === QUOTE) {
      this.inString = true;
      this.keyAt = this.nested === 0 && this.expectsKey ? this.at + 1 : -1;
    } else if (c === OPEN_OBJECT || c === OPEN_LIST) this.enter(c);
    else if (c === CLOSE_OBJECT || c === CLOSE_LIST) this.leave();
    else if (this.nested === 0 && this.level !== undefined) {
      if (c === COMMA) this.comma(this.level);
      else if (c === COLON) this.level.valueAt = this.length + 1 - this.level.base;
    }
    this.at++;
  }

  /** The rest of a string, up to `stop` or its end. */
  private string(stop: number): void {
    const { bytes } = this;
    let i = this.at;
    while (i < stop) {
      const c = bytes[i]!;
      if (c === QUOTE) {
        this.inString = false;
        if (this.keyAt >= 0) this.key(this.keyAt, i);
        i++;
        break;
      }
      if (c === BACKSLASH) i++;
      else if (c >= 0x80) this.shrunk += this.shrinks(c, i);
      i++;
    }
    this.at = i;
  }

  /** Characters that the text has less than bytes, because of the byte `c`. */
  private shrinks(c: number, at: number): number {
    if (c < 0xc0) return 1;
    if (c >= 0xf0) return -1;
    if (!isSeparator(this.bytes, at)) return 0;
    this.hasSeparators = true;
    return -5;
  }

  private key(start: number, end: number): void {
    const level = this.level!;
    this.expectsKey = false;
    if (end - start > maxKey) return;
    const written = this.bytes.toString('utf8', start - 1, end + 1);
    const key = decodeString(written, 0, written.length)!;
    const { found } = level;
    if (!found.has(key)) {
      for (const name of found.keys()) if (isLike(key, name)) found.set(name, 'ambiguous');
    } else if (found.get(key) !== undefined) found.set(key, 'ambiguous');
    else level.name = key;
  }

  private enter(bracket: number): void {
    const { level } = this;
    const watched = this.nested > 0 ? undefined : this.watchedIn(bracket);
    if (watched !== undefined) {
      const isMessage = level === undefined || level.watched === undefined;
      this.level = newLevel(level, watched, isMessage ? this.length : level.base);
      this.expectsKey = true;
    } else if (level === undefined) {
      this.isBatch = true;
      this.level = newLevel(undefined, undefined, 0);
    } else this.nested++;
  }

  /** The members to find in the value that begins; undefined where there are none. */
  private watchedIn(bracket: number): WatchedMembers | undefined {
    const { level, messages } = this;
    if (bracket !== OPEN_OBJECT) return undefined;
    if (level === undefined) return this.options.watched;
    if (level.watched === undefined)
      return messages.length < this.options.maxMessages ? this.options.watched : undefined;
    return level.name === undefined ? undefined : level.watched.get(level.name);
  }

  private leave(): void {
    if (this.nested > 0) {
      this.nested--;
      return;
    }
    const level = this.level!;
    this.finish(level);
    this.expectsKey = false;
    this.level = level.parent;
    if (level.parent === undefined) this.root = level.found;
    else level.parent.inner = level.found;
  }

  private comma(level: Level): void {
    this.finish(level);
    if (level.watched === undefined) level.valueAt = this.length + 1;
    else this.expectsKey = true;
  }

  /** The value that the walk was in has ended. */
  private finish(level: Level): void {
    const { name, valueAt, inner } = level;
    const value = place(valueAt, this.length - level.base, inner);
    if (level.watched !== undefined) {
      if (name !== undefined) level.found.set(name, value);
    } else if (value.end > value.start && this.messages.length <= this.options.maxMessages)
      this.messages.push(value);
    level.name = undefined;
    level.inner = undefined;
  }
}

const newLevel = (parent: Level | undefined, watched: WatchedMembers | undefined, base: number): Level => ({
  parent,
  watched,
  base,
  found: new Map([...(watched?.keys() ?? [])].map((name) => [name, undefined])),
  name: undefined,
  // In a list, the first value begins behind the bracket.
  valueAt: 1,
  inner: undefined,
});

const place = (start: number, end: number, members: FoundMembers | undefined): Span =>
  members === undefined ? { start, end } : { start, end, members };
