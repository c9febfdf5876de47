import { receivedValue, shown } from './shown.ts';
import type { TokenReason } from './tokenReason.ts';

/** The rules for the claims of an issuer's tokens. */
export interface ClaimRules {
  readonly issuer: string;
  /** The token needs one of them in `aud`; empty accepts any. */
  readonly audiences: readonly string[];
  /** The required claims of exp, nbf, aud, iss, sub. */
  readonly requiredClaims: readonly string[];
  /** The permitted difference between clocks. */
  readonly leewayMs: number;
}

export interface ClaimProblem {
  readonly reason: TokenReason;
  readonly claim: string;
  /** The expected and the received value of this claim, for the log; never for the caller. */
  readonly detail: string;
}

/** Checks the registered claims (RFC 7519 §4.1) at the time `now` (milliseconds); undefined where all is well. */
export function checkClaims(
  claims: Readonly<Record<string, unknown>>,
  rules: ClaimRules,
  now: number,
): ClaimProblem | undefined {
  for (const claim of rules.requiredClaims) if (claims[claim] === undefined) return missing(claim);
  for (const claim of ['exp', 'nbf', 'iat'] as const)
    if (claims[claim] !== undefined && !Number.isFinite(claims[claim]))
      return malformed(claim, 'a number', claims[claim]);
  if (claims.sub !== undefined && typeof claims.sub !== 'string')
    return malformed('sub', 'a text', claims.sub);
  if (claims.iss !== rules.issuer) return issuerProblem([rules.issuer], claims.iss);
  return audienceProblem(claims.aud, rules) ?? timeProblem(claims, rules, now);
}

/** The token is from another issuer than the trusted ones. */
export const issuerProblem = (trusted: readonly string[], iss: unknown): ClaimProblem => ({
  reason: 'issuer',
  claim: 'iss',
  detail: `expected ${shown(trusted)}, received ${receivedValue(iss)}`,
});

/** The token lacks a claim that it must have. */
export const missing = (claim: string, expected?: readonly string[]): ClaimProblem => ({
  reason: 'missing_claim',
  claim,
  detail: `expected ${expected === undefined ? 'the claim' : shown(expected)}, received none`,
});

const malformed = (claim: string, expected: string, value: unknown): ClaimProblem => ({
  reason: 'claims',
  claim,
  detail: `expected ${expected}, received ${receivedValue(value)}`,
});

function audienceProblem(aud: unknown, rules: ClaimRules): ClaimProblem | undefined {
  const list: unknown[] = Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
  if (!list.every((one) => typeof one === 'string'))
    return malformed('aud', 'a text or a list of texts', aud);
  if (rules.audiences.length === 0 || list.some((one) => rules.audiences.includes(one as string)))
    return undefined;
  return aud === undefined
    ? missing('aud', rules.audiences)
    : {
        reason: 'audience',
        claim: 'aud',
        detail: `expected ${shown(rules.audiences)}, received ${receivedValue(aud)}`,
      };
}

function timeProblem(
  claims: Readonly<Record<string, unknown>>,
  rules: ClaimRules,
  now: number,
): ClaimProblem | undefined {
  const { exp, nbf, iat } = claims as { exp?: number; nbf?: number; iat?: number };
  // RFC 7519 §4.1.4: "on or after" the time it is dead.
  if (exp !== undefined && now >= exp * 1000 + rules.leewayMs)
    return {
      reason: 'expired',
      claim: 'exp',
      detail: `expired ${seconds(now - exp * 1000)} s ago, leeway ${seconds(rules.leewayMs)} s`,
    };
  if (nbf !== undefined && now + rules.leewayMs < nbf * 1000)
    return { reason: 'not_yet_valid', claim: 'nbf', detail: ahead(nbf, rules, now) };
  if (iat !== undefined && now + rules.leewayMs < iat * 1000)
    return { reason: 'issued_in_future', claim: 'iat', detail: ahead(iat, rules, now) };
  return undefined;
}

const seconds = (ms: number): string => String(Math.floor(ms / 1000));

const ahead = (time: number, { leewayMs }: ClaimRules, now: number): string =>
  `${Math.ceil((time * 1000 - now) / 1000)} s ahead, leeway ${seconds(leewayMs)} s`;
