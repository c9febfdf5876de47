import { createHash } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import { expiryOf } from './claims.ts';
import { KeptFailures } from './keptFailures.ts';
import type { CacheSettings } from './oauthSchema.ts';
import type { IssuedToken } from './tokenServer.ts';
import type { TokenSpace } from './tokenSpace.ts';

/** Tokens that are being asked for at a time, by one policy: of an operator, and of a tenant of a cluster. */
const mostPending = { operator: 1_024, tenant: 128 };
/** A kept token is replaced this part of its lifetime before its end, */
const spare = 0.1;
/** and at most so many milliseconds before it. */
const mostSpareMs = 30_000;
/** Requests wait so long for a token, however many servers are asked for it, */
const waitMs = 10_000;
/** and so long if the kept token is still good. */
const renewalWaitMs = 1_000;

interface Kept<Token> {
  readonly token: Token;
  /** From here on, the next token is asked for. */
  readonly renewAt: number;
  /** The end of the token, or of a token that it was made of. */
  readonly until: number;
  readonly characters: number;
}

/** Characters of the key of an entry, and of a token that is no text, at the most. */
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
  private readonly failures: KeptFailures;
  /** The one that was used longest ago first. */
  private readonly kept = new Map<string, Kept<Token>>();
  private readonly pending = new Map<string, Promise<Token>>();
  private closed = false;

  /** @param space for the tokens of a tenant of a cluster */
  constructor(settings: CacheSettings, now: () => number, space?: TokenSpace) {
    this.settings = settings;
    this.now = now;
    this.space = space;
    this.failures = new KeptFailures(space);
  }

  /** Tokens that are kept. */
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
    const now = this.now();
    const kept = this.use(key, now);
    if (kept !== undefined && kept.renewAt > now) return kept.token;
    const failure = this.failures.get(key, now);
    if (failure === undefined) {
      const asked = this.pending.get(key) ?? this.begin(key, made, ask);
      return kept === undefined ? asked : this.renewed(kept, asked);
    }
    if (kept !== undefined && !isRefusal(failure)) return kept.token;
    throw failure;
  }

  /** The kept token, which is now the one that was used last. */
  private use(key: string, now: number): Kept<Token> | undefined {
    const kept = this.kept.get(key);
    if (kept === undefined || kept.until <= now) return undefined;
    this.kept.delete(key);
    this.kept.set(key, kept);
    return kept;
  }

  private begin(
    key: string,
    made: readonly string[],
    ask: () => Promise<IssuedToken<Token>>,
  ): Promise<Token> {
    const most = this.space === undefined ? mostPending.operator : mostPending.tenant;
    if (this.pending.size >= most) {
      const detail = `${most} tokens are being asked for`;
      return Promise.reject(new GatewayError('backend_auth_failed', { detail }));
    }
    const asked = inTime(this.ask(key, made, ask), waitMs)
      .catch((error: unknown) => {
        if (!this.closed && this.settings.maxEntries > 0) this.failures.keep(key, error, this.now());
        throw error;
      })
      .finally(() => this.pending.delete(key));
    this.pending.set(key, asked);
    return asked;
  }

  /** The next token if it arrives soon; otherwise the kept one, as long as it is good. */
  private async renewed({ token, until }: Kept<Token>, asked: Promise<Token>): Promise<Token> {
    try {
      return await inTime(asked, renewalWaitMs);
    } catch (error) {
      if (!isRefusal(error) && this.now() < until) return token;
      return await asked;
    }
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
    const renewAt = now + left - Math.min(left * spare, mostSpareMs);
    this.failures.forget(key);
    this.keep(key, { token, renewAt, until: now + left, characters });
    return token;
  }

  /** Keeps no token any more, not even one that arrives later. */
  close(): void {
    this.closed = true;
    for (const key of [...this.kept.keys()]) this.forget(key);
    this.failures.clear();
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

/** The server has refused the grant. After other failures, a kept token is still good. */
const isRefusal = (failure: unknown): boolean =>
  failure instanceof GatewayError && failure.code === 'backend_login_required';

/** A token that arrives later is for the requests that come then. */
async function inTime<Token>(asked: Promise<Token>, waitMs: number): Promise<Token> {
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
