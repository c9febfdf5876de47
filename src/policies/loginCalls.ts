import { GatewayError } from '../errors.ts';
import { networkOf } from '../http/index.ts';
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
  private readonly inProgress = new Map<string, number>();

  /** A login gets tokens once. @returns false where it has asked for them before */
  use(login: string, until: number, now: number): boolean {
    return this.used.use(login, until, now);
  }

  /**
   * @param whose the client of the provider: others do not share its limits
   * @throws GatewayError overloaded, without a call
   */
  async run<Result>(
    whose: string,
    remoteAddress: string,
    call: () => Result | Promise<Result>,
  ): Promise<Result> {
    const network = `${whose} ${networkOf(remoteAddress)}`;
    const ofAll = this.inProgress.get(whose) ?? 0;
    const ofNetwork = this.inProgress.get(network) ?? 0;
    if (ofAll >= atOnce.all || ofNetwork >= atOnce.network)
      throw new GatewayError('overloaded', {
        retryAfter: 1,
        detail: `too many logins wait for the identity provider${ofAll >= atOnce.all ? '' : ', of one client'}`,
      });
    this.inProgress.set(whose, ofAll + 1);
    this.inProgress.set(network, ofNetwork + 1);
    try {
      return await call();
    } finally {
      this.end(whose);
      this.end(network);
    }
  }

  private end(key: string): void {
    const left = (this.inProgress.get(key) ?? 1) - 1;
    if (left > 0) this.inProgress.set(key, left);
    else this.inProgress.delete(key);
  }
}
