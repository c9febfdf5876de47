/**
 * Buffers for answers whose head and small body are written together. A new buffer for each would be most of what
 * such an answer costs: memory of this size comes from outside the heap, and goes back there by garbage collection.
 */
const PAGE_BYTES = 16_384;
const FREE_MOST = 256;

const free: Buffer[] = [];

/** May a message of this many bytes use a page? */
export const fitsPage = (length: number): boolean => length <= PAGE_BYTES;

export const takePage = (): Buffer => free.pop() ?? Buffer.allocUnsafeSlow(PAGE_BYTES);

/** Gives a page back, once, when nobody reads it any more. */
export function givePage(page: Buffer): void {
  if (free.length < FREE_MOST) free.push(page);
}
