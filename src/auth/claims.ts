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
}

/** Checks the registered claims (RFC 7519 §4.1) at the time `now` (milliseconds); undefined where all is well. */
export function checkClaims(
  claims: Readonly<Record<string, unknown>>,
  rules: ClaimRules,
  now: number,
): ClaimProblem | undefined {
  for (const claim of rules.requiredClaims)
    if (claims[claim] === undefined) return { reason: 'missing_claim', claim };
  for (const claim of ['exp', 'nbf', 'iat'] as const)
    if (claims[claim] !== undefined && !Number.isFinite(claims[claim])) return { reason: 'claims', claim };
  if (claims.sub !== undefined && typeof claims.sub !== 'string') return { reason: 'claims', claim: 'sub' };
  if (claims.iss !== rules.issuer) return { reason: 'issuer', claim: 'iss' };
  return audienceProblem(claims.aud, rules) ?? timeProblem(claims, rules, now);
}

function audienceProblem(aud: unknown, rules: ClaimRules): ClaimProblem | undefined {
  const list: unknown[] = Array.isArray(aud) ? aud : aud === undefined ? [] : [aud];
  if (!list.every((one) => typeof one === 'string')) return { reason: 'claims', claim: 'aud' };
  if (rules.audiences.length === 0 || list.some((one) => rules.audiences.includes(one as string)))
    return undefined;
  return { reason: aud === undefined ? 'missing_claim' : 'audience', claim: 'aud' };
}

function timeProblem(
  claims: Readonly<Record<string, unknown>>,
  rules: ClaimRules,
  now: number,
): ClaimProblem | undefined {
  const { exp, nbf, iat } = claims as { exp?: number; nbf?: number; iat?: number };
  // RFC 7519 §4.1.4: "on or after" the time it is dead.
  if (exp !== undefined && now >= exp * 1000 + rules.leewayMs) return { reason: 'expired', claim: 'exp' };
  if (nbf !== undefined && now + rules.leewayMs < nbf * 1000)
    return { reason: 'not_yet_valid', claim: 'nbf' };
  if (iat !== undefined && now + rules.leewayMs < iat * 1000)
    return { reason: 'issued_in_future', claim: 'iat' };
  return undefined;
}
