import type { TokenLimit } from '../policy.ts';
import { Bucket } from './bucket.ts';

/** The buckets of one limit, by key. */
export class Buckets {
  readonly limit: TokenLimit;
  /** In the order of use: the first is the one that was not used for longest. */
  private readonly byKey = new Map<string, Bucket>();

  constructor(limit: TokenLimit) {
    this.limit = limit;
  }

  of(key: string, now: number): Bucket {
    const { byKey, limit } = this;
    let bucket = byKey.get(key);
    if (bucket === undefined) {
      bucket = new Bucket(limit, now);
      if (byKey.size >= limit.maxKeys) {
        const oldest = byKey.keys().next();
        if (oldest.done !== true) byKey.delete(oldest.value);
      }
    } else if (byKey.size === 1) return bucket;
    else byKey.delete(key);
    byKey.set(key, bucket);
    return bucket;
  }
}
