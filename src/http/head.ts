import type { HeaderLine } from './exchange.ts';
import { markOf } from './fields.ts';
import { TOKEN } from './octets.ts';

/** Offsets kept for one field: name start, name end, value start, value end. */
export const SPAN = 4;

/**
 * A parsed message head. The fields stay where they are: `text` is the head as one latin1 string and `spans` says
 * where each name and value lies in it, so that forwarding is a handful of substrings. Heads are reused (`HeadPool`):
 * a head belongs to one exchange at a time.
 */
export class Head {
  /** The whole head including the empty line, one character a byte. */
  text = '';
  /** Bytes of the head. */
  length = 0;
  /** Offset of the first field line. */
  lineEnd = 0;
  /** Number of fields. */
  count = 0;
  readonly spans: Int32Array;
  readonly hashes: Int32Array;
  readonly kinds: Uint8Array;

  methodEnd = 0;
  targetStart = 0;
  targetEnd = 0;
  status = 0;
  http10 = false;
  /** -1 where there is none. */
  contentLength = -1;
  chunked = false;
  close = false;
  keepAlive = false;
  upgrade = false;
  expectContinue = false;
  /** Index of the Host field, -1 where there is none. */
  host = -1;
  /** Bit `k` is set when a field of kind `k` is there. */
  seen = 0;
  /** Further names listed in Connection, in lower case: hop by hop, to be dropped. */
  connectionNames: string[] | undefined;
  /** The reason why the head was refused, for the log. */
  problem = '';

  constructor(maxHeaders: number) {
    // A single piece of memory for all three: a flood of requests makes thousands of heads.
    const spans = 4 * SPAN * maxHeaders;
    const hashes = 4 * maxHeaders;
    const memory = new ArrayBuffer(spans + hashes + maxHeaders);
    this.spans = new Int32Array(memory, 0, maxHeaders * SPAN);
    this.hashes = new Int32Array(memory, spans, maxHeaders);
    this.kinds = new Uint8Array(memory, spans + hashes, maxHeaders);
  }

  get method(): string {
    return this.text.substring(0, this.methodEnd);
  }

  get target(): string {
    return this.text.substring(this.targetStart, this.targetEnd);
  }

  /** Name of field `i` as sent. */
  name(i: number): string {
    return this.text.substring(this.spans[i * SPAN] as number, this.spans[i * SPAN + 1]);
  }

  /** Value of field `i` without surrounding white space. */
  value(i: number): string {
    return this.text.substring(this.spans[i * SPAN + 2] as number, this.spans[i * SPAN + 3]);
  }

  /** The end of the line of field `i` (behind its CRLF). */
  fieldEnd(i: number): number {
    return i + 1 < this.count ? (this.spans[(i + 1) * SPAN] as number) : this.length - 2;
  }

  /** Value of a field by its lower-case name; several lines are joined by `separatorOf`. */
  get(lowerName: string): string | undefined {
    const { hash, bit } = markOf(lowerName);
    if (bit !== 0 && (this.seen & bit) === 0) return undefined;
    const { hashes, count } = this;
    let found: string | undefined;
    for (let i = 0; i < count; i++) {
      if (hashes[i] !== hash || !this.isNamed(i, lowerName)) continue;
      if (found === undefined) found = this.value(i);
      else found += separatorOf(lowerName) + this.value(i);
    }
    return found;
  }

  /** Names of the same hash may differ; to cut the name out and lower its case would cost more. */
  private isNamed(i: number, lowerName: string): boolean {
    const length = (this.spans[i * SPAN + 1] as number) - (this.spans[i * SPAN] as number);
    return length === lowerName.length && this.nameBegins(i, lowerName);
  }

  private nameBegins(i: number, lowerName: string): boolean {
    const { text } = this;
    const start = this.spans[i * SPAN] as number;
    for (let at = 0; at < lowerName.length; at++)
      if (TOKEN[text.charCodeAt(start + at)] !== lowerName.charCodeAt(at)) return false;
    return true;
  }

  /** Does a field name begin with a prefix, given in lower case? */
  hasPrefix(lowerPrefix: string): boolean {
    for (let i = 0; i < this.count; i++) if (this.nameBegins(i, lowerPrefix)) return true;
    return false;
  }

  /** Every field in order, names in lower case. */
  lines(): HeaderLine[] {
    const lines: HeaderLine[] = [];
    for (let i = 0; i < this.count; i++) lines.push([this.name(i).toLowerCase(), this.value(i)]);
    return lines;
  }
}

/** The text between the lines of a field in its value (RFC 9110 §5.3; of cookies RFC 9113 §8.2.3). */
export const separatorOf = (lowerName: string): string => (lowerName === 'cookie' ? '; ' : ', ');

/** Heads to reuse: a connection borrows one for the time of an exchange only. */
export class HeadPool {
  private readonly free: Head[] = [];
  readonly maxHeaders: number;

  constructor(maxHeaders: number) {
    this.maxHeaders = maxHeaders;
  }

  take(): Head {
    return this.free.pop() ?? new Head(this.maxHeaders);
  }

  give(head: Head): void {
    head.text = '';
    head.connectionNames = undefined;
    // A head borrowed before a change of the limit has another size.
    if (this.free.length < 1024 && head.kinds.length === this.maxHeaders) this.free.push(head);
  }
}
