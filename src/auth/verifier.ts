import { checkClaims, issuerProblem, missing, type ClaimProblem, type ClaimRules } from './claims.ts';
import { readCompactToken, type CompactToken } from './compactToken.ts';
import type { KeySet, PublicKey } from './contract.ts';
import { keyProblem, signatureProblem } from './signature.ts';
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
  /** The claims are good, and the key that proves them is not there. Only a token that is explained gets this verdict. */
  | { readonly kind: 'unproven'; readonly token: VerifiedToken }
  /** The keys of the token's issuer were never there: nobody can say whether it is good. */
  | { readonly kind: 'unavailable'; readonly issuer: string };

export interface Verifier {
  /** Returns at once, except where it has to wait for a key that may be new; the promise never rejects. */
  verify(token: string): Verdict | Promise<Verdict>;
  /** The same without a request to anybody, and without memory: `unproven` where only a key over the network can tell. */
  explain(token: string): Verdict;
  /**
   * Calls `onRefused` when a change of the keys makes a valid token invalid.
   * @returns a function that ends the watch
   */
  watch(token: string, onRefused: () => void): () => void;
  /** Judges claims that nobody has signed. Absent registered claims are those of a good token of the only issuer. */
  judge(claims: Readonly<Record<string, unknown>>): Verdict;
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
    return checkAfter(fetching, token, parsed, issuer);
  }

  async function checkAfter(
    fetching: Promise<void>,
    token: string,
    parsed: CompactToken,
    issuer: TrustedIssuer,
  ): Promise<Verdict> {
    const { keys } = issuer;
    await fetching;
    // A regular fetch under way may have begun before the key was published. It has not begun the cool-down time.
    if (keys.find(parsed.kid).length === 0) await keys.refetch();
    const fresh = keys.find(parsed.kid);
    return fresh.length === 0 ? refused(unknownKey(parsed, issuer)) : check(token, parsed, issuer, fresh);
  }

  function check(
    token: string,
    parsed: CompactToken,
    issuer: TrustedIssuer,
    keys: readonly PublicKey[],
  ): Verdict {
    const { claims } = parsed;
    const at = now();
    const problem = signatureProblem(parsed, keys) ?? checkClaims(claims, issuer, at);
    if (problem !== undefined) return refused(problem);
    const verdict = { kind: 'verified', token: contentOf(claims, issuer) } as const;
    const until = Math.min(verdict.token.acceptedUntil ?? Infinity, at + maxRememberedMs);
    cache.set(token, { verdict, until, keys: issuer.keys, generation: issuer.keys.generation });
    return verdict;
  }

  function explain(token: string): Verdict {
    const parsed = readCompactToken(token);
    if ('reason' in parsed) return refused(parsed);
    const issuer = typeof parsed.claims.iss === 'string' ? byName.get(parsed.claims.iss) : undefined;
    if (issuer === undefined) return refused(untrusted(parsed.claims.iss));
    const keys = issuer.keys.find(parsed.kid);
    if (keys.length > 0) return check(token, parsed, issuer, keys);
    if (issuer.keys.remote) return judgeOf(parsed.claims, issuer);
    return issuer.keys.ready
      ? refused(unknownKey(parsed, issuer))
      : { kind: 'unavailable', issuer: issuer.issuer };
  }

  function watch(token: string, onRefused: () => void): () => void {
    const parsed = readCompactToken(token);
    if ('reason' in parsed) return () => undefined;
    const keys = typeof parsed.claims.iss === 'string' ? byName.get(parsed.claims.iss)?.keys : undefined;
    const before = keys?.find(parsed.kid) ?? [];
    // Another policy has verified the token.
    if (keys === undefined || before.length === 0) return () => undefined;
    return keys.watch(() => {
      const after = keys.find(parsed.kid);
      const stay = before.every(({ key }) => after.some((other) => key.equals(other.key)));
      if (!stay && explain(token).kind !== 'verified') onRefused();
    });
  }

  function judge(given: Readonly<Record<string, unknown>>): Verdict {
    const [only, ...others] = issuers;
    const defaults =
      only === undefined || others.length > 0
        ? {}
        : {
            iss: only.issuer,
            ...(only.audiences[0] === undefined ? {} : { aud: only.audiences[0] }),
            exp: Math.floor(now() / 1000) + 3600,
          };
    const claims: Readonly<Record<string, unknown>> = { ...defaults, ...given };
    const issuer = typeof claims.iss === 'string' ? byName.get(claims.iss) : undefined;
    if (issuer === undefined) return refused(untrusted(claims.iss));
    return judgeOf(claims, issuer);
  }

  function judgeOf(claims: Readonly<Record<string, unknown>>, issuer: TrustedIssuer): Verdict {
    const problem = checkClaims(claims, issuer, now());
    return problem === undefined ? { kind: 'unproven', token: contentOf(claims, issuer) } : refused(problem);
  }

  const untrusted = (iss: unknown): Problem => {
    const trusted = issuers.map(({ issuer }) => issuer);
    return iss === undefined ? missing('iss', trusted) : issuerProblem(trusted, iss);
  };

  return { verify, explain, watch, judge };
}

function contentOf(claims: Readonly<Record<string, unknown>>, issuer: TrustedIssuer): VerifiedToken {
  const { sub, exp } = claims;
  const dies = typeof exp === 'number' ? { acceptedUntil: exp * 1000 + issuer.leewayMs } : undefined;
  return { issuer: issuer.issuer, subject: typeof sub === 'string' ? sub : '', claims, ...dies };
}

type Problem = Omit<Verdict & { kind: 'refused' }, 'kind'>;

const refused = (problem: Problem | ClaimProblem): Verdict => ({ kind: 'refused', ...problem });

const unknownKey = ({ kid }: CompactToken, { keys }: TrustedIssuer): Problem => keyProblem(kid, keys.ids);
