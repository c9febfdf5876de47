import { GatewayError } from '../../errors.ts';
import type { TokenSpace } from './tokenSpace.ts';

/** A failure is reported again for so long, without asking: a refused grant, and a server that has no token. */
const lastingMs = { backend_login_required: 2_000, backend_auth_failed: 1_000 };
/** Failures of one policy. Callers cause a failure with each token that they invent, so the failures are few. */
const mostKept = 512;
/** Characters of a failure with its key, at the most. */
const characters = 512;

interface KeptFailure {
  readonly error: GatewayError;
  readonly until: number;
}

/** Failures of a moment ago, apart from the tokens: no number of failures removes a token. */
export class KeptFailures {
  private readonly space: TokenSpace | undefined;
  /** The failure that was kept first stands first. */
  private readonly kept = new Map<string, KeptFailure>();

  /** @param space as of `IssuedTokens` */
  constructor(space: TokenSpace | undefined) {
    this.space = space;
  }

  get(key: string, now: number): GatewayError | undefined {
    const found = this.kept.get(key);
    return found !== undefined && found.until > now ? found.error : undefined;
  }

  /** Keeps the failures of servers. A defect of the gateway is not kept. */
  keep(key: string, error: unknown, now: number): void {
    if (!(error instanceof GatewayError)) return;
    const { code } = error;
    if (code !== 'backend_login_required' && code !== 'backend_auth_failed') return;
    this.forget(key);
    for (const [first, { until }] of this.kept) {
      if (until > now && this.kept.size < mostKept) break;
      this.forget(first);
    }
    if (this.space?.take(characters) !== false) this.kept.set(key, { error, until: now + lastingMs[code] });
  }

  forget(key: string): void {
    if (this.kept.delete(key)) this.space?.giveBack(characters);
  }

  clear(): void {
    for (const key of [...this.kept.keys()]) this.forget(key);
  }
}
