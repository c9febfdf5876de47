/**
 * Read buffers for upstream sockets. All sockets read into one shared buffer, since what they read is consumed before
 * the next read; a socket in the middle of a large body reads into buffers of its own, so that the bytes can be
 * written to the client without a copy, and gives them back when the write is through.
 */
const SIZE = 65_536;
const FREE_MOST = 256;

/** So much that is known to come is a bulk transfer: worth buffers of its own. */
const BULK = 32_768;

/**
 * Buffers in use at a time. Above that what is read is copied, as for small answers: buffers that wait for thousands of
 * slow readers would take up gigabytes.
 */
const USED_MOST = 512;

const free: Buffer[] = [];
let used = 0;

/** The buffer everybody reads into. */
export const shared: Buffer = Buffer.allocUnsafeSlow(SIZE);

/** Buffers that are lent, or wait for the next read of a socket. */
export const buffersInUse = (): number => used;

function take(): Buffer {
  used++;
  return free.pop() ?? Buffer.allocUnsafeSlow(SIZE);
}

function give(buffer: Buffer): void {
  used--;
  if (free.length < FREE_MOST) free.push(buffer);
}

/** The buffers that a socket reads into. */
export class ReadBuffers {
  /** A socket reads into them. */
  attached = false;
  private current = shared;
  private next = shared;

  /** In the middle of a large body. */
  get bulk(): boolean {
    return this.next !== shared;
  }

  /** The buffer for the next read; undefined keeps the present one. Node asks after every read and at connect. */
  forNextRead(): Buffer {
    if (this.attached && this.next === this.current) return undefined as unknown as Buffer;
    this.current = this.next;
    return this.current;
  }

  /**
   * Announces a large rest, so that further reads can be lent: so much is known to come, or a read has filled its
   * buffer, which leaves more behind.
   */
  expect(read: number, known: number): void {
    if ((read >= SIZE || known >= BULK) && this.next === shared && this.attached && used < USED_MOST)
      this.next = take();
  }

  /**
   * Lets the caller hold on to the bytes of the running read until it calls the returned function. Once for each
   * read: a buffer given back twice would be read into by two connections, and bytes of one answer end up in another.
   * @returns undefined where the bytes lie in the shared buffer, or are lent already, and must be copied
   */
  lend(bytes: Buffer): (() => void) | undefined {
    if (bytes === shared || bytes !== this.current || this.next !== this.current) return undefined;
    this.next = used < USED_MOST ? take() : shared;
    return () => give(bytes);
  }

  /** The socket is gone: its last read may still be looked at, so nobody else gets the buffer. */
  drop(): void {
    if (this.next !== shared) used--;
    this.next = shared;
  }

  /**
   * Reports that a read has been taken. A read that has not filled its buffer has emptied the socket: where
   * nobody knows what is still to come (a tunnel, a stream of events) that may be nothing for hours, and no
   * buffer waits for it.
   */
  taken(read: number, known: number): void {
    if (read < SIZE && known === 0) this.leave();
  }

  /** The body is complete, and what was read of it has been taken: called during a read, the next goes elsewhere. */
  leave(): void {
    if (this.next === shared) return;
    // The present buffer was not lent; another one has not been read into yet.
    give(this.next);
    this.next = shared;
  }
}
