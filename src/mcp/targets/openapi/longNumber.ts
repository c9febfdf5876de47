/** Reads and writes numbers by their source text (TC39, "JSON.parse source text access"; Node has it, its types lack it). */
interface JsonOfSources {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}

const json = JSON as typeof JSON & JsonOfSources;

/** Reads a value. A whole number that a double cannot hold keeps its digits: ids are often that long. */
export function readValue(text: string): unknown {
  return JSON.parse(
    text,
    function keep(_key, value: unknown, context?: { readonly source?: string }): unknown {
      if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
      const source = context?.source;
      return source !== undefined && /^-?\d+$/.test(source) ? json.rawJSON(source) : value;
    },
  );
}

/** Is this value of `readValue` a list or an object? */
export const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !json.isRawJSON(value);

/** The type of a value of `readValue`, as JSON Schema names it. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isNested(value)) return 'object';
  // `readValue` keeps a long whole number as an object.
  return typeof value === 'object' || Number.isInteger(value) ? 'integer' : typeof value;
}
