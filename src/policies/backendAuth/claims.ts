/**
 * The claims of a token, which nobody has verified here: the authorization server does. Undefined for a text that is no
 * JSON Web Token.
 */
export function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, body, signature, ...more] = token.split('.');
  if (body === undefined || signature === undefined || more.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims)
      ? (claims as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The end of a token in milliseconds since the epoch; undefined where the token does not say. */
export function expiryOf(token: string): number | undefined {
  const exp = claimsOf(token)?.['exp'];
  return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : undefined;
}

/** Does the claim `may_act` of the subject name the actor (RFC 8693 §4.4)? */
export function mayAct(subject: string, actor: string): boolean {
  const named = claimsOf(subject)?.['may_act'];
  const claims = claimsOf(actor);
  if (claims === undefined || typeof named !== 'object' || named === null || Array.isArray(named))
    return false;
  const { sub, ...others } = named as Readonly<Record<string, unknown>>;
  if (typeof sub !== 'string' || sub !== claims['sub']) return false;
  // Every further member identifies the actor, too: `iss`, `client_id` and others.
  return Object.entries(others).every(([name, value]) => value === claims[name]);
}
