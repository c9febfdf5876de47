import { z } from 'zod';
import {
  backendTls,
  hostAndPort,
  positiveDuration,
  requestTarget,
  type HostAndPort,
} from '../../schema/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { textExpression } from '../fields/expression.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import {
  located,
  policyServer,
  serverName,
  type FindServer,
  type PolicyServer,
} from '../fields/policyServer.ts';
import { textSource, type TextSource } from '../text/schema.ts';
import { bearer, credentialLocation, type Location } from '../token/schema.ts';
import { pemProblem, secret } from './secretText.ts';
import { keyProblem, signingAlgorithms, type SigningAlgorithm } from './signToken.ts';

/** Settings of the credentials that an authorization server issues. */

/** A way in which the gateway proves at a token endpoint who it is. */
export type ClientAuth =
  | {
      readonly method: 'clientSecretBasic' | 'clientSecretPost';
      readonly clientId: string;
      readonly secret: TextSource;
    }
  | {
      readonly method: 'privateKeyJwt';
      readonly clientId: string;
      readonly key: TextSource;
      readonly alg: SigningAlgorithm;
      readonly kid?: string;
      readonly certificate?: TextSource;
      readonly certificateHeader?: 'x5c' | 'x5t#S256';
      /** `aud` of the assertion; the URL of the token endpoint where absent. */
      readonly audience?: string;
    };

export interface TokenEndpointSettings extends PolicyServer {
  /** Path and query. */
  readonly path: string;
  readonly clientAuth?: ClientAuth;
}

/** The place of a token in the client's request. */
export type TokenSource = Location | { readonly kind: 'expression'; readonly expression: string };

export interface TokenSpec {
  readonly source: TokenSource;
  readonly tokenType: string;
}

export interface CacheSettings {
  /** 0: no response is kept. */
  readonly maxEntries: number;
  readonly defaultTtlMs: number;
}

/** The parameters of a request for a token, beside the grant. */
export interface TokenParameters {
  readonly audiences: readonly string[];
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
}

export interface TokenExchangeSettings extends TokenParameters {
  readonly kind: 'oauthTokenExchange';
  readonly endpoint: TokenEndpointSettings;
  readonly grantType: 'tokenExchange' | 'jwtBearer';
  readonly subject: TokenSpec;
  readonly actor?: TokenSpec & { readonly enforceMayAct: boolean };
  readonly requestedTokenType?: string;
  /** Name → CEL expression. */
  readonly params: Readonly<Record<string, string>>;
  readonly location: Location;
  readonly cache: CacheSettings;
}

export interface CrossAppAccessSettings {
  readonly kind: 'crossAppAccess';
  readonly identityProvider: TokenEndpointSettings;
  readonly resourceServer: TokenEndpointSettings;
  readonly subject: TokenSpec;
  readonly audience: string;
  readonly resources: readonly string[];
  readonly scopes: readonly string[];
  readonly accessTokenScopes: readonly string[];
  readonly location: Location;
  readonly cache: CacheSettings;
}

export interface ClientCredentialsSettings extends TokenParameters {
  readonly kind: 'clientCredentials';
  readonly endpoint: TokenEndpointSettings;
  readonly location: Location;
  readonly cache: CacheSettings;
}

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';
const idTokenType = 'urn:ietf:params:oauth:token-type:id_token';

const name = (description: string) => z.string().min(1).max(2_048).meta({ description });
const names = (description: string) => z.array(name('One of them.')).max(64).meta({ description });
/** RFC 6749 §3.3. */
const scopes = (description: string) =>
  z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'not a scope (RFC 6749 §3.3)'))
    .max(64)
    .meta({ description });

const pemKey = textSource('The private key as PEM: its text, or `{file: …}`.', pemProblem('private key'));
const pemCertificate = textSource(
  'The certificate as PEM, with its chain: its text, or `{file: …}`.',
  pemProblem('certificate'),
);

const clientAuth = z
  .strictObject({
    method: z
      .enum(['clientSecretBasic', 'clientSecretPost', 'privateKeyJwt'])
      .default('clientSecretBasic')
      .meta({ description: 'How the gateway authenticates; clientSecretBasic where this is left out.' }),
    clientId: name('The id of the gateway at the authorization server.'),
    clientSecret: secret.optional(),
    signingKey: pemKey.optional(),
    alg: z
      .enum(signingAlgorithms)
      .meta({ description: 'Algorithm of the assertion, for privateKeyJwt.' })
      .optional(),
    kid: name('`kid` in the header of the assertion.').optional(),
    certificate: pemCertificate.optional(),
    certificateHeader: z
      .enum(['x5c', 'x5t#S256'])
      .meta({ description: 'The form in which the header of the assertion names the certificate.' })
      .optional(),
    assertionAudience: name(
      '`aud` of the assertion; the URL of the token endpoint where this is left out.',
    ).optional(),
  })
  .transform((value, ctx): ClientAuth => {
    const { method, clientId, clientSecret, signingKey, alg, kid, certificate, certificateHeader } = value;
    const issue = (path: string, message: string): void =>
      ctx.addIssue({ code: 'custom', message, path: [path] });
    if (method !== 'privateKeyJwt') {
      const { assertionAudience } = value;
      const keyed = { signingKey, alg, kid, certificate, certificateHeader, assertionAudience };
      for (const [field, given] of Object.entries(keyed))
        if (given !== undefined) issue(field, 'is for method privateKeyJwt only');
      if (clientSecret === undefined) issue('clientSecret', `method ${method} needs clientSecret`);
      return { method, clientId, secret: clientSecret ?? { kind: 'inline', text: '' } };
    }
    if (clientSecret !== undefined) issue('clientSecret', 'does not go with privateKeyJwt');
    if (signingKey === undefined) issue('signingKey', 'privateKeyJwt needs signingKey');
    const problem = signingKey && keyProblem(signingKey, alg ?? 'RS256');
    if (problem !== undefined) issue('signingKey', problem);
    if ((certificate === undefined) !== (certificateHeader === undefined))
      issue('certificate', 'certificate and certificateHeader go together');
    return {
      method,
      clientId,
      key: signingKey ?? { kind: 'inline', text: '' },
      alg: alg ?? 'RS256',
      ...(kid === undefined ? {} : { kid }),
      ...(certificate === undefined ? {} : { certificate }),
      ...(certificateHeader === undefined ? {} : { certificateHeader }),
      ...(value.assertionAudience === undefined ? {} : { audience: value.assertionAudience }),
    };
  })
  .meta({ description: 'How the gateway proves at the token endpoint who it is.' });

const endpointPolicies = z
  .strictObject({
    backendTLS: backendTls.optional().describe('TLS with the authorization server.'),
    http: notBuilt('HTTP settings of a token endpoint'),
    tcp: notBuilt('TCP settings of a token endpoint'),
    backendAuth: notBuilt('policies of a token endpoint'),
    requestHeaderModifier: notBuilt('policies of a token endpoint'),
    transformations: notBuilt('policies of a token endpoint'),
    backendTunnel: notBuilt('tunnels'),
  })
  .meta({ description: 'Connections to the authorization server.' });

/** The fields that name a token endpoint. */
const endpointFields = {
  host: hostAndPort
    .meta({ description: 'The authorization server: https://idp.example.com, or name:port.' })
    .optional(),
  backend: serverName,
  path: requestTarget.optional().meta({ description: 'Path of the token endpoint; `/` where left out.' }),
  policies: endpointPolicies.optional(),
  service: notBuilt('services; write the host'),
};

interface WrittenEndpoint {
  readonly host?: HostAndPort | undefined;
  readonly backend?: string | undefined;
  readonly path?: string | undefined;
  readonly policies?: { readonly backendTLS?: z.output<typeof backendTls> | undefined } | undefined;
  readonly clientAuth?: ClientAuth | undefined;
}

function endpointOf(
  { host, backend, path = '/', policies, clientAuth: auth }: WrittenEndpoint,
  ctx: z.RefinementCtx,
): TokenEndpointSettings {
  return {
    ...policyServer({ host, backend }, policies?.backendTLS, ctx),
    path,
    ...(auth === undefined ? {} : { clientAuth: auth }),
  };
}

const sourceOf = credentialLocation('Where the token stands.', 'accepted');
const source = z
  .union([
    z.strictObject({
      expression: textExpression(requestAttributes, 'CEL expression that comes to the token.'),
    }),
    sourceOf,
  ])
  .transform((value): TokenSource =>
    'expression' in value ? { kind: 'expression', expression: value.expression } : value,
  )
  .meta({ description: 'Where the token stands: `header`, `cookie`, `queryParameter` or `expression`.' });

const tokenType = (byDefault: string) =>
  name(`Type of the token (RFC 8693 §3); ${byDefault} where left out.`).default(byDefault);

const subject = (byDefault: string) =>
  z
    .strictObject({ source: source.optional(), tokenType: tokenType(byDefault) })
    .transform(({ source: from = bearer, tokenType: type }): TokenSpec => ({ source: from, tokenType: type }))
    .meta({
      description: 'The token of the user; the bearer token of the request where this is left out.',
    });

const actor = z
  .strictObject({
    source,
    tokenType: tokenType(accessTokenType),
    enforceMayAct: z.boolean().default(false).meta({
      description: 'Refuse unless the claim `may_act` of the subject names the actor (RFC 8693 §4.4).',
    }),
  })
  .meta({ description: 'The token of the party that acts for the user (RFC 8693 §2.1).' });

const cache = z
  .strictObject({
    maxEntries: z.int().min(0).max(1_000_000).default(8_192).meta({
      description: 'Tokens that are kept; 0 keeps none. 8192 where left out.',
    }),
    defaultTtl: positiveDuration.optional().meta({
      description: 'How long a token is kept whose response has no expires_in; 300s where left out.',
    }),
  })
  .transform(({ maxEntries, defaultTtl = 300_000 }): CacheSettings => ({
    maxEntries,
    defaultTtlMs: defaultTtl,
  }))
  .meta({ description: 'Tokens that the gateway keeps and sends again.' });

const usualCache: CacheSettings = { maxEntries: 8_192, defaultTtlMs: 300_000 };

const place = credentialLocation(
  'Where the token is put; `Authorization: Bearer …` where this is left out.',
  'accepted',
).optional();

/** Parameters that the gateway writes itself. */
const ownParameters: ReadonlySet<string> = new Set([
  'grant_type',
  'subject_token',
  'subject_token_type',
  'actor_token',
  'actor_token_type',
  'assertion',
  'client_id',
  'client_secret',
  'client_assertion',
  'client_assertion_type',
]);

export const oauthTokenExchange = z
  .strictObject({
    ...endpointFields,
    grantType: z
      .enum(['tokenExchange', 'jwtBearer'])
      .default('tokenExchange')
      .meta({ description: 'tokenExchange (RFC 8693), or jwtBearer (RFC 7523).' }),
    subjectToken: subject(accessTokenType).optional(),
    actorToken: actor.optional(),
    audiences: names('Services that the token is for (`audience`).').default([]),
    scopes: scopes('Scopes of the token.').default([]),
    resources: names('URIs of the services that the token is for (`resource`).').default([]),
    requestedTokenType: name('`requested_token_type`.').optional(),
    clientAuth: clientAuth.optional(),
    additionalParams: z
      .record(
        z.string().min(1).max(256),
        textExpression(requestAttributes, 'CEL expression that comes to the value.'),
      )
      .refine((params) => !Object.keys(params).some((one) => ownParameters.has(one)), {
        message: `the gateway writes these parameters itself: ${[...ownParameters].join(', ')}`,
      })
      .default({})
      .meta({ description: 'Further parameters of the request: name and CEL expression.' }),
    authorizationLocation: place,
    cache: cache.optional(),
  })
  .transform((value, ctx): TokenExchangeSettings => {
    const { grantType, actorToken, requestedTokenType } = value;
    if (grantType === 'jwtBearer')
      for (const [field, given] of Object.entries({ actorToken, requestedTokenType }))
        if (given !== undefined)
          ctx.addIssue({ code: 'custom', message: 'is for grantType tokenExchange only', path: [field] });
    return {
      kind: 'oauthTokenExchange',
      endpoint: endpointOf(value, ctx),
      grantType,
      subject: value.subjectToken ?? { source: bearer, tokenType: accessTokenType },
      ...(actorToken === undefined ? {} : { actor: actorToken }),
      audiences: value.audiences,
      scopes: value.scopes,
      resources: value.resources,
      ...(requestedTokenType === undefined ? {} : { requestedTokenType }),
      params: value.additionalParams,
      location: value.authorizationLocation ?? bearer,
      cache: value.cache ?? usualCache,
    };
  })
  .meta({
    description: 'Exchanges the token of the user for one that the backend accepts (RFC 8693, RFC 7523).',
  });

const endpoint = (description: string) =>
  z
    .strictObject({ ...endpointFields, clientAuth })
    .transform(endpointOf)
    .meta({ description });

export const crossAppAccess = z
  .strictObject({
    identityProvider: endpoint('The authorization server where the user logged in.'),
    resourceAuthorizationServer: endpoint('The authorization server of the backend.'),
    audience: name('Identifier of the authorization server of the backend.'),
    resources: names('URIs of the services that the token is for.').default([]),
    scopes: scopes('Scopes that the identity provider is asked for.').default([]),
    accessTokenScopes: scopes(
      'Scopes of the access token; those of `scopes` where left out, none where the list is empty.',
    ).optional(),
    subjectToken: subject(idTokenType).optional(),
    authorizationLocation: place,
    cache: cache.optional(),
  })
  .transform((value): CrossAppAccessSettings => ({
    kind: 'crossAppAccess',
    identityProvider: value.identityProvider,
    resourceServer: value.resourceAuthorizationServer,
    subject: value.subjectToken ?? { source: bearer, tokenType: idTokenType },
    audience: value.audience,
    resources: value.resources,
    scopes: value.scopes,
    accessTokenScopes: value.accessTokenScopes ?? value.scopes,
    location: value.authorizationLocation ?? bearer,
    cache: value.cache ?? usualCache,
  }))
  .meta({
    description:
      'Cross App Access: the identity provider vouches for the user (ID-JAG), and the authorization server of the backend issues the token.',
  });

export const clientCredentials = z
  .strictObject({
    ...endpointFields,
    clientAuth,
    audiences: names('Services that the token is for (`audience`).').default([]),
    scopes: scopes('Scopes of the token.').default([]),
    resources: names('URIs of the services that the token is for (`resource`).').default([]),
    authorizationLocation: place,
    cache: cache.optional(),
  })
  .transform((value, ctx): ClientCredentialsSettings => ({
    kind: 'clientCredentials',
    endpoint: endpointOf(value, ctx),
    audiences: value.audiences,
    scopes: value.scopes,
    resources: value.resources,
    location: value.authorizationLocation ?? bearer,
    cache: value.cache ?? usualCache,
  }))
  .meta({ description: 'A token of the gateway itself (RFC 6749 §4.4), the same for all callers.' });

/** The same settings with the addresses of named backends. */
export function withLocatedServers<Settings extends { readonly kind: string }>(
  settings: Settings | TokenExchangeSettings | CrossAppAccessSettings | ClientCredentialsSettings,
  find: FindServer,
): Settings | TokenExchangeSettings | CrossAppAccessSettings | ClientCredentialsSettings {
  if ('endpoint' in settings) return { ...settings, endpoint: located(settings.endpoint, find) };
  if (!('identityProvider' in settings)) return settings;
  const { identityProvider, resourceServer } = settings;
  return {
    ...settings,
    identityProvider: located(identityProvider, find),
    resourceServer: located(resourceServer, find),
  };
}
