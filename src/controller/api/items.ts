import { GatheredBytes } from '../../gatheredBytes.ts';

/** An answer is not the JSON text of a list. */
export class ListBroken extends Error {
  override readonly name = 'ListBroken';
}

const [space, quote, backslash, comma] = [0x20, 0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** Text that may stand before, between and after items. */
const around = new Set([comma, openBrace, closeBracket]);

/** Most bytes of a list beside its items: metadata, and no more. */
const maxEnvelopeBytes = 1 << 20;

/**
 * Divides the text of a list into its items while it arrives: a page of five hundred objects of a megabyte each must
 * never be in memory as a whole, where a few bytes of each are all that is kept.
 */
export class ItemReader {
  readonly #each: (text: string) => void;
  readonly #maxItemBytes: number;
  /** The text around the items, which are left out. */
  readonly #envelope = new GatheredBytes();
  readonly #item = new GatheredBytes();
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** The last text at the depth of the list's own fields, as far as it matters. */
  #name = '';
  #isIn = false;

  /** @param each gets the JSON text of one item after the other */
  constructor(maxItemBytes: number, each: (text: string) => void) {
    this.#maxItemBytes = maxItemBytes;
    this.#each = each;
  }

  /** @throws ListBroken, and what `each` throws */
  take(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      if (this.#isText) {
        this.#text(byte);
        continue;
      }
      // Any further objects would be lost silently.
      if (this.#isIn && this.#depth === 2 && byte > space && !around.has(byte))
        throw new ListBroken('an item of a list is no object');
      switch (byte) {
        case quote:
          this.#isText = true;
          if (this.#depth === 1) this.#name = '';
          break;
        case openBrace:
        case openBracket:
          if (this.#isIn && this.#depth === 2) from = at;
          this.#depth++;
          if (byte === openBracket && this.#depth === 2 && this.#name === 'items') {
            this.#around(chunk.subarray(from, at + 1));
            this.#isIn = true;
          }
          break;
        case closeBrace:
        case closeBracket:
          this.#depth--;
          if (this.#isIn && this.#depth === 2) {
            this.#checkItem(at + 1 - from);
            const item = this.#item.finish(chunk, from, at + 1);
            this.#each(item.toString('utf8'));
          } else if (this.#isIn && this.#depth === 1) {
            this.#isIn = false;
            this.#name = '';
            from = at;
          }
          break;
      }
    }
    if (!this.#isIn) this.#around(chunk.subarray(from));
    else if (this.#depth > 2) {
      this.#checkItem(chunk.length - from);
      this.#item.add(chunk, from);
    }
  }

  /** The text around the items. @throws ListBroken where the text has no end */
  envelope(): unknown {
    try {
      return JSON.parse(this.#envelope.whole().toString('utf8')) as unknown;
    } catch {
      throw new ListBroken('the answer is no JSON, or is cut off');
    }
  }

  #text(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isText = false;
    else if (this.#depth === 1 && this.#name.length < 6) this.#name += String.fromCharCode(byte);
  }

  #around(piece: Buffer): void {
    if (this.#envelope.length + piece.length > maxEnvelopeBytes)
      throw new ListBroken('there is too much beside the items');
    this.#envelope.add(piece);
  }

  #checkItem(more: number): void {
    if (this.#item.length + more > this.#maxItemBytes)
      throw new ListBroken(`an item is larger than ${String(this.#maxItemBytes)} bytes`);
  }
}
