import { connectionKinds } from '../fields.ts';
import { SPAN, type Head } from '../head.ts';
import { TOKEN } from '../octets.ts';
import { dropTable } from '../render.ts';
import { staticCandidate, staticEntries, statusIndex } from './staticTable.ts';

/**
 * Writes heads without a table of their own and without Huffman coding: names of the static table by number, all else as
 * it is. That costs a client some bytes and neither side any memory, and no head depends on another one.
 */

/** First byte of a literal with a name by number (RFC 7541 §6.2.2), and of one that must not be indexed (§6.2.3). */
const LITERAL = 0x00;
const NEVER_INDEXED = 0x10;

/** Says that we keep no table (RFC 7541 §6.3); to be written once, at the beginning of the first head. */
export const NO_TABLE = 0x20;

const STATUS_NAME = 8;
const SET_COOKIE = 55;

const dropped = dropTable(connectionKinds);

const staticNames = staticEntries.map(([name]) => Buffer.from(name, 'latin1'));

/** More bytes than the fields of this head can become. */
export const encodedMost = (head: Head): number => head.length + head.count * 8 + 16;

/** A status as the first field of a head. @returns the offset behind it */
export function encodeStatus(status: number, out: Buffer, at: number): number {
  const index = statusIndex[status];
  let p = at;
  if (index !== undefined) {
    out[p++] = 0x80 | index;
    return p;
  }
  out[p++] = LITERAL | STATUS_NAME;
  out[p++] = 3;
  out[p++] = 48 + Math.floor(status / 100);
  out[p++] = 48 + (Math.floor(status / 10) % 10);
  out[p++] = 48 + (status % 10);
  return p;
}

/**
 * The fields of a head of HTTP/1.1 that was parsed from `bytes`, from its first byte on.
 * @param except a name that does not cross either, in lower case
 * @returns the offset in `out` behind the last one
 */
export function encodeFields(
  head: Head,
  bytes: Buffer,
  start: number,
  out: Buffer,
  at: number,
  except?: string,
): number {
  const { spans, kinds, hashes, count } = head;
  let p = at;
  for (let i = 0; i < count; i++) {
    if (dropped[kinds[i] as number] === 1) continue;
    const nameFrom = start + (spans[i * SPAN] as number);
    const nameTo = start + (spans[i * SPAN + 1] as number);
    if (except !== undefined && isName(bytes, nameFrom, nameTo, except)) continue;
    const index = nameIndex(bytes, nameFrom, nameTo, hashes[i] as number);
    if (index !== 0) p = integer(index === SET_COOKIE ? NEVER_INDEXED : LITERAL, 15, index, out, p);
    else {
      out[p++] = LITERAL;
      p = integer(0, 127, nameTo - nameFrom, out, p);
      for (let k = nameFrom; k < nameTo; k++) out[p++] = TOKEN[bytes[k] as number] as number;
    }
    const from = start + (spans[i * SPAN + 2] as number);
    const to = start + (spans[i * SPAN + 3] as number);
    p = integer(0, 127, to - from, out, p);
    if (to - from > 64) p += bytes.copy(out, p, from, to);
    else for (let k = from; k < to; k++) out[p++] = bytes[k] as number;
  }
  return p;
}

/** A field whose name is in lower case already. @returns the offset behind it */
export function encodeText(name: string, value: string, out: Buffer, at: number): number {
  out[at] = LITERAL;
  let p = integer(0, 127, name.length, out, at + 1);
  p += out.write(name, p, 'latin1');
  p = integer(0, 127, value.length, out, p);
  return p + out.write(value, p, 'latin1');
}

function integer(first: number, most: number, value: number, out: Buffer, at: number): number {
  let p = at;
  if (value < most) {
    out[p++] = first | value;
    return p;
  }
  out[p++] = first | most;
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) out[p++] = (rest & 127) | 128;
  out[p++] = rest;
  return p;
}

function nameIndex(bytes: Buffer, from: number, to: number, hash: number): number {
  const index = staticCandidate(hash);
  if (index === 0) return 0;
  const name = staticNames[index - 1] as Buffer;
  if (name.length !== to - from) return 0;
  for (let i = 0; i < name.length; i++) if (TOKEN[bytes[from + i] as number] !== name[i]) return 0;
  return index;
}

function isName(bytes: Buffer, from: number, to: number, lower: string): boolean {
  if (lower.length !== to - from) return false;
  for (let i = 0; i < lower.length; i++)
    if (TOKEN[bytes[from + i] as number] !== lower.charCodeAt(i)) return false;
  return true;
}
