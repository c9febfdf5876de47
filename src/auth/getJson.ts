import { fetchText, type FetchOptions } from '../files/index.ts';

/** A document from another server, and how long it says it stays fresh. */
export interface Fetched {
  readonly value: unknown;
  /** From Cache-Control: max-age (less Age); 0 for no-store and no-cache; undefined where nothing is said. */
  readonly maxAgeMs: number | undefined;
}

export type GetOptions = Omit<FetchOptions, 'accept'>;

/**
 * GETs a JSON document from an address the operator configured, as `fetchText` does.
 * @throws Error with a message fit for the log
 */
export async function getJson(url: string, options: GetOptions): Promise<Fetched> {
  const { text, maxAgeMs } = await fetchText(url, {
    ...options,
    accept: 'application/json, application/jwk-set+json',
  });
  try {
    const value: unknown = JSON.parse(text);
    return { value, maxAgeMs };
  } catch {
    throw new Error('the answer is not JSON');
  }
}
