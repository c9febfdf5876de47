/** Reading a token for people. Only the gateway verifies tokens. */

export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The header and the claims of a signed token (RFC 7519); undefined for an opaque one. */
export function decodeToken(token: string): DecodedToken | undefined {
  const [header, claims, , more] = token.split('.');
  if (header === undefined || claims === undefined || more !== undefined) return undefined;
  const decoded = [header, claims].map(objectIn);
  const [first, second] = decoded;
  return first === undefined || second === undefined ? undefined : { header: first, claims: second };
}

function objectIn(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (character) =>
      character.charCodeAt(0),
    );
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Claims that hold seconds since the epoch (RFC 7519 §4.1). */
const times = ['iat', 'nbf', 'exp', 'auth_time'];

/** The claims, with the times in a form that people read. */
export const readableClaims = (
  claims: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(claims).map(([name, value]) => [
      name,
      times.includes(name) && typeof value === 'number'
        ? `${value} (${new Date(value * 1_000).toISOString()})`
        : value,
    ]),
  );
