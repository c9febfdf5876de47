import type { Destination, Endpoint } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';
import { memberOf, stringValue, type Envelope } from '../../json/envelope.ts';
import type { ServerSession } from './serverRequestHead.ts';

/** A session with a server and the one address of it that knows the session. */
export interface PinnedSession extends ServerSession {
  endpoint: Endpoint | undefined;
  /** The same by its name, of a session that another process has begun. */
  address?: string | undefined;
}

/** The one address of a destination to ask, if it has it; undefined where any will do. */
export const endpointOf = (
  { endpoint, address }: PinnedSession,
  { known }: Destination,
): Endpoint | undefined =>
  endpoint ?? (address === undefined ? undefined : known.find(({ name }) => name === address));

export const newPinnedSession = (): PinnedSession => ({
  id: undefined,
  version: undefined,
  endpoint: undefined,
});

/** Notes what the answer to initialize says was agreed on; the answer to `server/discover` does not say it. */
export function agree(session: PinnedSession, response: Envelope): void {
  const place = memberOf(response.text, response.body, 'protocolVersion');
  const version = place === 'ambiguous' ? undefined : stringValue(response.text, place);
  if (version !== undefined && /^[\w.-]{1,64}$/.test(version)) session.version = version;
}

/** A server that is reached in another way is the same server under the same name. */
export function sameServer({ destination: one }: Reach, { destination: other }: Reach): boolean {
  const nameOf = ({ target: { host, port, endpoints, tls } }: Destination): string =>
    JSON.stringify([host, port, endpoints ?? null, tls !== undefined]);
  return nameOf(one) === nameOf(other);
}
