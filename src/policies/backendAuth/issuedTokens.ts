import { createHash } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import { expiryOf } from './claims.ts';
import type { CacheSettings } from './oauthSchema.ts';
import type { IssuedToken } from './tokenServer.ts';
import type { TokenSpace } from './tokenSpace.ts';

/** Tokens that are being asked for at a time, by one policy: of an operator, and of a tenant of a cluster. */
const mostPending = { operator: 1_024, tenant: 128 };
/** A kept token is replaced this part of its lifetime before its end, */
const spare = 0.1;
/** and at most so many milliseconds before it. */
const mostSpareMs = 30_000;
/** A failure is reported again for so long, without asking: a refused grant, and a server that has no token. */
const failureMs = { backend_login_required: 2_000, backend_auth_failed: 1_000 };
/** Requests wait so long for a token, however many servers are asked for it. */
const waitMs = 10_000;

type Kept<Token> = { readonly until: number; readonly characters: number } & (
  { readonly token: Token } | { readonly failure: GatewayError }
);

/** Characters of a failure, and of the key of every entry, at the most. */
const smallEntry = 512;

/**
 * Tokens that authorization servers issued, by a digest of everything that they depend on. Requests that need the same
 * token at the same time wait for one answer. No token is sent after its end, or after the end of a token that it was
 * made of.
 */
export class IssuedTokens<Token = string> {
  private readonly settings: CacheSettings;
  private readonly now: () => number;
  private readonly space: TokenSpace | undefined;
  /** The one that was used longest ago first. */
  private readonly kept = new Map<string, Kept<Token>>();
  private readonly pending = new Map<string, Promise<Token>>();
  private closed = false;

  /** @param space for the tokens of a tenant of a cluster */
  constructor(settings: CacheSettings, now: () => number, space?: TokenSpace) {
    this.settings = settings;
    this.now = now;
    this.space = space;
  }

  /** Tokens and failures that are kept. */
  get size(): number {
    return this.kept.size;
  }

  /**
   * @param parts everything that the token depends on, and that differs between requests
   * @param made tokens that it is made of
   * @returns the token at once if it is kept
   * @throws GatewayError
   */
  get(
    parts: readonly string[],
    made: readonly string[],
    ask: () => Promise<IssuedToken<Token>>,
  ): Token | Promise<Token> {
    const key = createHash('sha256').update(JSON.stringify(parts)).digest('base64');
    const kept = this.kept.get(key);
    if (kept !== undefined && kept.until > this.now()) {
      this.kept.delete(key);
      this.kept.set(key, kept);
      if ('failure' in kept) throw kept.failure;
      return kept.token;
    }
    const pending = this.pending.get(key);
    if (pending !== undefined) return pending;
    const most = this.space === undefined ? mostPending.operator : mostPending.tenant;
    if (this.pending.size >= most)
      throw new GatewayError('backend_auth_failed', { detail: `${most} tokens are being asked for` });
    const asked = inTime(this.ask(key, made, ask))
      .catch((error: unknown) => {
        this.keepFailure(key, error);
        throw error;
      })
      .finally(() => this.pending.delete(key));
    this.pending.set(key, asked);
    return asked;
  }

  private async ask(
    key: string,
    made: readonly string[],
    ask: () => Promise<IssuedToken<Token>>,
  ): Promise<Token> {
    const { token, expiresAt } = await ask();
    const now = this.now();
    const texts = typeof token === 'string' ? [token, ...made] : made;
    const ends = [expiresAt ?? now + this.settings.defaultTtlMs, ...texts.map(expiryOf)].filter(
      (end) => end !== undefined,
    );
    const left = Math.min(...ends) - now;
    const characters = (typeof token === 'string' ? token.length : smallEntry) + smallEntry;
    this.keep(key, { token, until: now + left - Math.min(left * spare, mostSpareMs), characters });
    return token;
  }

  private keepFailure(key: string, failure: unknown): void {
    if (!(failure instanceof GatewayError)) return;
    const kept = this.kept.get(key);
    // The token of an earlier request has arrived late, while this request was under way.
    if (kept !== undefined && 'token' in kept && kept.until > this.now()) return;
    const { code } = failure;
    if (code === 'backend_login_required' || code === 'backend_auth_failed')
      this.keep(key, { failure, until: this.now() + failureMs[code], characters: smallEntry });
  }

  /** Keeps no token any more, not even one that arrives later. */
  close(): void {
    this.closed = true;
    for (const key of [...this.kept.keys()]) this.forget(key);
  }

  private keep(key: string, kept: Kept<Token>): void {
    const { maxEntries } = this.settings;
    if (this.closed || maxEntries === 0 || kept.until <= this.now()) return;
    this.forget(key);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size < maxEntries) break;
      this.forget(oldest);
    }
    if (!this.makeRoom(kept.characters)) return;
    this.kept.set(key, kept);
  }

  private makeRoom(characters: number): boolean {
    const { space } = this;
    if (space === undefined || space.take(characters)) return true;
    for (const oldest of this.kept.keys()) {
      this.forget(oldest);
      if (space.take(characters)) return true;
    }
    return false;
  }

  private forget(key: string): void {
    const kept = this.kept.get(key);
    if (kept === undefined) return;
    this.kept.delete(key);
    this.space?.giveBack(kept.characters);
  }
}

/** A token that arrives later is for the requests that come then. */
async function inTime<Token>(asked: Promise<Token>): Promise<Token> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const detail = `there was no token within ${String(waitMs / 1_000)} seconds`;
    timer = setTimeout(() => reject(new GatewayError('backend_auth_failed', { detail })), waitMs);
    timer.unref();
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
