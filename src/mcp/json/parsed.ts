import { maxIdLength, type RpcId } from './envelope.ts';

/**
 * Longer messages of servers are checked for structure only: parsing a large list to throw the values away costs more
 * than everything else that happens to it.
 */
export const parsedLength = 65_536;

/** The value of a JSON text; undefined where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A JSON object. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The id that a whole JSON text is; undefined for any other value, and for a text that is longer than an id may be. */
export function parsedId(text: string): RpcId | undefined {
  if (text.length > maxIdLength) return undefined;
  const id = parsed(text);
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
