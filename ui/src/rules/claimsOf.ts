import type { Claims } from '../api/rules.ts';

/** Reads claims from JSON; undefined for a blank text. @throws Error for other JSON */
export function claimsOf(text: string): Claims | undefined {
  if (text.trim() === '') return undefined;
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('Claims must be a JSON object.');
  return value as Claims;
}
