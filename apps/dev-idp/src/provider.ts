import type { AdapterFactory, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { audienceOf, grantClaims, lifetimeOf } from './claims.ts';
import type { Settings } from './config.ts';
import { checkRegistration, clientMetadata } from './clients.ts';
import { Provider } from './engine.ts';
import { grantAll, loginPolicy, settleScopes } from './grants.ts';
import { errorPage } from './pages.ts';
import { isLoopbackUrl } from './loopback.ts';
import type { SigningKey } from './keyRing.ts';

export interface ProviderParts {
  readonly settings: Settings;
  readonly issuer: string;
  readonly keys: readonly SigningKey[];
  readonly store: AdapterFactory;
  readonly cookieSecret: string;
}

/** The OAuth engine for one set of keys; a rotation builds the next one on the same store. */
export function buildProvider(parts: ProviderParts): Provider {
  const provider = new Provider(parts.issuer, providerConfiguration(parts));
  provider.use(nameUnauthorizedClient);
  return provider;
}

/** RFC 6749 §5.2 has an error of its own for a grant that is not the client's; the engine answers invalid_request. */
async function nameUnauthorizedClient(ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> {
  await next();
  const grant = ctx.oidc?.params?.['grant_type'];
  const body = ctx.body as { error?: string } | undefined;
  if (body?.error !== 'invalid_request' || typeof grant !== 'string') return;
  if (ctx.oidc.client?.grantTypeAllowed(grant) === false) body.error = 'unauthorized_client';
}

function providerConfiguration({
  settings,
  issuer,
  keys,
  store,
  cookieSecret,
}: ProviderParts): Configuration {
  return {
    adapter: store,
    jwks: { keys: keys.map((key) => ({ ...key, key_ops: undefined })) },
    cookies: { keys: [cookieSecret] },
    clients: settings.clients.map(clientMetadata),
    // RFC 8252 §7.3: a native client's loopback redirect may come back on any port.
    clientDefaults: { application_type: 'native', token_endpoint_auth_method: 'client_secret_basic' },
    scopes: ['openid', 'offline_access', ...settings.scopes],
    claims: { openid: ['sub', 'groups'] },
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    routes: {
      authorization: '/v1/authorize',
      token: '/v1/token',
      jwks: '/v1/keys',
      userinfo: '/v1/userinfo',
      registration: '/v1/clients',
      end_session: '/v1/logout',
    },
    pkce: { required: () => true },
    responseTypes: ['code'],
    ttl: {
      AccessToken: (_ctx, token) => lifetimeOf(settings, token.clientId ?? ''),
      ClientCredentials: (_ctx, token) => lifetimeOf(settings, token.clientId ?? ''),
      AuthorizationCode: 60,
      IdToken: settings.tokenLifetime,
      Interaction: 3600,
      Session: 3600,
      Grant: settings.refreshTokenLifetime,
      RefreshToken: settings.refreshTokenLifetime,
    },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: settings.registration.enabled, issueRegistrationAccessToken: false },
      resourceIndicators: {
        enabled: true,
        // A single API stands behind the server, as with a hosted custom authorization server: whatever resource
        // a client names (MCP clients name the server's URL, RFC 8707), the audience is the configured one.
        defaultResource: () => issuer,
        useGrantedResource: () => true,
        getResourceServerInfo: (ctx, _resource, client) => {
          settleScopes(settings, ctx, client.clientId);
          return {
            scope: settings.scopes.join(' '),
            audience: audienceOf(settings, client.clientId),
            accessTokenTTL: lifetimeOf(settings, client.clientId),
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256', kid: keys[0]?.kid } },
          };
        },
      },
    },
    formats: {
      customizers: {
        jwt: (_ctx, token, { payload }) => {
          const claims = grantClaims(settings, {
            clientId: token.clientId ?? '',
            user: 'accountId' in token ? token.accountId : undefined,
            scopes: token.scope?.split(' ') ?? [],
          });
          Object.assign(payload, claims);
        },
      },
    },
    findAccount: (_ctx, name) => {
      const user = settings.users.find((entry) => entry.name === name);
      return user && { accountId: name, claims: () => ({ sub: name, groups: user.groups, ...user.claims }) };
    },
    interactions: {
      policy: loginPolicy(),
      url: (_ctx, interaction) => `${new URL(issuer).pathname}/login/${interaction.uid}`,
    },
    loadExistingGrant: grantAll,
    clientBasedCORS: (_ctx, origin) => isLoopbackUrl(origin),
    extraClientMetadata: {
      properties: ['redirect_uris', 'grant_types'],
      validator: (ctx, name, value, metadata) => checkRegistration(settings, ctx, name, value, metadata),
    },
    renderError: (ctx, out) => {
      ctx.type = 'html';
      ctx.body = errorPage(out.error, out.error_description);
    },
  };
}
