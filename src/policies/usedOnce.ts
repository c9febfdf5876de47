import { createHash } from 'node:crypto';

/** Names that are remembered at a time: some 3 MB. */
const mostNames = 16_384;

/** Remembers what is good once, in this process. Beyond the limit, the oldest is forgotten. */
export class UsedOnce {
  /** The time when each may be forgotten, in milliseconds since the epoch. */
  private readonly used = new Map<string, number>();

  /**
   * @param until the time from which on it is good for nothing anyway
   * @returns false where it was used before
   */
  use(name: string, until: number, now: number): boolean {
    for (const [key, over] of this.used) {
      if (over > now && this.used.size < mostNames) break;
      this.used.delete(key);
    }
    const key = createHash('sha256').update(name).digest('base64url');
    if ((this.used.get(key) ?? 0) > now) return false;
    this.used.set(key, until);
    return true;
  }
}
