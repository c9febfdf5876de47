/** Characters that move the cursor, change the colours or reorder a line; a line break and a tab may stay. */
// eslint-disable-next-line no-control-regex -- control characters are the subject
const hostile = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Makes text of another program safe for a terminal. A server can answer with escape sequences that hide what was
 * printed before, or that put text on the command line.
 */
export const printable = (text: string): string =>
  text.replace(hostile, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
