import { tokenReasons, type TokenReason } from './tokenReason.ts';

export interface Challenge {
  /** Address of the protected resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string;
  readonly scope?: string;
  /** The reason why the presented token was refused; absent if there was no token (RFC 6750 §3.1). */
  readonly refused?: TokenReason;
  /** The token was good, but not for this request: it lacks scopes (RFC 6750 §3.1). */
  readonly lacksScope?: boolean;
}

/** The value of `WWW-Authenticate` for a bearer token (RFC 6750 §3). */
export function bearerChallenge(challenge: Challenge): string {
  const parameters: (readonly [string, string])[] = [];
  if (challenge.refused !== undefined) {
    parameters.push(['error', 'invalid_token']);
    parameters.push(['error_description', tokenReasons[challenge.refused]]);
  }
  if (challenge.lacksScope === true) parameters.push(['error', 'insufficient_scope']);
  if (challenge.resourceMetadata !== undefined)
    parameters.push(['resource_metadata', challenge.resourceMetadata]);
  if (challenge.scope !== undefined) parameters.push(['scope', challenge.scope]);
  if (parameters.length === 0) return 'Bearer';
  return `Bearer ${parameters.map(([name, value]) => `${name}="${quoted(value)}"`).join(', ')}`;
}

/** Inside of a quoted-string (RFC 9110 §5.6.4); characters that no header may hold are left out. */
const quoted = (value: string): string => value.replace(/[^\x20-\x7e]/g, '').replace(/["\\]/g, '\\$&');
