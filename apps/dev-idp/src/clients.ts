import type { ClientMetadata, KoaContextWithOIDC } from 'oidc-provider';
import type { Settings } from './config.ts';
import { errors } from './engine.ts';
import { isLoopbackUrl } from './loopback.ts';

/** A configured client in the words of RFC 7591. */
export function clientMetadata(client: Settings['clients'][number]): ClientMetadata {
  const login = client.redirectUris.length > 0;
  return {
    client_id: client.id,
    client_name: client.id,
    // A client registered for Basic may send its secret in the form as well.
    ...(client.secret
      ? { client_secret: client.secret, token_endpoint_auth_method: 'client_secret_basic' }
      : { token_endpoint_auth_method: 'none' }),
    grant_types: [
      ...(client.secret ? ['client_credentials'] : []),
      ...(login ? ['authorization_code', 'refresh_token'] : []),
    ],
    response_types: login ? ['code'] : [],
    redirect_uris: [...client.redirectUris],
    ...(client.scopes && { scope: client.scopes.join(' ') }),
  };
}

const grants: ReadonlySet<unknown> = new Set(['authorization_code', 'refresh_token', 'client_credentials']);

/**
 * Every caller may register a client, so a client may only bring users back to this machine, and gets no tokens
 * of its own.
 */
export function checkRegistration(
  settings: Settings,
  ctx: KoaContextWithOIDC | undefined,
  name: string,
  value: unknown,
  metadata: ClientMetadata,
): void {
  if (ctx?.oidc?.route !== 'registration' || !Array.isArray(value)) return;
  if (name === 'grant_types' && value.includes('client_credentials')) {
    throw new errors.InvalidClientMetadata('a registered client cannot use client_credentials');
  }
  // RFC 7591 §2: a server may leave out values that it does not know. VS Code also asks for the device grant.
  if (name === 'grant_types')
    metadata.grant_types = value.filter((grant) => typeof grant !== 'string' || grants.has(grant));
  if (name !== 'redirect_uris') return;
  for (const uri of value as unknown[]) {
    const known =
      typeof uri === 'string' && (isLoopbackUrl(uri) || settings.registration.redirectUris.includes(uri));
    if (!known) throw refusedUri(uri, settings);
  }
}

/** Says which address was refused, and what to do about it. */
function refusedUri(uri: unknown, settings: Settings): Error {
  const shown = String(uri)
    .slice(0, 200)
    .replaceAll(/[^\x21\x23-\x5b\x5d-\x7e]/g, '?');
  const others = settings.registration.redirectUris.join(', ');
  return Object.assign(new errors.InvalidRedirectUri(), {
    error_description: `${shown} is not accepted: expected a loopback address${others === '' ? '' : `, or one of ${others}`}. Add others to registration.redirectUris`,
  });
}
