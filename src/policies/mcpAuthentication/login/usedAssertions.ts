import { createHash } from 'node:crypto';
import type { ValidAssertion } from '../../../auth/index.ts';

/** Assertions that are remembered at a time: some 3 MB. */
const mostAssertions = 16_384;

/**
 * The assertions that clients have used (RFC 7523 §3, `jti`), in this process. Only valid ones get here. Beyond the limit
 * the oldest is forgotten: an assertion is worth nothing without a code and its verifier, or a refresh token.
 */
export class UsedAssertions {
  /** The time when each may be forgotten, in milliseconds since the epoch. */
  private readonly used = new Map<string, number>();

  /** @returns false where the client has used it before */
  use(client: string, { id, until, checkedAt }: ValidAssertion): boolean {
    for (const [name, over] of this.used) {
      if (over > checkedAt && this.used.size < mostAssertions) break;
      this.used.delete(name);
    }
    const name = createHash('sha256')
      .update(JSON.stringify([client, id]))
      .digest('base64url');
    if ((this.used.get(name) ?? 0) > checkedAt) return false;
    this.used.set(name, until);
    return true;
  }
}
