/** Characters of one value, and values of one list, that a log line shows. */
const maxLength = 128;
const maxValues = 3;

/** Values of the configuration, or of a token: at most three, each cut to a safe length and on one line. */
export function shown(values: readonly string[]): string {
  const first = values.slice(0, maxValues).map(cut);
  if (values.length > maxValues) first.push(`${values.length - maxValues} more`);
  return first.length === 0 ? 'none' : first.join(' or ');
}

/** The value of one claim or header parameter of a token that was refused. A sender chose it, so it is cut and escaped. */
export function receivedValue(value: unknown): string {
  if (value === undefined) return 'none';
  if (typeof value === 'string') return cut(value);
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string'))
    return shown(value);
  if (typeof value === 'number' || typeof value === 'boolean') return cut(String(value));
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : 'an object';
}

function cut(value: string): string {
  const text = value.length > maxLength ? `${value.slice(0, maxLength)}…` : value;
  // Spaces and control characters would blur where the value ends.
  return /^[\x21-\x7e]+…?$/.test(text) ? text : JSON.stringify(text);
}
