import { createHmac, randomBytes } from 'node:crypto';
import { TokenCache } from '../../auth/index.ts';
import { GatewayError } from '../../errors.ts';
import { passwordChecker } from './passwordChecker.ts';

/** The pair that a client presented, and the hashes it is compared with. */
export interface Presented {
  readonly user: string;
  readonly password: string;
  readonly hash: string | undefined;
  readonly decoy: string;
  readonly client: string;
  readonly place: string;
}

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

  /**
   * A pair that was right before is right at once. A check of any other pair draws from the attempts of the client.
   *
   * @param hash undefined for an unknown user, who must take as long as a known one: `decoy` is checked instead
   * @param place of the policy: the attempts at one policy limit none at another
   * @throws GatewayError too_many_attempts
   */
  verify({ user, password, hash, decoy, client, place }: Presented): boolean | Promise<boolean> {
    const written = hash ?? decoy;
    const digest = createHmac('sha256', this.key)
      .update(JSON.stringify([user, password, written, hash === undefined]))
      .digest('base64');
    if (this.right.get(digest) === true) return true;
    // A page asks for many things at once: one check answers for all of them.
    const pending = this.asked.get(digest);
    if (pending !== undefined) return pending;
    const { attempts } = passwordChecker;
    const counted = `${place} ${client}`;
    const seconds = attempts.take(counted, user);
    if (seconds > 0)
      throw new GatewayError('too_many_attempts', {
        headers: [['retry-after', String(seconds)]],
        detail: 'basicAuth: this client tried too many passwords for one user',
      });
    const answer = passwordChecker
      .check(password, written, client)
      .then(
        (right) => {
          if (!right || hash === undefined) return false;
          attempts.giveBack(counted, user);
          this.right.set(digest, true);
          return true;
        },
        (error: unknown) => {
          // The password was never checked, so nobody learned anything of it.
          attempts.giveBack(counted, user);
          throw error;
        },
      )
      .finally(() => this.asked.delete(digest));
    this.asked.set(digest, answer);
    return answer;
  }
}
