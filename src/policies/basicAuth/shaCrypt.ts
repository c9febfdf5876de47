import { createHash, hash } from 'node:crypto';
import { encode, encodeTriples } from './cryptText.ts';

/**
 * SHA-crypt (`$5$`, `$6$`), as specified by U. Drepper ("Unix crypt using SHA-256 and SHA-512"). The package that has
 * it gets passwords of exactly one digest's length wrong; written out here over node:crypto, and compared with
 * OpenSSL's by a test.
 */
export function shaCrypt(password: Buffer, kind: 5 | 6, salt: string, rounds: number): string {
  const algorithm = kind === 5 ? 'sha256' : 'sha512';
  const size = kind === 5 ? 32 : 64;
  const digest = (parts: readonly Buffer[]): Buffer => hash(algorithm, Buffer.concat(parts), 'buffer');
  const saltBytes = Buffer.from(salt, 'latin1');

  const alternate = digest([password, saltBytes, password]);
  const first = [password, saltBytes, stretched(alternate, password.length)];
  for (let bits = password.length; bits > 0; bits >>= 1) first.push((bits & 1) === 1 ? alternate : password);
  let result = digest(first);

  const p = stretched(repeatedDigest(algorithm, password, password.length), password.length);
  const s = stretched(repeatedDigest(algorithm, saltBytes, 16 + (result[0] as number)), saltBytes.length);
  for (let round = 0; round < rounds; round++) {
    const odd = (round & 1) === 1;
    const parts = [odd ? p : result];
    if (round % 3 !== 0) parts.push(s);
    if (round % 7 !== 0) parts.push(p);
    parts.push(odd ? result : p);
    result = digest(parts);
  }
  const last =
    kind === 5
      ? encode(((result[31] as number) << 8) | (result[30] as number), 3)
      : encode(result[63] as number, 2);
  return encodeTriples(result, kind === 5 ? order256 : order512(size)) + last;
}

function repeatedDigest(algorithm: string, bytes: Buffer, times: number): Buffer {
  const state = createHash(algorithm);
  for (let i = 0; i < times; i++) state.update(bytes);
  return state.digest();
}

/** `digest` again and again until it has `length` bytes. */
const stretched = (digest: Buffer, length: number): Buffer => Buffer.alloc(length, digest);

// prettier-ignore
const order256 = [
  0, 10, 20, 21, 1, 11, 12, 22, 2, 3, 13, 23, 24, 4, 14, 15, 25, 5, 6, 16, 26, 27, 7, 17, 18, 28, 8, 9, 19, 29,
];

/** 0, 21, 42, then each triple is the one before, turned by one place and every byte one further. */
function order512(size: number): number[] {
  const order: number[] = [];
  let triple = [0, 21, 42];
  for (let i = 0; i + 3 <= size; i += 3) {
    order.push(...triple);
    const [a = 0, b = 0, c = 0] = triple;
    triple = [b + 1, c + 1, a + 1];
  }
  return order;
}
