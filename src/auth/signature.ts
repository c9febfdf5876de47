import { verifySignature } from './algorithms.ts';
import type { CompactToken, UnreadableToken } from './compactToken.ts';
import type { PublicKey } from './contract.ts';
import { receivedValue, shown } from './shown.ts';

/** Checks the signature of a token with the keys that may have made it; undefined where one of them has. */
export function signatureProblem(
  { algorithm, signed, signature }: CompactToken,
  keys: readonly PublicKey[],
): UnreadableToken | undefined {
  // The key decides which algorithms are possible, not the token (RFC 8725 §3.1).
  const fitting = keys.filter((key) => key.algorithms.has(algorithm));
  if (fitting.length === 0) {
    const possible = new Set(keys.flatMap((key) => [...key.algorithms]));
    return {
      reason: 'key_mismatch',
      detail: `alg: expected ${shown([...possible])}, received ${algorithm}`,
    };
  }
  return fitting.some(({ key }) => verifySignature(algorithm, key, signed, signature))
    ? undefined
    : { reason: 'signature' };
}

/** The token names a key that the set does not have. */
export const keyProblem = (kid: string, ids: readonly string[]): UnreadableToken => ({
  reason: 'unknown_key',
  detail: `kid: expected ${shown(ids)}, received ${receivedValue(kid)}`,
});
