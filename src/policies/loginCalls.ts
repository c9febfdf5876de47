import { GatewayError } from '../errors.ts';
import { KeyedCounts } from './keyedCounts.ts';
import { oncePerProcess } from './oncePerProcess.ts';
import { UsedOnce } from './usedOnce.ts';

/** Calls of the token endpoint in progress for one client of a provider: in all, and for one network of browsers or programs. */
const atOnce = { all: 128, network: 32 };

/**
 * The calls of token endpoints that strangers can cause, in this process. A stranger can make up a code and have the
 * gateway present it with the operator's secret, and no policy of the route comes before a login.
 */
export class LoginCalls {
  /** The calls of a process. */
  static readonly of = oncePerProcess(() => new LoginCalls());

  private readonly used = new UsedOnce();
  private readonly inProgress = new KeyedCounts();

  /** A login gets tokens once. @returns false where it has asked for them before */
  use(login: string, until: number, now: number): boolean {
    return this.used.use(login, until, now);
  }

  /**
   * @param whose the client of the provider: others do not share its limits
   * @param from the network of the browser or program
   * @throws GatewayError overloaded, without a call
   */
  async run<Result>(whose: string, from: string, call: () => Result | Promise<Result>): Promise<Result> {
    const network = `${whose} ${from}`;
    const isFull = this.inProgress.of(whose) >= atOnce.all;
    if (isFull || this.inProgress.of(network) >= atOnce.network)
      throw new GatewayError('overloaded', {
        retryAfter: 1,
        detail: `too many logins wait for the identity provider${isFull ? '' : ', of one client'}`,
      });
    this.inProgress.add(whose);
    this.inProgress.add(network);
    try {
      return await call();
    } finally {
      this.inProgress.subtract(whose);
      this.inProgress.subtract(network);
    }
  }
}
