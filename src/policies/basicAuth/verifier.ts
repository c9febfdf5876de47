import { createHmac, randomBytes } from 'node:crypto';
import { TokenCache } from '../../auth/index.ts';
import { passwordChecker } from './passwordChecker.ts';

/** Verified pairs that are remembered, in each of two generations. */
const maxRemembered = 4096;

/**
 * Says whether a password is right, and remembers the right ones. What is remembered is a keyed digest of user,
 * password and hash: nothing to steal, nothing that timing could tell, and gone when the user's hash changes.
 */
export class Verifier {
  private readonly key = randomBytes(32);
  private readonly right = new TokenCache<true>(maxRemembered, maxRemembered * 64);
  private readonly asked = new Map<string, Promise<boolean>>();

  /** @param hash undefined for an unknown user, who must take as long as a known one: `decoy` is checked instead */
  verify(
    user: string,
    password: string,
    hash: string | undefined,
    decoy: string,
  ): boolean | Promise<boolean> {
    const written = hash ?? decoy;
    const digest = createHmac('sha256', this.key)
      .update(JSON.stringify([user, password, written, hash === undefined]))
      .digest('base64');
    if (this.right.get(digest) === true) return true;
    // A page asks for many things at once: one check answers for all of them.
    const pending = this.asked.get(digest);
    if (pending !== undefined) return pending;
    const answer = passwordChecker
      .check(password, written)
      .then((right) => {
        if (!right || hash === undefined) return false;
        this.right.set(digest, true);
        return true;
      })
      .finally(() => this.asked.delete(digest));
    this.asked.set(digest, answer);
    return answer;
  }
}
