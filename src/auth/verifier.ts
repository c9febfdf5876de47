import { verifySignature } from './algorithms.ts';
import { checkClaims, issuerProblem, missing, type ClaimProblem, type ClaimRules } from './claims.ts';
import { readCompactToken, type CompactToken } from './compactToken.ts';
import type { KeySet, PublicKey } from './contract.ts';
import { receivedValue, shown } from './shown.ts';
import { TokenCache } from './tokenCache.ts';
import type { TokenReason } from './tokenReason.ts';

/** A trusted issuer: its keys, and the rules for its tokens. */
export interface TrustedIssuer extends ClaimRules {
  readonly keys: KeySet;
}

/** The content of a valid token. The same token gives the same object until it expires or the keys change. */
export interface VerifiedToken {
  readonly issuer: string;
  /** Empty where the token has no `sub`. */
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /**
   * Until when the token is accepted, in milliseconds since the epoch: `exp` and the leeway of its issuer. Absent where
   * it has no `exp`.
   */
  readonly acceptedUntil?: number;
}

export type Verdict =
  | { readonly kind: 'verified'; readonly token: VerifiedToken }
  /** `detail` has the expected and the received value, for the log; never for the caller. */
  | {
      readonly kind: 'refused';
      readonly reason: TokenReason;
      readonly claim?: string;
      readonly detail?: string;
    }
  /** The keys of the token's issuer were never there: nobody can say whether it is good. */
  | { readonly kind: 'unavailable'; readonly issuer: string };

export interface Verifier {
  /** Returns at once, except where it has to wait for a key that may be new; the promise never rejects. */
  verify(token: string): Verdict | Promise<Verdict>;
}

interface Remembered {
  readonly verdict: Verdict & { kind: 'verified' };
  readonly until: number;
  readonly keys: KeySet;
  readonly generation: number;
}

/** A token without `exp` (where that is allowed) is looked at again after this long. */
const maxRememberedMs = 3_600_000;

/** Makes a verifier for the tokens of these issuers; the claim `iss` chooses one of them by exact comparison. */
export function createVerifier(issuers: readonly TrustedIssuer[], now: () => number): Verifier {
  const byName = new Map(issuers.map((issuer) => [issuer.issuer, issuer]));
  const cache = new TokenCache<Remembered>(4096, 8_388_608);

  function verify(token: string): Verdict | Promise<Verdict> {
    const known = cache.get(token);
    if (known !== undefined) {
      if (now() < known.until && known.generation === known.keys.generation) return known.verdict;
      cache.delete(token);
    }
    const parsed = readCompactToken(token);
    if ('reason' in parsed) return refused(parsed);
    const issuer = typeof parsed.claims.iss === 'string' ? byName.get(parsed.claims.iss) : undefined;
    if (issuer === undefined) return refused(untrusted(parsed.claims.iss));
    if (!issuer.keys.ready) return { kind: 'unavailable', issuer: issuer.issuer };

    const keys = issuer.keys.find(parsed.kid);
    if (keys.length > 0) return check(token, parsed, issuer, keys);
    const fetching = issuer.keys.refetch();
    if (fetching === undefined) return refused(unknownKey(parsed, issuer));
    return fetching.then(() => {
      const fresh = issuer.keys.find(parsed.kid);
      return fresh.length === 0 ? refused(unknownKey(parsed, issuer)) : check(token, parsed, issuer, fresh);
    });
  }

  function check(
    token: string,
    parsed: CompactToken,
    issuer: TrustedIssuer,
    keys: readonly PublicKey[],
  ): Verdict {
    const { algorithm, claims, signed, signature } = parsed;
    // The key decides which algorithms are possible, not the token (RFC 8725 §3.1).
    const fitting = keys.filter((key) => key.algorithms.has(algorithm));
    if (fitting.length === 0) return refused(unfitting(algorithm, keys));
    if (!fitting.some(({ key }) => verifySignature(algorithm, key, signed, signature)))
      return refused({ reason: 'signature' });
    const at = now();
    const problem = checkClaims(claims, issuer, at);
    if (problem !== undefined) return refused(problem);

    const subject = typeof claims.sub === 'string' ? claims.sub : '';
    const dies =
      typeof claims.exp === 'number' ? { acceptedUntil: claims.exp * 1000 + issuer.leewayMs } : undefined;
    const verdict = { kind: 'verified', token: { issuer: issuer.issuer, subject, claims, ...dies } } as const;
    const until = Math.min(dies?.acceptedUntil ?? Infinity, at + maxRememberedMs);
    cache.set(token, { verdict, until, keys: issuer.keys, generation: issuer.keys.generation });
    return verdict;
  }

  const untrusted = (iss: unknown): Problem => {
    const trusted = issuers.map(({ issuer }) => issuer);
    return iss === undefined ? missing('iss', trusted) : issuerProblem(trusted, iss);
  };

  return { verify };
}

type Problem = Omit<Verdict & { kind: 'refused' }, 'kind'>;

const refused = (problem: Problem | ClaimProblem): Verdict => ({ kind: 'refused', ...problem });

const unknownKey = ({ kid }: CompactToken, { keys }: TrustedIssuer): Problem => ({
  reason: 'unknown_key',
  detail: `kid: expected ${shown(keys.ids)}, received ${receivedValue(kid)}`,
});

const unfitting = (algorithm: string, keys: readonly PublicKey[]): Problem => ({
  reason: 'key_mismatch',
  detail: `alg: expected ${shown([...new Set(keys.flatMap((key) => [...key.algorithms]))])}, received ${algorithm}`,
});
