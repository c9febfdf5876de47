import { GatheredBytes } from '../../gatheredBytes.ts';
import type { Head } from '../../http/index.ts';

/** An answer that is gathered in memory before its head is written. */
export class BufferedResponse {
  /** Stays as it is while its connection reads the body. */
  readonly head: Head;
  /** Framing of the body, a value of `FRAMING`. */
  readonly kind: number;
  private readonly maxBytes: number;
  private readonly body: GatheredBytes;

  /** @param maxBytes of the body, framing included */
  constructor(head: Head, kind: number, maxBytes: number) {
    this.head = head;
    this.kind = kind;
    this.maxBytes = maxBytes;
    this.body = new GatheredBytes(Math.min(head.contentLength, maxBytes));
  }

  get bytes(): Buffer {
    return this.body.whole();
  }

  /** @returns false where there is too much of it, or will be */
  add(bytes: Buffer, from: number, to: number): boolean {
    this.body.add(bytes, from, to);
    return this.body.length <= this.maxBytes && this.head.contentLength <= this.maxBytes;
  }
}
