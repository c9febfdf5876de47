import { randomUUID } from 'node:crypto';
import { importJWK, SignJWT } from 'jose';
import { z } from 'zod';
import { audienceOf, defaultScopes, grantClaims, lifetimeOf } from './claims.ts';
import type { Settings } from './config.ts';
import { newKey, type KeyRing } from './keyRing.ts';

/** The wishes for a test token; everything else is as the server would issue it. */
export interface TokenRequest {
  /** The client it is for; the first configured one when left out. It need not exist. */
  readonly client?: string | undefined;
  /** The user who logged in; none when left out. */
  readonly user?: string | undefined;
  /** Seconds from now; negative makes it expired. */
  readonly expiresIn?: number | undefined;
  readonly audience?: string | string[] | undefined;
  readonly issuer?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Added or put in place of the token's own; null takes a claim out. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /** Signs with a key that is in no set, under the current `kid`: the signature is wrong. */
  readonly wrongKey?: boolean | undefined;
}

export const tokenRequestSchema: z.ZodType<TokenRequest> = z.strictObject({
  client: z.string().optional(),
  user: z.string().optional(),
  expiresIn: z.int().optional(),
  audience: z.union([z.string(), z.array(z.string())]).optional(),
  issuer: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  groups: z.array(z.string()).optional(),
  claims: z.record(z.string(), z.unknown()).optional(),
  wrongKey: z.boolean().optional(),
});

/** Signs a token outside any OAuth flow. An expired one was issued before it expired, so that only `exp` is wrong. */
export async function issueToken(
  settings: Settings,
  issuer: string,
  ring: KeyRing,
  request: TokenRequest,
): Promise<string> {
  const clientId = request.client ?? settings.clients[0]?.id ?? 'test';
  const scopes = request.scopes ?? defaultScopes(settings, clientId);
  const lifetime = lifetimeOf(settings, clientId);
  const now = Math.floor(Date.now() / 1000);
  const expiresAt = now + (request.expiresIn ?? lifetime);
  const all: Record<string, unknown> = {
    jti: randomUUID(),
    sub: request.user ?? clientId,
    iat: Math.min(now, expiresAt - lifetime),
    exp: expiresAt,
    scope: scopes.join(' '),
    client_id: clientId,
    iss: request.issuer ?? issuer,
    aud: request.audience ?? audienceOf(settings, clientId),
    ...grantClaims(settings, { clientId, user: request.user, scopes }),
    ...(request.groups && { groups: request.groups }),
    ...request.claims,
  };
  const payload = Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== null && value !== undefined),
  );
  const key = request.wrongKey ? await newKey() : ring.current;
  return new SignJWT(payload)
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: ring.current.kid })
    .sign(await importJWK(key, 'RS256'));
}
