/** The base64 of crypt(3): another alphabet, and the lowest six bits first. */
export const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Writes bytes in `order`, three at a time (the first is the highest), as four characters each. */
export function encodeTriples(bytes: Buffer, order: readonly number[]): string {
  let text = '';
  for (let i = 0; i + 2 < order.length; i += 3) {
    const [a, b, c] = order.slice(i, i + 3).map((at) => bytes[at] as number) as [number, number, number];
    text += encode((a << 16) | (b << 8) | c, 4);
  }
  return text;
}

/** The lowest `6 × characters` bits of `value`, the lowest first. */
export function encode(value: number, characters: number): string {
  let text = '';
  for (let i = 0, rest = value; i < characters; i++, rest >>>= 6) text += alphabet[rest & 63];
  return text;
}
