import { randomFillSync } from 'node:crypto';

/** Random bytes for some hundred spans: to ask for each id alone takes several times as long. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

function hex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

/** The id of a trace or a span (W3C Trace Context §3.2.2): hex digits, not all zero. */
function newId(bytes: number): string {
  const id = hex(bytes);
  return /^0+$/.test(id) ? newId(bytes) : id;
}

export const newTraceId = (): string => newId(16);
export const newSpanId = (): string => newId(8);
