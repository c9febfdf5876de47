/** JWTs with which OAuth clients prove themselves: `private_key_jwt` (RFC 7523 §2.2 and §3, OpenID Connect Core §9). */

import { checkClaims } from './claims.ts';
import { readCompactToken, type CompactToken, type TokenForm, type UnreadableToken } from './compactToken.ts';
import type { KeyList } from './keyList.ts';
import { receivedValue } from './shown.ts';
import { keyProblem, signatureProblem } from './signature.ts';

/** `client_assertion_type` of such a JWT. */
export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** RFC 7523 names no type of its own; its revision (draft-ietf-oauth-rfc7523bis) does. Many clients name no key. */
const form: TokenForm = { types: ['JWT', 'client-authentication+jwt'], needsKeyId: false };

const leewayMs = 60_000;
/** `exp` may lie so far ahead. */
const longestMs = 3_600_000;
/** Keys that may be tried for an assertion, such as an old and a new one: a check with P-521 takes a millisecond. */
const mostTried = 2;
const longestId = 256;

/** The client whose assertion is checked. */
export interface AssertingClient {
  readonly id: string;
  /** The names of the authorization server. */
  readonly audiences: readonly string[];
  /** The only algorithm; undefined: any asymmetric one that fits the key. */
  readonly algorithm?: string | undefined;
  /** Its keys. @param again those that were read before do not fit. Rejects where keys cannot be read. */
  readonly keys: (again: boolean) => Promise<KeyList>;
}

/** A valid assertion. Times are in milliseconds since the epoch. */
export interface ValidAssertion {
  readonly id: string;
  /** The gateway refuses the same `id` until then. */
  readonly until: number;
  readonly checkedAt: number;
}

/** The client that an assertion is about; nothing is checked. */
export function assertedClient(assertion: string): string | undefined {
  const parsed = readCompactToken(assertion, form);
  return 'reason' in parsed || typeof parsed.claims.sub !== 'string' ? undefined : parsed.claims.sub;
}

/**
 * Checks an assertion of a client.
 * @param now milliseconds since the epoch
 * @returns the problem, with the expected and the received value for the log
 * @throws Error where the keys cannot be read
 */
export async function verifyAssertion(
  assertion: string,
  client: AssertingClient,
  now: () => number,
): Promise<ValidAssertion | UnreadableToken> {
  const { id, audiences, algorithm } = client;
  const parsed = readCompactToken(assertion, form);
  if ('reason' in parsed) return parsed;
  if (algorithm !== undefined && parsed.algorithm !== algorithm)
    return { reason: 'algorithm', detail: `alg: expected ${algorithm}, received ${parsed.algorithm}` };
  const first = await client.keys(false);
  let problem = keysProblem(parsed, first);
  if (problem !== undefined) {
    const next = await client.keys(true);
    if (next.fingerprint !== first.fingerprint) problem = keysProblem(parsed, next);
  }
  if (problem !== undefined) return problem;
  const { claims } = parsed;
  const at = now();
  const rules = { issuer: id, audiences, requiredClaims: ['sub', 'exp', 'jti'], leewayMs };
  problem = checkClaims(claims, rules, at);
  if (problem !== undefined) return problem;
  const { sub, exp, jti } = claims as { sub: string; exp: number; jti: unknown };
  if (sub !== id) return malformed('sub', id, sub);
  if (exp * 1_000 > at + longestMs + leewayMs)
    return malformed('exp', `at most ${longestMs / 1_000} s ahead`, exp);
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId)
    return malformed('jti', `a text of at most ${longestId} characters`, jti);
  return { id: jti, until: exp * 1_000 + leewayMs, checkedAt: at };
}

/** The reason why no key of the list has signed it. */
function keysProblem(parsed: CompactToken, { byKid }: KeyList): UnreadableToken | undefined {
  const { kid, algorithm } = parsed;
  const keys = kid === '' ? [...byKid.values()].flat() : (byKid.get(kid) ?? []);
  if (keys.length === 0) return keyProblem(kid, [...byKid.keys()]);
  const fitting = keys.filter(({ algorithms }) => algorithms.has(algorithm));
  return fitting.length > mostTried
    ? { reason: 'no_key_id', detail: `more than ${mostTried} keys fit` }
    : signatureProblem(parsed, keys);
}

const malformed = (claim: string, expected: string, value: unknown): UnreadableToken => ({
  reason: 'claims',
  detail: `${claim}: expected ${expected}, received ${receivedValue(value)}`,
});
