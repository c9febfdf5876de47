/** Places of values in the text of a message, and of the members of objects. */

import { Members } from './scan.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
  /** Members of the object here that were found before; a watched one that is absent stands there as undefined. */
  readonly members?: FoundMembers;
}

/** The place of a member; `ambiguous` where it is repeated. */
export type Found = Span | 'ambiguous' | undefined;
export type FoundMembers = ReadonlyMap<string, Found>;

/** Some JSON readers match keys without regard to case (Go's encoding/json folds Unicode too). */
export function foldKey(key: string): string {
  return key.toUpperCase().toLowerCase();
}

/** Could a reader take the key, which is another one, for the name? */
export const isLike = (key: string, name: string): boolean =>
  key.length === name.length && foldKey(key) === name.toLowerCase();

/** Looks for one member of an object in the text; `ambiguous` where it is repeated. */
export function scanFor(text: string, { start }: Span, name: string): Found {
  const scan = new Members(text, start);
  let found: Span | undefined;
  while (scan.next()) {
    if (scan.key !== name) {
      if (isLike(scan.key, name)) return 'ambiguous';
      continue;
    }
    if (found !== undefined) return 'ambiguous';
    found = { start: scan.start, end: scan.end };
  }
  return scan.broken ? 'ambiguous' : found;
}

/** An object with more members is searched in its text each time. */
const maxKept = 32;

/**
 * The place of a value that is asked for its members again and again: it finds all of them in its first pass over the
 * text. It belongs to one text.
 */
export class ObjectSpan implements Span {
  readonly start: number;
  readonly end: number;
  private keys: string[] | 'broken' | 'many' | undefined;
  private places: readonly ObjectSpan[] = [];

  constructor(start: number, end: number) {
    this.start = start;
    this.end = end;
  }

  /** @param text begins an object at `start` */
  memberOf(text: string, name: string): Found {
    const keys = (this.keys ??= this.read(text));
    if (keys === 'broken') return 'ambiguous';
    if (keys === 'many') return scanFor(text, this, name);
    let found: Span | undefined;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!;
      if (key === name) {
        if (found !== undefined) return 'ambiguous';
        found = this.places[i];
      } else if (isLike(key, name)) return 'ambiguous';
    }
    return found;
  }

  private read(text: string): string[] | 'broken' | 'many' {
    const scan = new Members(text, this.start);
    const keys: string[] = [];
    const places: ObjectSpan[] = [];
    while (scan.next()) {
      if (keys.length === maxKept) return 'many';
      keys.push(scan.key);
      places.push(new ObjectSpan(scan.start, scan.end));
    }
    this.places = places;
    return scan.broken ? 'broken' : keys;
  }
}
