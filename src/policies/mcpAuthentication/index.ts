import {
  bearerChallenge,
  createIssuerMetadata,
  type IssuerMetadata,
  type TokenReason,
} from '../../auth/index.ts';
import { catalogue, GatewayError, NotEvaluated } from '../../errors.ts';
import type { Reply } from '../../http/index.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { itemAttributes } from '../attributes/declared.ts';
import type { Exchange, Policy, PolicyTools, Steps } from '../policy.ts';
import { prepareRules, type RuleSet } from '../rules/ruleSet.ts';
import { passGate } from '../rules/steps.ts';
import { createAuthenticator } from '../token/authenticate.ts';
import { bearer } from '../token/schema.ts';
import { LoginFacade } from './login/facade.ts';
import {
  json,
  metadataUrl,
  originOf,
  resourceDocument,
  unlessRead,
  type ResourcePlace,
} from './documents.ts';
import { provider } from './provider.ts';
import { mcpAuthenticationSchema, type McpAuthenticationSettings, type TrustedIssuer } from './facts.ts';

export const mcpAuthentication: Policy<McpAuthenticationSettings> = {
  schema: mcpAuthenticationSchema,
  prepare(settings, tools) {
    const { issuers, mode } = settings;
    for (const { issuer, audiences } of issuers)
      if (audiences.length === 0)
        tools.log.warn(
          'mcpAuthentication: tokens for any audience are accepted, but MCP requires the audience check',
          { issuer },
        );
    const servers = issuers.map(({ issuer }) => issuer);
    const rules = prepareRules(
      settings.authorization ?? { rules: [] },
      itemAttributes,
      'mcpAuthentication.authorization',
    );
    const authenticator = createAuthenticator(
      {
        policy: 'mcpAuthentication',
        mode,
        location: settings.authorizationLocation,
        providers: issuers,
        refuse: (exchange, refused) => unauthorized(exchange, settings, refused),
      },
      tools,
    );
    const [first] = issuers;
    const metadata = issuerMetadata(first, tools);
    const facade = loginFacade(settings, metadata, tools);

    /** The steps that rules have a part in. */
    const ruledBy = (by: RuleSet): Omit<Steps, 'close'> => {
      const { refusalOfItem, neededScopes, ruleScopes, itemsByIdentity, explain, toolNames } = by;
      return {
        onRequest(exchange) {
          const pending = authenticator.authenticate(exchange);
          return pending instanceof Promise
            ? pending.then(() => passGate(by, exchange))
            : passGate(by, exchange);
        },
        ...(refusalOfItem === undefined ? {} : { refuseMcpItem: refusalOfItem, itemsByIdentity, toolNames }),
        ...(neededScopes === undefined ? {} : { neededScopes, ruleScopes }),
        ...(explain === undefined ? {} : { explain }),
        withRule(place, expression) {
          const changed = by.withRule(place, expression);
          return changed && ruledBy(changed);
        },
      };
    };

    return {
      ...ruledBy(rules),
      metadataUrl: (exchange) => ownMetadataUrl(exchange, settings),
      credentials: (exchange) => authenticator.credentials(exchange),
      onWellKnown(exchange, name, resourcePath) {
        const place = placeOf(exchange, settings, resourcePath);
        if (name === 'oauth-protected-resource')
          return (
            unlessRead(exchange) ??
            resourceDocument(place, facade === undefined ? servers : [facade.issuerOf(place)], {
              ...bearerMethods(settings),
              ...settings.resourceMetadata,
            })
          );
        if (facade !== undefined) {
          if (name === 'oauth-authorization-server')
            return unlessRead(exchange) ?? json(facade.document(place));
          if (exchange.trial !== undefined && facade.answers(name))
            throw new NotEvaluated('it logs users in at the provider');
          return facade.answer(exchange, name, place);
        }
        if (name === 'oauth-authorization-server' && exchange.trial !== undefined)
          throw new NotEvaluated('it fetches the metadata of the issuer');
        if (name === 'oauth-authorization-server')
          return unlessRead(exchange) ?? issuerDocument(metadata, first);
        return undefined;
      },
      wellKnownKey: JSON.stringify([
        issuers.map(({ issuer, audiences, provider: make }) => [issuer, audiences, make]),
        settings.resourceMetadata,
        settings.authorizationLocation,
        settings.clientId,
        settings.clientDocuments,
        settings.dynamicRegistration,
      ]),
      watchCaller: (exchange, end) => authenticator.watchCaller(exchange, end),
      problem: () => authenticator.problem(),
      close() {
        authenticator.close();
        facade?.close();
        metadata.close();
      },
    };
  },
};

/** The methods of RFC 6750 by which a client sends its token; RFC 9728 §2 has no names for other places. */
function bearerMethods({ authorizationLocation: at = bearer }: McpAuthenticationSettings): {
  readonly bearerMethodsSupported?: readonly string[];
} {
  if (at.kind === 'header' && at.name === 'authorization' && /^bearer *$/i.test(at.prefix))
    return { bearerMethodsSupported: ['header'] };
  if (at.kind === 'query' && at.name === 'access_token') return { bearerMethodsSupported: ['query'] };
  return {};
}

const bare = (path: string): string => (path === '/' ? '' : path);

/** The address of the metadata of the resource, as the client reaches it. */
const ownMetadataUrl = (exchange: Exchange, settings: McpAuthenticationSettings): string =>
  metadataUrl(placeOf(exchange, settings, exchange.request.path));

/** The place that is configured, whole: half of it and half of the request would be where nobody can log in. */
function placeOf(
  exchange: Exchange,
  { resourceMetadata: { resource } }: McpAuthenticationSettings,
  requested: string,
): ResourcePlace {
  const path = typeof resource === 'string' ? URL.parse(resource)?.pathname : undefined;
  return { origin: originOf(exchange, resource), path: bare(path ?? requested) };
}

/** RFC 6750 §3: the reason is told only to whoever presented a token. */
function unauthorized(
  exchange: Exchange,
  settings: McpAuthenticationSettings,
  refused: TokenReason | undefined,
): GatewayError {
  const challenge = bearerChallenge({
    ...(refused === undefined ? {} : { refused }),
    resourceMetadata: ownMetadataUrl(exchange, settings),
    ...scopeOf(settings),
  });
  const code = refused === undefined ? 'token_missing' : 'token_invalid';
  return new GatewayError(code, {
    headers: [['www-authenticate', challenge]],
    detail: refused ?? 'mcpAuthentication, mode strict',
    jsonBody: {
      error: refused === undefined ? 'unauthorized' : 'invalid_token',
      error_description: catalogue[code].message,
    },
  });
}

/** The scopes a client should ask for (MCP authorization); offline_access is the client's own choice. */
function scopeOf(settings: McpAuthenticationSettings): { scope?: string } {
  const scope = scopesIn(settings)
    .filter((one) => one !== 'offline_access')
    .join(' ');
  return scope === '' ? {} : { scope };
}

function scopesIn({ resourceMetadata }: McpAuthenticationSettings): string[] {
  const scopes = resourceMetadata.scopesSupported ?? resourceMetadata.scopes_supported;
  return Array.isArray(scopes) ? scopes.filter((one) => typeof one === 'string') : [];
}

function issuerMetadata({ issuer, provider: make }: TrustedIssuer, tools: PolicyTools): IssuerMetadata {
  const openid = provider(make).metadata === 'openid';
  const { log, now, guarded = false } = tools;
  return createIssuerMetadata({ issuer, openid, log, now, guarded });
}

/** The authorization server in front of a provider where the operator's client stands for all MCP clients. */
function loginFacade(
  settings: McpAuthenticationSettings,
  metadata: IssuerMetadata,
  tools: PolicyTools,
): LoginFacade | undefined {
  const { clientId, clientSecret } = settings;
  if (clientId === undefined) return undefined;
  if (clientSecret !== undefined) rememberSecrets([clientSecret]);
  const { issuer, audiences, provider: make } = settings.issuers[0];
  const { scope = '' } = scopeOf(settings);
  const audience = provider(make).addsAudience ? audiences[0] : undefined;
  const scopes = scope === '' ? [] : scope.split(' ');
  const shared = { issuer, clientId, clientSecret, audience, scopes, offeredScopes: scopesIn(settings) };
  const sources = { registers: settings.dynamicRegistration !== false, documents: settings.clientDocuments };
  return new LoginFacade(shared, sources, metadata, tools);
}

/** Passes the document of the first issuer on, for clients that look for it at the resource (MCP 2025-03-26). */
async function issuerDocument(metadata: IssuerMetadata, of: TrustedIssuer): Promise<Reply> {
  const document = await metadata.get();
  if (document === undefined) throw new GatewayError('issuer_metadata_unavailable', { retryAfter: 5 });
  const [audience] = of.audiences;
  if (!provider(of.provider).addsAudience || audience === undefined) return json(document);
  const endpoint = URL.parse(String(document.authorization_endpoint));
  if (endpoint === null) return json(document);
  endpoint.searchParams.set('audience', audience);
  return json({ ...document, authorization_endpoint: endpoint.href });
}
