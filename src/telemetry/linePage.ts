export const newline = 0x0a;

/** The number of lines that end in these bytes. */
export function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
}

/** Bytes of UTF-8 for one unit of a JavaScript string, at most. */
const maxBytesOfUnit = 3;
/** Room beyond the capacity, so that the last line of a full page fits. */
const room = 16_384;

/**
 * Gathers lines as bytes. Each becomes bytes at once, while its parts are in the caches of the processor: a text keeps
 * its parts apart until somebody reads it.
 */
export class LinePage {
  readonly #capacity: number;
  #bytes: Buffer | undefined;
  #used = 0;

  /** @param capacity bytes that are expected in one page; 0 for single lines */
  constructor(capacity: number) {
    this.#capacity = capacity === 0 ? 0 : capacity + room;
  }

  /** Bytes so far. */
  get length(): number {
    return this.#used;
  }

  add(text: string): void {
    const bytes = this.#roomFor(text.length * maxBytesOfUnit);
    this.#used += bytes.write(text, this.#used);
  }

  /** Hands the bytes out, and begins a new page. */
  take(): Buffer {
    const taken = this.#bytes?.subarray(0, this.#used) ?? Buffer.alloc(0);
    this.#bytes = undefined;
    this.#used = 0;
    return taken;
  }

  #roomFor(most: number): Buffer {
    const before = this.#bytes;
    if (before !== undefined && before.length - this.#used >= most) return before;
    const bytes = Buffer.allocUnsafeSlow(Math.max(this.#capacity, 2 * this.#used + most));
    before?.copy(bytes, 0, 0, this.#used);
    this.#bytes = bytes;
    return bytes;
  }
}
