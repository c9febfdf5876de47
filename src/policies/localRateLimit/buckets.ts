import { hash } from 'node:crypto';
import { compile, isProblem } from '../../cel/index.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import type { Exchange } from '../policy.ts';
import { Bucket } from './bucket.ts';
import type { Limit } from './schema.ts';

/** Longer keys are kept as their digest: what a client sends must not decide how much memory a bucket takes. */
const maxKeyLength = 64;

/** Finds the bucket that a request draws from. */
export type BucketOf = (x: Exchange, now: number) => Bucket;

/** @throws Error for a key that does not compile */
export function bucketsOf(limit: Limit, now: number): BucketOf {
  if (limit.key === undefined) {
    const only = new Bucket(limit, now);
    return () => only;
  }
  const program = compile(limit.key, requestAttributes);
  if (isProblem(program)) throw new Error(`localRateLimit.key: ${program.message}`);
  const context = contextFor([program]);
  // In the order of use: the first is the one that was not used for longest.
  const buckets = new Map<string, Bucket>();
  return (x, at) => {
    const key = keyText(program.run(context(x)));
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = new Bucket(limit, at);
      if (buckets.size >= limit.maxKeys) {
        const oldest = buckets.keys().next();
        if (oldest.done !== true) buckets.delete(oldest.value);
      }
    } else buckets.delete(key);
    buckets.set(key, bucket);
    return bucket;
  };
}

/** Requests without a key (a header that is not there) share one bucket, so that leaving it out gives nothing. */
function keyText(value: unknown): string {
  if (!['string', 'bigint', 'number', 'boolean'].includes(typeof value)) return '';
  const text = `${typeof value} ${String(value)}`;
  return text.length <= maxKeyLength ? text : hash('sha256', text, 'base64');
}
