import { generic, type KeyPlace } from '../token/discovered.ts';

export const providerNames = ['auth0', 'keycloak', 'okta'] as const;
export type ProviderName = (typeof providerNames)[number];

interface Provider extends KeyPlace {
  /** Does the authorization endpoint have to be told the audience? */
  readonly addsAudience: boolean;
}

const unnamed: Provider = { ...generic, addsAudience: false };

const providers: Readonly<Record<ProviderName, Provider>> = {
  auth0: { ...generic, addsAudience: true },
  okta: { ...generic, addsAudience: true },
  keycloak: { keys: 'protocol/openid-connect/certs', metadata: 'openid', addsAudience: false },
};

export const provider = (name: ProviderName | undefined): Provider =>
  name === undefined ? unnamed : providers[name];
