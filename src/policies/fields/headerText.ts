import { fromCel, scalarText } from '../../cel/index.ts';
import { valuePattern } from './httpText.ts';

/** Characters of one value; longer ones fill the heads that servers accept. */
const longest = 8_192;

/**
 * The value of an expression as the value of a header field: texts and bytes as they are, other scalars as text, maps and
 * lists as JSON.
 * @returns undefined for null, and for a value that cannot stand in a header (RFC 9110 §5.5)
 */
export function headerText(value: unknown): string | undefined {
  const text = textOf(value);
  return text !== undefined && text.length <= longest && valuePattern.test(text) ? text : undefined;
}

function textOf(value: unknown): string | undefined {
  if (value === null || value instanceof Error) return undefined;
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  return scalarText(value) ?? jsonText(value);
}

/** Characters beyond ASCII are escaped, so that every name of a person has a place in a header. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(fromCel(value, withoutJson)).replaceAll(
      /[^\x20-\x7e]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
  } catch {
    return undefined;
  }
}

/** @throws Error for a value that has no text */
function withoutJson(value: unknown): string {
  const text = scalarText(value);
  if (text === undefined) throw new Error('the value has no text');
  return text;
}
