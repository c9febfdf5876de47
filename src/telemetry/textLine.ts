/**
 * Matches text that needs no quotes in `key=value`: no white space, quotes, `=` or control characters, and not
 * empty.
 */
const plain = /^[^\s"=\\\u0000-\u001f\u007f-\u009f\u2028\u2029]+$/;

/** ASCII that `plain` matches: a line has a dozen short values, for which a regular expression costs three times as much. */
const isPlainAscii = Uint8Array.from({ length: 128 }, (_, code) =>
  plain.test(String.fromCharCode(code)) ? 1 : 0,
);

function isPlain(value: string): boolean {
  const { length } = value;
  for (let at = 0; at < length; at++) if (isPlainAscii[value.charCodeAt(at)] !== 1) return plain.test(value);
  return length > 0;
}

/** A value of a text line: as it is, or as a JSON string when it would blur the line. Control characters (terminal
 * escapes from a peer) never reach the terminal. */
export const textValue = (value: string): string =>
  isPlain(value) ? value : escapeControls(JSON.stringify(value));

/** JSON.stringify leaves DEL, the C1 controls and the line separators alone. */
const leftByJson = /[\u007f-\u009f\u2028\u2029]/g;

export const escapeControls = (text: string): string =>
  text.replaceAll(leftByJson, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

const control = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** A free text (a message) within a line. */
export const textMessage = (message: string): string =>
  control.test(message)
    ? escapeControls(JSON.stringify(message)).slice(1, -1).replaceAll('\\"', '"')
    : message;
