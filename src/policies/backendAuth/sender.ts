import { hash } from 'node:crypto';
import type { SentCredential } from '../../http/index.ts';
import type { Exchange } from '../policy.ts';
import type { Location } from '../token/schema.ts';

/** Puts one credential into the requests for the backend. */
export interface Sender {
  /**
   * Notes the credential first: a caller whose credential is refused must not pass for one without any.
   * A promise only where the credential must be asked for.
   * @throws GatewayError if there is no credential for this request
   */
  readonly send: (exchange: Exchange) => void | Promise<void>;
  /** As of `Steps.credentials`. */
  readonly texts?: (exchange: Exchange) => readonly string[];
  /** The reason why it can send none right now; undefined if it can. */
  readonly problem: () => string | undefined;
  readonly close: () => void;
  /** `send` may return a promise. */
  readonly waits?: true;
}

/**
 * Notes a credential for those who tell callers apart by what a server gets.
 * @param parts everything that the credential depends on, and that differs between requests
 * @param location absent for a credential that signs
 */
export function noteCredential(
  { sentCredentials }: Exchange,
  of: SentCredential['of'],
  parts: readonly string[],
  location?: Location,
): void {
  if (sentCredentials === undefined) return;
  // `createHash` makes an object for each hash, which costs more than the hash.
  const digest = hash('sha256', JSON.stringify(parts), 'base64');
  const place = location && { place: { kind: location.kind, name: location.name } };
  sentCredentials.push({ of, digest, ...place });
}

/** Puts a token into a request, now or when it has arrived. */
export function sendLater(
  token: string | Promise<string>,
  put: (token: string) => void,
): void | Promise<void> {
  return typeof token === 'string' ? put(token) : token.then(put);
}
