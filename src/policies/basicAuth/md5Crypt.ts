import { hash } from 'node:crypto';
import { alphabet, encodeTriples } from './cryptText.ts';

/**
 * MD5-crypt (`$apr1$` of htpasswd -m, and `$1$`), as published by P.-H. Kamp for FreeBSD. The packages that have it
 * take passwords for ASCII; written out here over node:crypto, and compared with OpenSSL's by a test.
 */
export function md5Crypt(password: Buffer, magic: '$apr1$' | '$1$', salt: string): string {
  const saltBytes = Buffer.from(salt, 'latin1');
  const pieces: Buffer[] = [password, Buffer.from(magic, 'latin1'), saltBytes];
  const alternate = digest([password, saltBytes, password]);
  for (let left = password.length; left > 0; left -= 16)
    pieces.push(alternate.subarray(0, Math.min(16, left)));
  for (let bits = password.length; bits > 0; bits >>= 1)
    pieces.push((bits & 1) === 1 ? Buffer.alloc(1) : password.subarray(0, 1));
  let result = digest(pieces);
  for (let round = 0; round < 1000; round++) {
    const odd = (round & 1) === 1;
    const parts = [odd ? password : result];
    if (round % 3 !== 0) parts.push(saltBytes);
    if (round % 7 !== 0) parts.push(password);
    parts.push(odd ? result : password);
    result = digest(parts);
  }
  const text = encodeTriples(result, order);
  return `${text}${alphabet[(result[11] as number) & 63]}${alphabet[(result[11] as number) >> 6]}`;
}

const digest = (parts: readonly Buffer[]): Buffer => hash('md5', Buffer.concat(parts), 'buffer');

/** Bytes of the digest as they are written, three at a time, the highest first. */
const order = [0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 5];
