/** The bytes of JSON that have a meaning (RFC 8259 §2). */
export const QUOTE = 0x22;
export const MINUS = 0x2d;
export const COMMA = 0x2c;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const LETTER_U = 0x75;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** White space between tokens (RFC 8259 §2). */
export const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;

export const isDigit = (c: number | undefined): boolean => c !== undefined && c >= 0x30 && c <= 0x39;

export const isHex = (c: number | undefined): boolean =>
  isDigit(c) || (c !== undefined && (c | 0x20) >= 0x61 && (c | 0x20) <= 0x66);

/** 1 for the bytes that may follow a backslash in a string, but for `u` (RFC 8259 §7). */
export const isEscaped = new Uint8Array(256);
for (const c of Buffer.from('"\\/bfnrt')) isEscaped[c] = 1;
