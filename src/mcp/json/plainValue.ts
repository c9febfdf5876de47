/** The value of a JSON text, read in the only way in which no two readers can differ. */

import type { PlainObject, PlainReading, PlainValue } from '../contract.ts';
import { foldKey, type Span } from './envelope.ts';
import { decodeString, skipSpace, skipString } from './scan.ts';

/** Levels of lists and objects inside each other. */
const maxDepth = 64;
/** Units for a value, and characters of a text for a unit. */
const valueUnits = 15;
const charsPerUnit = 16;
const escapedCharsPerUnit = 2;
const most = 2n ** 63n;
const maxDigits = 20;
const longNumber = 'a whole number has more than 64 bits';

/**
 * Reads a text that is known to be JSON.
 * @returns the reason where the text has no single reading, such as a repeated member, or is too large or too deep
 */
export function readPlain(
  text: string,
  { start }: Span,
  reading: PlainReading,
): { readonly value: PlainValue } | { readonly fault: string } {
  const reader = new Reader(text, start, reading);
  try {
    return { value: reader.value(0) };
  } catch (error) {
    if (error instanceof Unreadable) return { fault: error.message };
    throw error;
  }
}

class Unreadable extends Error {}

const tooLarge = 'too large to be judged';

class Reader {
  private readonly text: string;
  private readonly reading: PlainReading;
  private readonly folded: ReadonlyMap<string, string>;
  private at: number;

  constructor(text: string, at: number, reading: PlainReading) {
    this.text = text;
    this.reading = reading;
    this.folded = new Map([...reading.names].map((name) => [foldKey(name), name]));
    this.at = at;
  }

  /** @throws Unreadable */
  value(depth: number): PlainValue {
    this.spend(valueUnits);
    switch (this.next()) {
      case '{':
        return this.object(depth + 1);
      case '[':
        return this.list(depth + 1);
      case '"':
        return this.string();
      case 't':
        this.at += 4;
        return true;
      case 'f':
        this.at += 5;
        return false;
      case 'n':
        this.at += 4;
        return null;
      default:
        return this.number();
    }
  }

  private object(depth: number): PlainObject {
    const made = new Map<string, PlainValue>();
    const keys = new Set<string>();
    this.enter(depth);
    while (this.next() !== '}') {
      if (this.text[this.at] === ',') this.at++;
      this.next();
      const key = this.string();
      const folded = foldKey(key);
      if (keys.has(folded)) throw new Unreadable(`the member ${shown(key)} is repeated`);
      const name = this.folded.get(folded);
      if (name !== undefined && name !== key && !this.reading.names.has(key))
        throw new Unreadable(`the member ${shown(key)} differs from ${shown(name)} in case only`);
      keys.add(folded);
      this.next();
      this.at++;
      made.set(key, this.value(depth));
    }
    this.at++;
    return made;
  }

  private list(depth: number): readonly PlainValue[] {
    const made: PlainValue[] = [];
    this.enter(depth);
    while (this.next() !== ']') {
      if (this.text[this.at] === ',') this.at++;
      made.push(this.value(depth));
    }
    this.at++;
    return made;
  }

  private enter(depth: number): void {
    if (depth > maxDepth) throw new Unreadable(`nested deeper than ${maxDepth}`);
    this.at++;
  }

  private string(): string {
    const start = this.at;
    this.at = skipString(this.text, start);
    const length = this.at - start;
    this.spend(1 + Math.ceil(length / charsPerUnit));
    const plain = this.text.slice(start + 1, this.at - 1);
    if (!plain.includes('\\')) return wellFormed(plain);
    this.spend(Math.ceil(length / escapedCharsPerUnit));
    const decoded = decodeString(this.text, start, this.at);
    if (decoded === undefined) throw new Unreadable('a text is not valid');
    return wellFormed(decoded);
  }

  private number(): bigint | number {
    const start = this.at;
    while (/[-+.0-9eE]/.test(this.text[this.at] ?? '')) this.at++;
    const written = this.text.slice(start, this.at);
    this.spend(written.length);
    const isWhole = /^-?\d+$/.test(written);
    if (isWhole && written.length > maxDigits) throw new Unreadable(longNumber);
    const value = isWhole ? BigInt(written) : Number(written);
    if (typeof value === 'bigint') {
      if (value >= most || value < -most) throw new Unreadable(longNumber);
      return value;
    }
    if (!Number.isFinite(value)) throw new Unreadable('a number is too large');
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }

  /** The next character that is not white space. */
  private next(): string {
    const at = skipSpace(this.text, this.at);
    this.spend(Math.ceil((at - this.at) / charsPerUnit));
    this.at = at;
    return this.text[at] ?? '';
  }

  private spend(units: number): void {
    if (units > 0 && !this.reading.spend(units)) throw new Unreadable(tooLarge);
  }
}

/** Readers replace half of a surrogate pair in different ways. */
function wellFormed(text: string): string {
  if (!text.isWellFormed()) throw new Unreadable('a text is not well-formed Unicode');
  return text;
}

const shown = (key: string): string => JSON.stringify(key.slice(0, 64));
