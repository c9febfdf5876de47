import { generic, type KeyPlace } from '../token/discovered.ts';

export const providerNames = ['auth0', 'keycloak', 'okta', 'descope', 'authentik', 'entra'] as const;
export type ProviderName = (typeof providerNames)[number];

interface Provider extends KeyPlace {
  /** Does the authorization endpoint have to be told the audience? */
  readonly addsAudience: boolean;
  /** Why MCP clients cannot log in without a client of the operator; undefined where they can. */
  readonly needsClient?: string;
}

const unnamed: Provider = { ...generic, addsAudience: false };

const providers: Readonly<Record<ProviderName, Provider>> = {
  auth0: { ...generic, addsAudience: true },
  okta: { ...generic, addsAudience: true },
  descope: { ...generic, metadata: 'openid', addsAudience: false },
  authentik: {
    keys: 'jwks/',
    metadata: 'openid',
    addsAudience: false,
    needsClient: 'authentik registers no clients',
  },
  entra: {
    // Beside the version that ends the issuer's path.
    keys: '../discovery/v2.0/keys',
    metadata: 'openid',
    addsAudience: false,
    needsClient: 'Entra ID registers no clients and refuses the parameter resource',
  },
  keycloak: { keys: 'protocol/openid-connect/certs', metadata: 'openid', addsAudience: false },
};

export const provider = (name: ProviderName | undefined): Provider =>
  name === undefined ? unnamed : providers[name];
