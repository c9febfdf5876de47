import {
  createVerifier,
  type KeySetLease,
  type KeySetSource,
  type VerifiedToken,
  type Verdict,
  type Verifier,
} from '../../auth/index.ts';
import { GatewayError } from '../../errors.ts';
import { endpointOf } from '../../schema/index.ts';
import type { PolicyTools } from '../policy.ts';
import { guardedIf } from '../token/authenticate.ts';

type IdTokenTools = Pick<PolicyTools, 'keySets' | 'now' | 'guarded'>;

/** The permitted difference between the clocks of gateway and provider. */
const leewayMs = 10_000;

interface Keys {
  readonly source: KeySetSource;
  readonly lease: KeySetLease;
  readonly verifier: Verifier;
}

/** Verifies ID tokens (OpenID Connect Core §3.1.3.7), with the gateway's own key sets. */
export class IdTokens {
  private readonly issuer: string;
  private readonly clientId: string;
  private readonly tools: IdTokenTools;
  private readonly isFixed: boolean;
  private keys: Keys | undefined;
  private closed = false;

  /** @param source absent where the metadata names the keys only when it is read */
  constructor(issuer: string, clientId: string, source: KeySetSource | undefined, tools: IdTokenTools) {
    this.issuer = issuer;
    this.clientId = clientId;
    this.tools = tools;
    this.isFixed = source !== undefined;
    if (source !== undefined) this.use(source);
  }

  /** @throws GatewayError login_failed, with the reason why the token was refused */
  async verify(token: string, metadata: Readonly<Record<string, unknown>>): Promise<VerifiedToken> {
    const { lease, verifier } = this.keysFor(metadata);
    let verdict = await verifier.verify(token);
    if (verdict.kind === 'unavailable') {
      // The first login may come before the first fetch is over.
      await lease.set.refetch();
      verdict = await verifier.verify(token);
    }
    if (verdict.kind === 'verified') return verdict.token;
    throw new GatewayError('login_failed', { detail: `the ID token was not accepted: ${reasonOf(verdict)}` });
  }

  /** Judges claims that nobody has signed, as those of an ID token. */
  judge(claims: Readonly<Record<string, unknown>>): Verdict {
    return (this.keys?.verifier ?? this.verifierWith(noKeys)).judge(claims);
  }

  close(): void {
    this.closed = true;
    this.keys?.lease.release();
    this.keys = undefined;
  }

  private keysFor({ jwks_uri: address }: Readonly<Record<string, unknown>>): Keys {
    if (this.isFixed && this.keys !== undefined) return this.keys;
    const url = endpointOf(address, this.issuer)?.href;
    if (url === undefined || this.closed)
      throw new GatewayError('login_failed', { detail: 'jwks_uri is missing in the metadata, or not https' });
    const { source } = this.keys ?? {};
    return this.keys !== undefined && source?.kind === 'url' && source.url === url
      ? this.keys
      : this.use({ kind: 'url', url });
  }

  private use(source: KeySetSource): Keys {
    const lease = this.tools.keySets.use(guardedIf(this.tools.guarded, source));
    this.keys?.lease.release();
    this.keys = { source, lease, verifier: this.verifierWith(lease.set) };
    return this.keys;
  }

  private verifierWith(keys: KeySetLease['set']): Verifier {
    const { issuer, clientId, tools } = this;
    const requiredClaims = ['iss', 'sub', 'aud', 'exp'];
    return createVerifier([{ issuer, audiences: [clientId], requiredClaims, leewayMs, keys }], tools.now);
  }
}

const noKeys: KeySetLease['set'] = {
  generation: 0,
  ready: false,
  find: () => [],
  remote: false,
  ids: [],
  refetch: () => undefined,
  watch: () => () => undefined,
};

function reasonOf(verdict: Verdict): string {
  if (verdict.kind === 'unavailable') return 'the keys of the provider are not available';
  if (verdict.kind !== 'refused') return verdict.kind;
  const { reason, claim, detail } = verdict;
  return [reason, claim, detail].filter((part) => part !== undefined).join(': ');
}
