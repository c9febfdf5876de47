/**
 * Huffman coding of HPACK (RFC 7541 §5.2, Appendix B), read by half bytes. The code is canonical: the lengths say all of
 * it.
 */

/** Length of the code of each byte, in bits. */
const lengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];
/** The end of the string, which may not be written. */
const EOS = 256;
const EOS_LENGTH = 30;

/** A node of the code's tree: where 0 and 1 lead, a further node or the symbol in `~x`. */
const zero: number[] = [0];
const one: number[] = [0];

function plant(symbol: number, code: number, length: number): void {
  let node = 0;
  for (let bit = length - 1; bit > 0; bit--) {
    const side = ((code >>> bit) & 1) === 0 ? zero : one;
    if (side[node] === 0) {
      side[node] = zero.length;
      zero.push(0);
      one.push(0);
    }
    node = side[node] as number;
  }
  ((code & 1) === 0 ? zero : one)[node] = ~symbol;
}

const symbols = [...lengths, EOS_LENGTH]
  .map((length, symbol) => ({ length, symbol }))
  .toSorted((a, b) => a.length - b.length || a.symbol - b.symbol);
let code = 0;
let width = 5;
for (const { symbol, length } of symbols) {
  code = code * 2 ** (length - width);
  width = length;
  plant(symbol, code, length);
  code++;
}

/** The flag of a step beside the next node, which is its low byte: a byte is complete, in bits 8 to 15. */
const COMPLETE = 0x1_0000;
const BROKEN = 0x2_0000;
/** node * 16 + half a byte → what comes of it */
const steps = new Int32Array(zero.length * 16);
for (let from = 0; from < zero.length; from++)
  for (let half = 0; half < 16; half++) steps[from * 16 + half] = walk(from, half);

function walk(from: number, half: number): number {
  let node = from;
  let said = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = (((half >>> bit) & 1) === 0 ? zero[node] : one[node]) as number;
    if (next >= 0) node = next;
    else if (~next === EOS) return BROKEN;
    else {
      said = COMPLETE | (~next << 8);
      node = 0;
    }
  }
  return said | node;
}

/** Nodes at which a string may end: less than eight bits of padding, all of them ones. */
const endings = new Uint8Array(zero.length);
for (let node = 0, bits = 0; bits < 8; bits++) {
  endings[node] = 1;
  node = one[node] as number;
}

/**
 * Decodes `bytes[from..to)` into `out`, which has room for eight fifths of that.
 * @returns how many bytes were written, or -1 where it is no sound code
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number, out: Uint8Array): number {
  let node = 0;
  let length = 0;
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number;
    let step = steps[(node << 4) | (byte >>> 4)] as number;
    if (step >= COMPLETE) {
      if (step >= BROKEN) return -1;
      out[length++] = (step >>> 8) & 255;
    }
    step = steps[((step & 255) << 4) | (byte & 15)] as number;
    if (step >= COMPLETE) {
      if (step >= BROKEN) return -1;
      out[length++] = (step >>> 8) & 255;
    }
    node = step & 255;
  }
  return endings[node] === 1 ? length : -1;
}
