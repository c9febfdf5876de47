import { randomFillSync } from 'node:crypto';

/** Ids that are made together: one by itself costs several times as much, since its code is out of the caches by then. */
const together = 64;
/** Bytes and characters of a UUID. */
const idBytes = 16;
const length = 36;

/** Random bytes for many times as many ids: the source of them costs most by its start. */
const random = Buffer.alloc(16 * together * idBytes);
let unused = random.length;
const digits = Buffer.from('0123456789abcdef');
const dash = 0x2d;
const text = Buffer.alloc(together * length, dash);

/** Ids one after the other: a piece of a text costs less than a text of its own. */
let made = '';
let next = 0;

/** A new random id for a request: a UUID of version 4 (RFC 9562 §5.4). */
export function newRequestId(): string {
  if (next === made.length) {
    made = makeIds();
    next = 0;
  }
  const start = next;
  next += length;
  return made.slice(start, next);
}

/** Makes many at a time: `randomUUID` takes four times as long, since it joins sixteen pieces for each id. */
function makeIds(): string {
  if (unused === random.length) {
    randomFillSync(random);
    unused = 0;
  }
  let at = 0;
  for (let i = 0; i < together * idBytes; i++) {
    const place = i % idBytes;
    let byte = random[unused++]!;
    if (place === 6) byte = (byte & 0x0f) | 0x40;
    else if (place === 8) byte = (byte & 0x3f) | 0x80;
    // The dashes are there already.
    if (place === 4 || place === 6 || place === 8 || place === 10) at++;
    text[at++] = digits[byte >> 4]!;
    text[at++] = digits[byte & 0x0f]!;
  }
  return text.toString('latin1');
}
