import type { Draws, RateLimitState, TokenLimit, TokenStore } from '../policy.ts';
import { Buckets } from './buckets.ts';

/** Buckets that nobody has open are kept for so long: a process that ended may be followed by another. */
const keepMs = 60_000;
/** Between two looks at them: a configuration may open thousands of limits one after the other. */
const lookMs = 1_000;

interface Kept {
  readonly buckets: Buckets;
  /** The number of users that have them open. */
  users: number;
  /** When the last one closed them. */
  leftAt: number;
}

/** Keeps the buckets in this process. */
export class LocalTokens implements TokenStore {
  private readonly now: () => number;
  private readonly kept = new Map<string, Kept>();
  private lookedAt = 0;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.now = now;
  }

  /** Limits whose buckets are kept. */
  get size(): number {
    return this.kept.size;
  }

  open(place: string, limits: readonly TokenLimit[]): LocalDraws {
    this.forgetOld();
    const used = limits.map((limit, index) => this.use(`${place}\n${index}\n${nameOf(limit)}`, limit));
    return new LocalDraws(
      used.map(({ buckets }) => buckets),
      this.now,
      () => {
        for (const one of used) {
          one.users--;
          one.leftAt = this.now();
        }
      },
    );
  }

  private use(name: string, limit: TokenLimit): Kept {
    let kept = this.kept.get(name);
    if (kept === undefined) {
      kept = { buckets: new Buckets(limit), users: 0, leftAt: 0 };
      this.kept.set(name, kept);
    }
    kept.users++;
    return kept;
  }

  private forgetOld(): void {
    const now = this.now();
    if (Math.abs(now - this.lookedAt) < lookMs) return;
    this.lookedAt = now;
    for (const [name, { users, leftAt }] of this.kept)
      if (users === 0 && Math.abs(now - leftAt) > keepMs) this.kept.delete(name);
  }
}

/** A limit that has changed in any way begins anew. */
export const nameOf = ({ maxTokens, tokensPerFill, fillInterval, maxKeys, key }: TokenLimit): string =>
  JSON.stringify([maxTokens, tokensPerFill, fillInterval, maxKeys, key]);

export class LocalDraws implements Draws {
  private readonly all: readonly Buckets[];
  private readonly now: () => number;
  private readonly onClose: () => void;
  private closed = false;

  constructor(all: readonly Buckets[], now: () => number, onClose: () => void) {
    this.all = all;
    this.now = now;
    this.onClose = onClose;
  }

  draw(keys: readonly string[]): RateLimitState {
    const now = this.now();
    const [only] = this.all;
    if (only !== undefined && this.all.length === 1) {
      const bucket = only.of(keys[0] ?? '', now);
      const left = bucket.available(only.limit, now);
      if (left > 0) bucket.take();
      return {
        allowed: left > 0,
        most: only.limit.maxTokens,
        left: Math.max(0, left - 1),
        fillMs: bucket.untilFill(only.limit, now),
      };
    }
    return this.drawFromAll(keys, now);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.onClose();
  }

  /** All or none: what one limit refuses must not cost a token of another. */
  private drawFromAll(keys: readonly string[], now: number): RateLimitState {
    const drawn = this.all.map((buckets, index) => {
      const { limit } = buckets;
      const bucket = buckets.of(keys[index] ?? '', now);
      return { limit, index, bucket, left: bucket.available(limit, now) };
    });
    const allowed = drawn.every(({ left }) => left > 0);
    if (allowed)
      for (const one of drawn) {
        one.bucket.take();
        one.left -= 1;
      }
    // The one that will refuse first is the one a client should know about.
    const { limit, index, bucket, left } = drawn.reduce((a, b) => (b.left < a.left ? b : a));
    return { allowed, most: limit.maxTokens, left, fillMs: bucket.untilFill(limit, now), limit: index };
  }
}
