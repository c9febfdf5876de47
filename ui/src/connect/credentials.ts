import type { ClientLogin } from '../../../src/clients/snippets.ts';
import type { RouteView } from '../api/types.ts';

/** The way in which clients of a route get in. */
export function loginOf({ kind, authentication }: Pick<RouteView, 'kind' | 'authentication'>): ClientLogin {
  if (authentication === null) return { kind: 'none' };
  const { guidesClients, header, credential } = authentication;
  if (guidesClients && kind === 'mcp') return { kind: 'oauth' };
  return header === undefined ? { kind: 'none' } : { kind: 'header', ...header, credential };
}

/** The header that carries a credential, for a request of the console. */
export function credentialHeader(
  { authentication }: Pick<RouteView, 'authentication'>,
  credential: string,
): Readonly<Record<string, string>> {
  const header = authentication?.header;
  if (credential === '' || header === undefined) return {};
  const isPassword = authentication?.credential === 'password';
  return { [header.name]: `${header.prefix}${isPassword ? base64(credential) : credential}` };
}

const base64 = (text: string): string => btoa(String.fromCodePoint(...new TextEncoder().encode(text)));

/** The name of the field for a credential. */
export const credentialNames = {
  token: 'Token',
  key: 'Key',
  password: 'User and password, as user:password',
};
