import type { Exchange } from '../policy.ts';
import type { Decision } from './decision.ts';

/** A service that decides about requests. */
export interface Service {
  /** Its address, for logs. */
  readonly name: string;
  /**
   * Asks for a decision. It reads the request before it waits.
   * @param body of the request; undefined where the service gets none
   * @throws NoDecision where the service was not asked, or did not answer; another error for an answer that is no decision
   */
  decide(exchange: Exchange, body: Buffer | undefined): Promise<Decision>;
}

/** The service gives no decision; the reason holds no value of the request. */
export class NoDecision extends Error {
  override readonly name = 'NoDecision';
}
