import { GatheredBytes } from '../../gatheredBytes.ts';
import type { Body, Head } from '../../http/index.ts';

/** Framing that a body in many small chunks may have besides its payload. */
const FRAMING_MOST = 65_536;

/** Bytes that a gathered body may take, framing included. @param maxBytes of its payload */
export const mostGathered = (maxBytes: number): number => 2 * maxBytes + FRAMING_MOST;

/** An answer that is gathered in memory before its head is written. */
export class BufferedResponse {
  /** Stays as it is while its connection reads the body. */
  readonly head: Head;
  /** Framing of the body, a value of `FRAMING`. */
  readonly kind: number;
  private readonly followed: Body;
  private readonly maxBytes: number;
  private readonly body: GatheredBytes;

  /**
   * @param followed follows the body that its connection reads
   * @param maxBytes of the payload
   */
  constructor(head: Head, followed: Body, maxBytes: number) {
    this.head = head;
    this.kind = followed.kind;
    this.followed = followed;
    this.maxBytes = maxBytes;
    this.body = new GatheredBytes(Math.min(head.contentLength, maxBytes));
  }

  get bytes(): Buffer {
    return this.body.whole();
  }

  /** @returns false where there is too much of it, or will be */
  add(bytes: Buffer, from: number, to: number): boolean {
    const { body, followed, head, maxBytes } = this;
    body.add(bytes, from, to);
    return (
      followed.payload <= maxBytes && head.contentLength <= maxBytes && body.length <= mostGathered(maxBytes)
    );
  }
}
