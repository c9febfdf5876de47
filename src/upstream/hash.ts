/** 32 bits of a text, the same in every process (FNV-1a). */
export function hashOf(text: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++)
    hash = Math.imul(
      hash ^ (typeof text === 'string' ? text.charCodeAt(i) : (text[i] as number)),
      0x01000193,
    );
  return hash >>> 0;
}

/** The lot of an address for a key: every bit of both counts (the last step of MurmurHash3). */
export function lotOf(key: number, other: number): number {
  let mixed = Math.imul(key ^ Math.imul(other, 0x9e3779b1), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
