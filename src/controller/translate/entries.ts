import { descriptionEntries } from '../../mcp/targets/facts.ts';
import type { ConfigMap, Secret } from '../types/index.ts';

/**
 * The entries that are read of Secrets and ConfigMaps, and the most bytes of each entry that are kept in memory. Whoever may write
 * ConfigMaps would else decide how much memory the controller needs.
 */
export const entryLimits = {
  'tls.crt': 65_536,
  'tls.key': 65_536,
  'ca.crt': 65_536,
  'jwks.json': 65_536,
  'openid-configuration.json': 65_536,
  '.htpasswd': 65_536,
  'api-key': 8_192,
  'client-secret': 8_192,
  ...descriptionEntries,
} as const;

/** Most bytes of every other entry: those of Secrets that are for the programs of McpBackends. */
export const otherEntryLimit = 65_536;

export type EntryName = keyof typeof entryLimits;

export const limitOf = (entry: string): number =>
  Object.hasOwn(entryLimits, entry) ? entryLimits[entry as EntryName] : otherEntryLimit;

/** Most bytes that the Secrets and ConfigMaps of a namespace have in memory together, as the API writes them. */
export const namespaceBudget = 16_777_216;

/** The reason why an object has no text under the name of an entry. */
export function whyMissing(
  { withheld, tooLarge = [] }: Pick<Secret | ConfigMap, 'withheld' | 'tooLarge'>,
  entry: string,
): string {
  if (withheld === 'unread') return 'it could not be read yet';
  if (withheld === 'overBudget')
    return `the Secrets and ConfigMaps in use of its namespace are larger than ${namespaceBudget} bytes`;
  if (tooLarge.includes(entry)) return `its ${entry} is larger than ${limitOf(entry)} bytes`;
  return `it does not hold ${entry}`;
}
