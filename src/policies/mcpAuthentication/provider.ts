import type { Jwks } from '../token/schema.ts';

export const providerNames = ['auth0', 'keycloak', 'okta'] as const;
export type ProviderName = (typeof providerNames)[number];

interface Provider {
  /** Path of the key set below the issuer. */
  readonly keys: string;
  /** Is the metadata the OpenID Connect discovery document, or that of RFC 8414? */
  readonly metadata: 'openid' | 'oauth';
  /** Does the authorization endpoint have to be told the audience? */
  readonly addsAudience: boolean;
}

const generic: Provider = { keys: '.well-known/jwks.json', metadata: 'oauth', addsAudience: false };

const providers: Readonly<Record<ProviderName, Provider>> = {
  auth0: { ...generic, addsAudience: true },
  okta: { ...generic, addsAudience: true },
  keycloak: { ...generic, keys: 'protocol/openid-connect/certs', metadata: 'openid' },
};

export const provider = (name: ProviderName | undefined): Provider =>
  name === undefined ? generic : providers[name];

/** The key set's usual place; undefined where the issuer is not an http(s) URL. */
export function derivedJwks(issuer: string, name: ProviderName | undefined): Jwks | undefined {
  if (!/^https?:\/\//.test(issuer) || !URL.canParse(issuer)) return undefined;
  return { kind: 'url', url: `${issuer.replace(/\/$/, '')}/${provider(name).keys}` };
}
