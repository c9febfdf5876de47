/**
 * Checks JSON (RFC 8259) byte by byte, without building values: hostile input costs time in proportion to its length
 * and no memory. The check can stop at any byte and go on later, so that a large message does not hold up others.
 */

import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isDigit,
  isEscaped,
  isHex,
  isSpace,
  LETTER_U,
  MINUS,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from './jsonBytes.ts';

export interface JsonLimits {
  /** Objects and lists within each other. */
  readonly maxDepth: number;
  /** Values of any kind, members' values and elements included. */
  readonly maxNodes: number;
}

/** `more`: the check has come to the place where it was to stop. */
export type JsonState = 'more' | 'valid' | 'invalid' | 'tooDeep' | 'tooMany' | 'tooLong';

/** Bytes of one number: RFC 8259 §9 lets a reader limit them, and no double needs more than some 770 digits. */
export const maxNumber = 1_024;

const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;

/** The token that may come next. */
const EXPECT = {
  value: 0,
  valueOrClose: 1,
  keyOrClose: 2,
  key: 3,
  colon: 4,
  commaOrClose: 5,
  nothing: 6,
  /** The rest of a string. */
  keyText: 7,
  text: 8,
} as const;

type Expect = (typeof EXPECT)[keyof typeof EXPECT];

const inList = 0;
const inObject = 1;

export class JsonCheck {
  /** A line break stands between tokens. */
  hasLineBreaks = false;
  private readonly bytes: Buffer;
  private readonly limits: JsonLimits;
  /** The open lists and objects, the innermost last. */
  private readonly open: number[] = [];
  private depth = 0;
  private nodes = 0;
  private at = 0;
  private expect: Expect = EXPECT.value;
  private readonly compacts: boolean;
  /** The end of the text without white space, as far as it is checked. */
  private written = 0;

  /** @param compacts takes white space between tokens out of the bytes; they must be the caller's own */
  constructor(bytes: Buffer, limits: JsonLimits, compacts = false) {
    this.bytes = bytes;
    this.limits = limits;
    this.compacts = compacts;
  }

  /** Goes on for about so many bytes. */
  run(bytes: number): JsonState {
    const stop = Math.min(this.bytes.length, this.at + bytes);
    while (this.at < stop) {
      const from = this.at;
      const inString = this.expect === EXPECT.text || this.expect === EXPECT.keyText;
      const fault = inString ? this.string(stop) : this.token();
      if (fault !== undefined) return fault;
      if (this.compacts) this.keep(from, inString);
    }
    if (this.at < this.bytes.length) return 'more';
    return this.expect === EXPECT.nothing ? 'valid' : 'invalid';
  }

  /** The bytes without white space between tokens, where they were checked to their end. */
  get compacted(): Buffer {
    return this.bytes.subarray(0, this.written);
  }

  private keep(from: number, inString: boolean): void {
    const { bytes, at } = this;
    if (!inString && isSpace(bytes[from]!)) return;
    if (this.written === from) this.written = at;
    else if (at - from === 1) bytes[this.written++] = bytes[from]!;
    else {
      bytes.copyWithin(this.written, from, at);
      this.written += at - from;
    }
  }

  /** Reads one token, or one byte of white space. */
  private token(): JsonState | undefined {
    const c = this.bytes[this.at];
    switch (c) {
      case 0x0a:
      case 0x0d:
        this.hasLineBreaks = true;
        this.at++;
        return undefined;
      case 0x20:
      case 0x09:
        this.at++;
        return undefined;
      case QUOTE:
        return this.quote();
      case COMMA:
        return this.comma();
      case COLON:
        return this.follow(EXPECT.colon, EXPECT.value);
      case OPEN_OBJECT:
        return this.enter(inObject, EXPECT.keyOrClose);
      case OPEN_LIST:
        return this.enter(inList, EXPECT.valueOrClose);
      case CLOSE_OBJECT:
        return this.leave(inObject, EXPECT.keyOrClose);
      case CLOSE_LIST:
        return this.leave(inList, EXPECT.valueOrClose);
      case LETTER_T:
        return this.literal('true');
      case LETTER_F:
        return this.literal('false');
      case LETTER_N:
        return this.literal('null');
      default:
        return this.number();
    }
  }

  /** A value begins: is there room for it, and may one stand here? */
  private begin(): JsonState | undefined {
    if (this.expect !== EXPECT.value && this.expect !== EXPECT.valueOrClose) return 'invalid';
    return ++this.nodes > this.limits.maxNodes ? 'tooMany' : undefined;
  }

  /** A value is complete. */
  private end(): undefined {
    this.expect = this.depth === 0 ? EXPECT.nothing : EXPECT.commaOrClose;
  }

  private follow(expected: Expect, next: Expect): JsonState | undefined {
    if (this.expect !== expected) return 'invalid';
    this.expect = next;
    this.at++;
    return undefined;
  }

  private comma(): JsonState | undefined {
    const next = this.open[this.depth - 1] === inObject ? EXPECT.key : EXPECT.value;
    return this.follow(EXPECT.commaOrClose, next);
  }

  private enter(what: number, next: Expect): JsonState | undefined {
    const fault = this.begin();
    if (fault !== undefined) return fault;
    if (this.depth === this.limits.maxDepth) return 'tooDeep';
    this.open[this.depth++] = what;
    this.expect = next;
    this.at++;
    return undefined;
  }

  private leave(what: number, empty: Expect): JsonState | undefined {
    const may = this.expect === EXPECT.commaOrClose || this.expect === empty;
    if (!may || this.open[this.depth - 1] !== what) return 'invalid';
    this.depth--;
    this.at++;
    return this.end();
  }

  private quote(): JsonState | undefined {
    const isKey = this.expect === EXPECT.key || this.expect === EXPECT.keyOrClose;
    const fault = isKey ? undefined : this.begin();
    if (fault !== undefined) return fault;
    this.expect = isKey ? EXPECT.keyText : EXPECT.text;
    this.at++;
    return undefined;
  }

  /** The rest of a string, up to `stop` or its end. */
  private string(stop: number): JsonState | undefined {
    const { bytes } = this;
    let i = this.at;
    while (i < stop) {
      const c = bytes[i]!;
      if (c === QUOTE) {
        this.at = i + 1;
        if (this.expect === EXPECT.keyText) this.expect = EXPECT.colon;
        else this.end();
        return undefined;
      }
      if (c < 0x20) return 'invalid';
      if (c === BACKSLASH) {
        const length = escapeLength(bytes, i + 1);
        if (length === 0) return 'invalid';
        i += length;
      }
      i++;
    }
    this.at = i;
    return undefined;
  }

  private literal(text: string): JsonState | undefined {
    const fault = this.begin();
    if (fault !== undefined) return fault;
    for (let i = 0; i < text.length; i++)
      if (this.bytes[this.at + i] !== text.charCodeAt(i)) return 'invalid';
    this.at += text.length;
    return this.end();
  }

  /** RFC 8259 §6. */
  private number(): JsonState | undefined {
    const fault = this.begin();
    if (fault !== undefined) return fault;
    const { bytes } = this;
    let i = this.at;
    if (bytes[i] === MINUS) i++;
    const whole = digitsAt(bytes, i);
    if (whole === 0 || (whole > 1 && bytes[i] === 0x30)) return 'invalid';
    i += whole;
    if (bytes[i] === 0x2e) {
      const fraction = digitsAt(bytes, i + 1);
      if (fraction === 0) return 'invalid';
      i += fraction + 1;
    }
    if (bytes[i] === 0x65 || bytes[i] === 0x45) {
      const signed = bytes[i + 1] === 0x2b || bytes[i + 1] === MINUS ? 1 : 0;
      const exponent = digitsAt(bytes, i + 1 + signed);
      if (exponent === 0) return 'invalid';
      i += exponent + 1 + signed;
    }
    if (i - this.at > maxNumber) return 'tooLong';
    this.at = i;
    return this.end();
  }
}

function digitsAt(bytes: Buffer, at: number): number {
  let i = at;
  // Longer texts are refused in any case.
  while (i - at <= maxNumber && isDigit(bytes[i])) i++;
  return i - at;
}

/** Bytes of an escape behind its backslash; 0 where there is none. */
function escapeLength(bytes: Buffer, at: number): number {
  const c = bytes[at];
  if (c !== LETTER_U) return c === undefined ? 0 : isEscaped[c]!;
  for (let i = at + 1; i <= at + 4; i++) if (!isHex(bytes[i])) return 0;
  return 5;
}
