/**
 * Read buffers for upstream sockets. All sockets read into one shared buffer, since what they read is consumed before
 * the next read; a socket in the middle of a large body reads into buffers of its own, so that the bytes can be
 * written to the client without a copy, and gives them back when the write is through.
 */
const SIZE = 65_536;
const FREE_MOST = 256;

/** Reads at least this large mean a bulk transfer: worth buffers of its own. */
const BULK = 32_768;

const free: Buffer[] = [];

/** The buffer everybody reads into. */
export const shared: Buffer = Buffer.allocUnsafeSlow(SIZE);

const take = (): Buffer => free.pop() ?? Buffer.allocUnsafeSlow(SIZE);

function give(buffer: Buffer): void {
  if (buffer !== shared && free.length < FREE_MOST) free.push(buffer);
}

/** What one socket reads into. */
export class ReadBuffers {
  /** A socket reads into them. */
  attached = false;
  private current = shared;
  private next = shared;

  /** In the middle of a large body. */
  get bulk(): boolean {
    return this.next !== shared;
  }

  /** What the next read goes into; undefined keeps the present one. Node asks after every read and at connect. */
  forNextRead(): Buffer {
    if (this.attached && this.next === this.current) return undefined as unknown as Buffer;
    this.current = this.next;
    return this.current;
  }

  /** So much at once, or still to come: what is read from now on can be lent. */
  expect(length: number): void {
    if (length >= BULK && this.next === shared && this.attached) this.next = take();
  }

  /**
   * Lets the caller hold on to the bytes of the running read until it calls the returned function. Once for each
   * read: a buffer given back twice would be read into by two connections, and bytes of one answer end up in another.
   * @returns undefined where the bytes lie in the shared buffer, or are lent already, and must be copied
   */
  lend(bytes: Buffer): (() => void) | undefined {
    if (bytes === shared || bytes !== this.current || this.next !== this.current) return undefined;
    this.next = take();
    return () => give(bytes);
  }

  /** The body is complete, and what was read of it has been taken: called during a read, the next goes elsewhere. */
  leave(): void {
    if (this.next === shared) return;
    // Where it is the present one, it was not lent; otherwise no read went into it yet.
    give(this.next);
    this.next = shared;
  }
}
