import type { Claims } from '../api/rules.ts';

/**
 * Reads claims from JSON; undefined for a blank text.
 * @param field the name of the field, for the reader of an error
 * @throws Error for other JSON
 */
export function claimsOf(text: string, field: string): Claims | undefined {
  if (text.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${field}: ${error instanceof Error ? error.message : 'not JSON'}`, { cause: error });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${field}: expected a JSON object.`);
  return value as Claims;
}
