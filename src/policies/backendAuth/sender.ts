import type { Exchange } from '../policy.ts';

/** Puts one credential into the requests for the backend. */
export interface Sender {
  /**
   * A promise only where the credential must be asked for.
   * @throws GatewayError if there is no credential for this request
   */
  readonly send: (exchange: Exchange) => void | Promise<void>;
  /** The reason why it can send none right now; undefined if it can. */
  readonly problem: () => string | undefined;
  readonly close: () => void;
  /** `send` may return a promise. */
  readonly waits?: true;
}

/** Puts a token into a request, now or when it has arrived. */
export function sendLater(
  token: string | Promise<string>,
  put: (token: string) => void,
): void | Promise<void> {
  return typeof token === 'string' ? put(token) : token.then(put);
}
