/**
 * Buffers for bytes that are written together, or that cannot stay where they were read. A new buffer for each would
 * be most of what such a write costs: memory of this size comes from outside the heap, goes back there by garbage
 * collection, and makes V8 collect all the sooner.
 */
interface Size {
  readonly bytes: number;
  /** Pages that are kept for later. */
  readonly most: number;
  readonly free: Buffer[];
}

const sizes: readonly Size[] = [
  { bytes: 16_384, most: 256, free: [] },
  // A whole read and a head.
  { bytes: 81_920, most: 64, free: [] },
];

/** A page for a message of so many bytes; undefined where it is too long for any. */
export function takePage(length: number): Buffer | undefined {
  for (const { bytes, free } of sizes)
    if (length <= bytes) return free.pop() ?? Buffer.allocUnsafeSlow(bytes);
  return undefined;
}

/** Gives a page back, once, when nobody reads it any more. */
export function givePage(page: Buffer): void {
  for (const { bytes, most, free } of sizes) if (page.length === bytes && free.length < most) free.push(page);
}
