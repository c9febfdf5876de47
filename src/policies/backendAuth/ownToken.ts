import type { Location } from '../token/schema.ts';
import type { PolicyTools } from '../policy.ts';
import { IssuedTokens } from './issuedTokens.ts';
import { placeOf } from './place.ts';
import { noteCredential, sendLater, type Sender } from './sender.ts';
import type { IssuedToken } from './tokenServer.ts';

/** Asks for tokens of the gateway itself, which are the same for all callers. */
export interface OwnGrant {
  /**
   * Texts that identify the credential: the gateway never sends a token of the last one after it changed.
   * @throws GatewayError policy_failed while there is no credential
   */
  readonly parts: () => readonly string[];
  /** @throws GatewayError backend_auth_failed */
  readonly ask: () => Promise<IssuedToken>;
  readonly problem: () => string | undefined;
  readonly close: () => void;
}

/** One token is in use at a time, and the token of the last credential for a moment. */
const cache = { maxEntries: 2, defaultTtlMs: 300_000 };

/** Sends the token of a grant, and asks for the next one before the token ends. */
export function ownTokenSender(grant: OwnGrant, location: Location, { now }: PolicyTools): Sender {
  const tokens = new IssuedTokens(cache, now);
  const put = placeOf(location);
  return {
    waits: true,
    send(exchange) {
      const parts = grant.parts();
      noteCredential(exchange, 'gateway', parts, location);
      const token = tokens.get(parts, [], () => grant.ask());
      return sendLater(token, (one) => put(exchange, one));
    },
    problem: () => grant.problem(),
    close: () => grant.close(),
  };
}
