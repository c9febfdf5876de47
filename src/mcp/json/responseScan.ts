/**
 * Reads a response while its bytes arrive: checks that they are JSON (RFC 8259), and finds the few members that somebody
 * looks at. All other bytes pass on at once. `JsonCheck` and `Outline` do the same for a message that is whole.
 */

import { GatheredBytes } from '../../gatheredBytes.ts';
import { isLike } from './envelope.ts';
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  isEscaped,
  isHex,
  LETTER_U,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
} from './jsonBytes.ts';
import { mayEndNumber, numberBegin, numberPart, type NumberPart } from './numberScan.ts';
import { decodeString } from './scan.ts';

/** A view on single members of a result. They are held until they are whole; all others pass. */
export interface MemberView {
  readonly watched: ReadonlySet<string>;
  /** @returns the text in the place of the value; undefined if the response cannot be used */
  filterMember(name: string, value: string): string | undefined;
  /** Watched members whose elements are held one by one, where they are lists; absent: none. */
  readonly elements?: ElementView | undefined;
}

export interface ElementView {
  readonly lists: ReadonlySet<string>;
  /** May an element pass unread? @param head the beginning of its text */
  passes(head: string): boolean;
  /** @returns the text in the place of an element; undefined if the response cannot be used */
  filterElement(list: string, value: string): string | undefined;
}

/** Takes the parts of a response, in their order. */
export interface ResponseParts {
  readonly view: MemberView;
  /** Bytes that pass as they are. */
  bytes(piece: Buffer): void;
  /** `jsonrpc` or `id` of the message. @returns the text in the place of its value; undefined if it cannot be used */
  member(name: string, value: string): string | undefined;
  /** The result ends. @param seen the watched members that it has. @returns members to add, as JSON text */
  addedMembers?(seen: ReadonlySet<string>): string;
}

const EXPECT = {
  value: 0,
  valueOrClose: 1,
  keyOrClose: 2,
  key: 3,
  colon: 4,
  commaOrClose: 5,
  nothing: 6,
  /** The rest of a string, of an escape in it, of a literal, of a number. */
  text: 7,
  escape: 8,
  hex: 9,
  literal: 10,
  number: 11,
} as const;

type Expect = (typeof EXPECT)[keyof typeof EXPECT];

/** The depth at which the elements of a list of the result stand. */
const elementDepth = 3;
const inList = 0;
const inObject = 1;

const brokenJson = 'answered with broken JSON';
const noResponse = 'answered with something that is no response';

/** Bytes of the longest key that is decoded. A watched name has at most 37 characters, and an escape six bytes. */
const maxKey = 256;
/** Bytes of an element that tell whether the element passes. */
const elementHead = 64;
/** A list may have millions of elements, and a write for each of them costs more than to copy them. */
const smallPart = 1_024;
/** Bytes of the longest value that is held, unless it is an element. */
const maxHeld = 262_144;

const ofMessage: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'result', 'error', 'method', 'params']);
const held: ReadonlySet<string> = new Set(['jsonrpc', 'id']);
const literals: ReadonlyMap<number, Buffer> = new Map(
  ['true', 'false', 'null'].map((text) => [text.charCodeAt(0), Buffer.from(text)]),
);

export class ResponseScan {
  /** The flaw of the response, for the client; nothing more is read then. */
  flaw: string | undefined;
  /** The result has begun, and is an object. */
  inResult = false;
  private readonly parts: ResponseParts;
  private readonly view: MemberView;
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;
  /** The beginning of the bytes that were not passed on yet. */
  private passFrom = 0;
  private expect: Expect = EXPECT.value;
  /** The open lists and objects, the innermost last. */
  private open = new Uint8Array(64);
  private depth = 0;
  private isKey = false;
  private hexLeft = 0;
  private literal: Buffer = Buffer.alloc(0);
  private literalAt = 0;
  /** The part of the number that the scan is in. */
  private part: NumberPart = 'whole';
  /** Names that were found, of the message and of its result. */
  private readonly seen: readonly [Set<string>, Set<string>] = [new Set(), new Set()];
  /** The member that the scan is in, where it is watched. */
  private name: string | undefined;
  /** Collects a key or a value; undefined where nothing is collected. */
  private collected: GatheredBytes | undefined;
  private collectFrom = 0;
  /** The list of the result that the scan is in, where its elements are held. */
  private list: string | undefined;
  /** It is decided whether the element that is held passes. */
  private isJudged = false;
  /** The depth of the value that is held; -1 where none is. */
  private heldDepth = -1;
  /** Small parts, which pass on together. */
  private small = new GatheredBytes();

  constructor(parts: ResponseParts) {
    this.parts = parts;
    this.view = parts.view;
  }

  /**
   * Reads on. Line breaks between tokens become spaces, as in every message.
   * @param bytes must be the caller's own, and are the taker's afterwards
   * @returns false if the response has a flaw
   */
  take(bytes: Buffer): boolean {
    if (this.flaw !== undefined) return false;
    this.bytes = bytes;
    this.at = 0;
    this.passFrom = 0;
    this.collectFrom = 0;
    while (this.at < bytes.length && this.flaw === undefined) {
      const { expect } = this;
      if (expect < EXPECT.text) this.token(bytes[this.at]!);
      else if (expect === EXPECT.text) this.text();
      else this.rest(expect, bytes[this.at]!);
    }
    if (this.flaw !== undefined) return false;
    this.collectTo(bytes.length);
    if (this.heldDepth === elementDepth && !this.isJudged) this.judge();
    if (this.heldDepth < 0) this.passTo(bytes.length);
    this.passSmall();
    return this.flaw === undefined;
  }

  /** No more bytes come. @returns false if the response is not whole */
  end(): boolean {
    if (this.flaw !== undefined) return false;
    const [ofMessage] = this.seen;
    if (this.expect !== EXPECT.nothing) this.flaw = brokenJson;
    else if (!ofMessage.has('id')) this.flaw = 'answered without the id of the call';
    else if (!ofMessage.has('jsonrpc')) this.flaw = 'answered without jsonrpc: "2.0"';
    else if (!ofMessage.has('result')) this.flaw = noResponse;
    return this.flaw === undefined;
  }

  private fail(flaw: string = brokenJson): void {
    this.flaw = flaw;
  }

  /** The rest of an escape, a literal or a number. */
  private rest(expect: Expect, c: number): void {
    if (expect === EXPECT.escape) this.escape(c);
    else if (expect === EXPECT.hex) this.hex(c);
    else if (expect === EXPECT.literal) this.restOfLiteral();
    else this.number(c);
  }

  private token(c: number): void {
    switch (c) {
      case 0x0a:
      case 0x0d:
        this.bytes[this.at++] = 0x20;
        return;
      case 0x20:
      case 0x09:
        this.at++;
        return;
      case QUOTE:
        this.quote();
        return;
      case COMMA:
        if (this.expect !== EXPECT.commaOrClose) this.fail();
        else this.expect = this.open[this.depth - 1] === inObject ? EXPECT.key : EXPECT.value;
        this.at++;
        return;
      case COLON:
        if (this.expect !== EXPECT.colon) this.fail();
        this.expect = EXPECT.value;
        this.at++;
        return;
      case OPEN_OBJECT:
        this.enter(inObject, EXPECT.keyOrClose);
        return;
      case OPEN_LIST:
        this.enter(inList, EXPECT.valueOrClose);
        return;
      case CLOSE_OBJECT:
        this.leave(inObject, EXPECT.keyOrClose);
        return;
      case CLOSE_LIST:
        this.leave(inList, EXPECT.valueOrClose);
        return;
      default:
        this.scalar(c);
    }
  }

  private quote(): void {
    this.isKey = this.expect === EXPECT.key || this.expect === EXPECT.keyOrClose;
    if (this.isKey) {
      if (this.depth === 1 || (this.depth === 2 && this.inResult)) this.collect();
    } else if (!this.begin()) return;
    this.expect = EXPECT.text;
    this.at++;
  }

  /** The rest of a string, up to its end, an escape, or the end of the bytes. */
  private text(): void {
    const { bytes } = this;
    const { length } = bytes;
    let i = this.at;
    for (; i < length; i++) {
      const c = bytes[i]!;
      if (c > BACKSLASH) continue;
      if (c === QUOTE) {
        this.at = i + 1;
        if (this.isKey) this.keyEnded();
        else this.ended();
        return;
      }
      if (c === BACKSLASH) {
        if (isEscaped[bytes[i + 1]!] === 1) {
          i++;
          continue;
        }
        this.at = i + 1;
        this.expect = EXPECT.escape;
        return;
      }
      if (c < 0x20) {
        this.fail();
        return;
      }
    }
    this.at = i;
  }

  private escape(c: number): void {
    if (c === LETTER_U) {
      this.hexLeft = 4;
      this.expect = EXPECT.hex;
    } else if (isEscaped[c] === 1) this.expect = EXPECT.text;
    else this.fail();
    this.at++;
  }

  private hex(c: number): void {
    if (!isHex(c)) this.fail();
    if (--this.hexLeft === 0) this.expect = EXPECT.text;
    this.at++;
  }

  private scalar(c: number): void {
    const literal = literals.get(c);
    const part = numberBegin(c);
    if (literal === undefined && part === undefined) {
      this.fail();
      return;
    }
    if (!this.begin()) return;
    this.at++;
    if (literal !== undefined) {
      this.literal = literal;
      this.literalAt = 1;
      this.expect = EXPECT.literal;
    } else if (part !== undefined) {
      this.part = part;
      this.expect = EXPECT.number;
    }
  }

  private restOfLiteral(): void {
    if (this.bytes[this.at++] !== this.literal[this.literalAt++]) this.fail();
    else if (this.literalAt === this.literal.length) this.ended();
  }

  private number(c: number): void {
    const part = numberPart(this.part, c);
    if (part !== undefined) {
      this.part = part;
      this.at++;
    } else if (mayEndNumber.has(this.part)) this.ended();
    else this.fail();
  }

  private enter(what: number, next: Expect): void {
    const { name, depth, view } = this;
    if (what === inList && depth === 2 && name !== undefined && view.elements?.lists.has(name) === true) {
      this.list = name;
      this.name = undefined;
    }
    const entersResult = what === inObject && this.depth === 1 && this.name === 'result';
    if (this.depth === 0 && what !== inObject) this.fail(noResponse);
    if (!this.begin()) return;
    if (this.depth === this.open.length) {
      const more = new Uint8Array(2 * this.depth);
      more.set(this.open);
      this.open = more;
    }
    this.open[this.depth++] = what;
    if (entersResult) {
      this.inResult = true;
      this.name = undefined;
    }
    this.expect = next;
    this.at++;
  }

  private leave(what: number, empty: Expect): void {
    const may = this.expect === EXPECT.commaOrClose || this.expect === empty;
    if (!may || this.open[this.depth - 1] !== what) {
      this.fail();
      return;
    }
    if (this.depth === 2 && this.inResult) this.addMembers();
    this.depth--;
    this.at++;
    if (this.depth === 2) this.list = undefined;
    if (this.depth === 1) this.inResult = false;
    this.ended();
  }

  /** Adds members before the brace that ends the result. */
  private addMembers(): void {
    const added = this.parts.addedMembers?.(this.seen[1]) ?? '';
    if (added === '') return;
    this.passTo(this.at);
    this.pass(Buffer.from(this.expect === EXPECT.keyOrClose ? added : `,${added}`));
  }

  /** A value begins. @returns false if none may stand here */
  private begin(): boolean {
    if (this.expect !== EXPECT.value && this.expect !== EXPECT.valueOrClose) this.fail();
    const { name, depth } = this;
    const isElement = depth === elementDepth && this.list !== undefined;
    const isHeld = isElement || (name !== undefined && (depth === 2 || held.has(name)));
    if (isHeld && this.heldDepth < 0) {
      this.isJudged = false;
      this.passTo(this.at);
      this.heldDepth = depth;
      this.collect();
    }
    return this.flaw === undefined;
  }

  /** A value is complete. */
  private ended(): void {
    this.expect = this.depth === 0 ? EXPECT.nothing : EXPECT.commaOrClose;
    if (this.depth === this.heldDepth) this.heldEnded();
    if (this.depth === 1 || (this.depth === 2 && this.inResult)) this.name = undefined;
  }

  private heldEnded(): void {
    const value = this.collectedText();
    const name = (this.list ?? this.name)!;
    this.heldDepth = -1;
    this.passFrom = this.at;
    if (value === undefined) return;
    if (name === 'jsonrpc' && this.depth === 1 && decodeString(value, 0, value.length) !== '2.0')
      this.fail('answered without jsonrpc: "2.0"');
    const shown = this.shownOf(name, value);
    if (shown === undefined) this.fail(`answered with a member "${name}" that cannot be used`);
    else if (this.flaw === undefined) this.pass(Buffer.from(shown));
  }

  private shownOf(name: string, value: string): string | undefined {
    const { depth, list, parts, view } = this;
    if (depth === 1) return parts.member(name, value);
    return list === undefined ? view.filterMember(name, value) : view.elements?.filterElement(list, value);
  }

  /** Lets an element pass if its beginning allows that: a large element is not held then. */
  private judge(): void {
    const begun = this.collected;
    if (begun === undefined || begun.length < elementHead) return;
    this.isJudged = true;
    const head = begun.whole().toString('latin1', 0, elementHead);
    if (this.view.elements?.passes(head) !== true) return;
    this.heldDepth = -1;
    this.collected = undefined;
    this.pass(begun.takeWhole());
    this.passFrom = this.bytes.length;
  }

  private keyEnded(): void {
    this.expect = EXPECT.colon;
    // A key within a value that is held is a part of the value.
    if (this.collected === undefined || this.heldDepth >= 0) return;
    const written = this.collectedText();
    if (written === undefined) return;
    const key = decodeString(written, 0, written.length)!;
    const isOfMessage = this.depth === 1;
    const names = isOfMessage ? ofMessage : this.view.watched;
    const seen = this.seen[isOfMessage ? 0 : 1];
    if (!names.has(key)) {
      for (const name of names) if (isLike(key, name)) this.fail(`answered with the member "${name}" twice`);
      return;
    }
    if (seen.has(key)) this.fail(`answered with the member "${key}" twice`);
    else if (key === 'error' || key === 'method' || key === 'params') {
      if (isOfMessage) this.fail(noResponse);
    }
    seen.add(key);
    this.name = key;
  }

  private collect(): void {
    this.collected = new GatheredBytes();
    this.collectFrom = this.at;
  }

  /** Adds to what is collected, whose end has not come. */
  private collectTo(end: number): void {
    this.collecting(end)?.add(this.bytes, this.collectFrom, end);
  }

  private collectedText(): string | undefined {
    const collected = this.collecting(this.at);
    this.collected = undefined;
    return collected?.finish(this.bytes, this.collectFrom, this.at).toString();
  }

  /** The text that was collected; undefined where it is too long up to `end`. No watched key is that long. */
  private collecting(end: number): GatheredBytes | undefined {
    const { collected, heldDepth } = this;
    if (collected === undefined || this.flaw !== undefined) return undefined;
    const length = collected.length + end - this.collectFrom;
    if (heldDepth < 0 && length > maxKey) this.collected = undefined;
    else if (length > maxHeld && heldDepth !== elementDepth)
      this.fail(`answered with a member "${this.name}" that is too long`);
    else return collected;
    return undefined;
  }

  private passTo(end: number): void {
    if (end > this.passFrom) this.pass(this.bytes.subarray(this.passFrom, end));
    this.passFrom = end;
  }

  private pass(piece: Buffer): void {
    if (piece.length < smallPart) {
      this.small.add(piece);
      return;
    }
    this.passSmall();
    this.parts.bytes(piece);
  }

  private passSmall(): void {
    if (this.small.length > 0) this.parts.bytes(this.small.takeWhole());
  }
}
