/** JWTs with which OAuth clients prove themselves: `private_key_jwt` (RFC 7523 §2.2 and §3, OpenID Connect Core §9). */

import { checkClaims } from './claims.ts';
import { readCompactToken, type TokenForm, type UnreadableToken } from './compactToken.ts';
import type { PublicKey } from './contract.ts';
import type { KeyList } from './keyList.ts';
import { receivedValue } from './shown.ts';
import { keyProblem, signatureProblem } from './signature.ts';

/** `client_assertion_type` of such a JWT. */
export const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** RFC 7523 names no type of its own; its revision (draft-ietf-oauth-rfc7523bis) does. Many clients name no key. */
const form: TokenForm = { types: ['JWT', 'client-authentication+jwt'], needsKeyId: false };

const leewayMs = 60_000;
/** `exp` may lie so far ahead. */
const longestMs = 3_600_000;
/** Keys that may be tried for an assertion that names none. */
const mostTried = 8;
const longestId = 256;

/** The client whose assertion is checked. */
export interface AssertingClient {
  readonly id: string;
  /** The names of the authorization server. */
  readonly audiences: readonly string[];
  /** The only algorithm; undefined: any asymmetric one that fits the key. */
  readonly algorithm?: string | undefined;
  /** Its keys. @param fresh not those that do not have a key that the assertion names. Rejects where they cannot be read. */
  readonly keys: (fresh: boolean) => Promise<KeyList>;
}

/** A valid assertion: nobody may use the same `id` again before the time, in milliseconds since the epoch. */
export interface ValidAssertion {
  readonly id: string;
  readonly until: number;
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
  now: number,
): Promise<ValidAssertion | UnreadableToken> {
  const { id, audiences, algorithm } = client;
  const parsed = readCompactToken(assertion, form);
  if ('reason' in parsed) return parsed;
  if (algorithm !== undefined && parsed.algorithm !== algorithm)
    return { reason: 'algorithm', detail: `alg: expected ${algorithm}, received ${parsed.algorithm}` };
  const { kid, claims } = parsed;
  let list = await client.keys(false);
  if (kid !== '' && !list.byKid.has(kid)) list = await client.keys(true);
  const keys = kid === '' ? [...list.byKid.values()].flat() : (list.byKid.get(kid) ?? []);
  if (keys.length === 0) return keyProblem(kid, [...list.byKid.keys()]);
  if (kid === '' && fitting(keys, parsed.algorithm) > mostTried) return { reason: 'no_key_id' };
  const rules = { issuer: id, audiences, requiredClaims: ['sub', 'exp', 'jti'], leewayMs };
  const problem = signatureProblem(parsed, keys) ?? checkClaims(claims, rules, now);
  if (problem !== undefined) return problem;
  const { sub, exp, jti } = claims as { sub: string; exp: number; jti: unknown };
  if (sub !== id) return malformed('sub', id, sub);
  if (exp * 1_000 > now + longestMs + leewayMs)
    return malformed('exp', `at most ${longestMs / 1_000} s ahead`, exp);
  if (typeof jti !== 'string' || jti === '' || jti.length > longestId)
    return malformed('jti', `a text of at most ${longestId} characters`, jti);
  return { id: jti, until: exp * 1_000 + leewayMs };
}

const fitting = (keys: readonly PublicKey[], algorithm: string): number =>
  keys.filter(({ algorithms }) => [...algorithms].some((name) => name === algorithm)).length;

const malformed = (claim: string, expected: string, value: unknown): UnreadableToken => ({
  reason: 'claims',
  detail: `${claim}: expected ${expected}, received ${receivedValue(value)}`,
});
