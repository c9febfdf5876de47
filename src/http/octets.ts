/**
 * Character classes as byte tables: one look-up a byte is the cheapest test there is, and the parser does little
 * else.
 */

const table = (accept: (code: number) => number): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, code) => accept(code));

const tokenMarks = new Set([..."!#$%&'*+-.^_`|~"].map((mark) => mark.charCodeAt(0)));
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isUpper = (code: number): boolean => code >= 65 && code <= 90;
const isLower = (code: number): boolean => code >= 97 && code <= 122;

/** token (RFC 9110 §5.6.2): the byte in lower case, 0 where it may not stand. */
export const TOKEN = table((code) => {
  if (isUpper(code)) return code + 32;
  return isLower(code) || isDigit(code) || tokenMarks.has(code) ? code : 0;
});

/** field-value (RFC 9110 §5.5): visible bytes, space, tab and obs-text; no other control. */
export const VALUE = table((code) => ((code >= 32 && code !== 127) || code === 9 ? 1 : 0));

/**
 * request-target: visible ASCII without `"`, `<`, `>` and `#`, which no URI may hold and which front and back could
 * read in two ways. `{ } | ^ backtick \` are not URI characters either, but browsers send them in queries.
 */
export const TARGET = table((code) =>
  code > 32 && code < 127 && !'"<>#'.includes(String.fromCharCode(code)) ? 1 : 0,
);

/** Value of a hexadecimal digit, 255 for anything else. */
export const HEX = table((code) => {
  if (isDigit(code)) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : 255;
});
