import { fieldHash } from '../fields.ts';

/** The static table (RFC 7541 Appendix A); its first entry has index 1. */
export const staticEntries: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

const SLOTS = 4_096;
/** slot → the first index of that name; the load below fails if two names fell into one slot. */
const slots = new Uint8Array(SLOTS);
const slotOf = (hash: number): number => (hash ^ (hash >>> 12)) & (SLOTS - 1);
for (let i = staticEntries.length; i > 0; i--) {
  const [name] = staticEntries[i - 1] as (typeof staticEntries)[number];
  const slot = slotOf(fieldHash(name));
  const taken = slots[slot] as number;
  if (taken !== 0 && staticEntries[taken - 1]?.[0] !== name)
    throw new Error(`two names of the static table share a slot: ${name}`);
  slots[slot] = i;
}

/** Index of an entry that may have the name with this hash; 0 where none has. The caller compares the names. */
export const staticCandidate = (hash: number): number => slots[slotOf(hash)] as number;

/** Statuses that have an entry of their own. */
export const statusIndex: Readonly<Record<number, number>> = Object.fromEntries(
  staticEntries.flatMap(([name, value], i) => (name === ':status' ? [[Number(value), i + 1]] : [])),
);
