import { createHmac, randomBytes } from 'node:crypto';

/** Wrong passwords that a client may try for one user in a row, and the time after which it may try one more. */
const burst = 10;
const refillMs = 6_000;
/** Pairs of client and user that are kept; the least recently used one makes room. */
const maxPairs = 8_192;

interface Bucket {
  left: number;
  /** Milliseconds of the clock, up to which refills are counted. */
  filledAt: number;
}

/**
 * Limits how fast one client may guess the password of one user. Never limits a user alone: a stranger elsewhere must
 * not be able to lock the user out. Unknown users count like known ones.
 */
export class Attempts {
  private readonly now: () => number;
  private readonly key = randomBytes(32);
  private readonly buckets = new Map<string, Bucket>();

  constructor(now: () => number) {
    this.now = now;
  }

  /** @returns seconds until the client may try again; 0: the attempt is taken and counts until `giveBack` */
  take(client: string, user: string): number {
    const bucket = this.bucketOf(client, user);
    if (bucket.left > 0) {
      bucket.left--;
      return 0;
    }
    return Math.ceil((bucket.filledAt + refillMs - this.now()) / 1_000);
  }

  /** The password was right, or was never checked: the attempt does not count. */
  giveBack(client: string, user: string): void {
    const bucket = this.bucketOf(client, user);
    bucket.left = Math.min(burst, bucket.left + 1);
  }

  private bucketOf(client: string, user: string): Bucket {
    // A digest has one length, whatever name a client sends, and a dump of memory shows no mistyped password.
    const pair = createHmac('sha256', this.key)
      .update(JSON.stringify([client, user]))
      .digest('base64');
    const bucket = this.buckets.get(pair) ?? { left: burst, filledAt: this.now() };
    this.buckets.delete(pair);
    this.buckets.set(pair, bucket);
    const refills = Math.floor((this.now() - bucket.filledAt) / refillMs);
    bucket.left = Math.min(burst, bucket.left + refills);
    bucket.filledAt = bucket.left === burst ? this.now() : bucket.filledAt + refills * refillMs;
    for (const [oldest] of this.buckets) {
      if (this.buckets.size <= maxPairs) break;
      this.buckets.delete(oldest);
    }
    return bucket;
  }
}
