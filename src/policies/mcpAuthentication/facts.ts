import { z } from 'zod';
import { mcpRuleSetSchema } from '../rules/schema.ts';
import { discoveredJwks } from '../token/discovered.ts';
import { audiences, issuer, jwks, location, mode, validation, type Jwks } from '../token/schema.ts';
import { loginCookie } from './login/loginCookie.ts';
import { provider, providerNames, type ProviderName } from './provider.ts';
import { hostname, network, secret } from '../../schema/index.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { clientSecretForm, keySetForm } from '../token/clusterForm.ts';
import { oneOf } from '../fields/crdRules.ts';

const empty = (description: string) => z.strictObject({}).meta({ description });

const providerSchema = z
  .strictObject({
    auth0: empty('Auth0: the audience is added to the authorization endpoint.').optional(),
    keycloak: empty('Keycloak: keys and metadata are where Keycloak has them.').optional(),
    okta: empty('Okta: the audience is added to the authorization endpoint.').optional(),
    descope: empty('Descope: OpenID Connect discovery first.').optional(),
    authentik: empty('authentik: needs clientId, since it registers no clients.').optional(),
    entra: empty('Microsoft Entra ID: needs clientId, since it registers no clients.').optional(),
  })
  .transform((value, ctx) => {
    const named = providerNames.filter((name) => value[name] !== undefined);
    const [name] = named;
    if (name !== undefined && named.length === 1) return name;
    ctx.addIssue({ code: 'custom', message: `expected exactly one of ${providerNames.join(', ')}` });
    return z.NEVER;
  })
  .meta({
    description: 'The make of the identity provider: where its keys and metadata are, and what it needs.',
  });

/** A `resource` that is no address would be ignored where it ought to pin one (RFC 9728 §1.2). */
function checkResource(metadata: Readonly<Record<string, unknown>>, ctx: z.RefinementCtx): void {
  const { resource } = metadata;
  if (resource === undefined) return;
  const url = typeof resource === 'string' ? URL.parse(resource) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.hash === '') return;
  ctx.addIssue({
    code: 'custom',
    message: 'expected an address with http or https and without a fragment',
    path: ['resource'],
  });
}

const trustedIssuer = {
  issuer,
  audiences,
  jwks: jwks.optional(),
  provider: providerSchema.optional(),
  jwtValidationOptions: validation.optional(),
};

/** An issuer whose tokens are accepted, and the source of its keys. */
export interface TrustedIssuer {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly jwks: Jwks;
  readonly provider?: ProviderName | undefined;
  readonly jwtValidationOptions?: z.output<typeof validation> | undefined;
}

/** Completes an issuer without a key set: its metadata names the key set. */
function withKeys(
  written: Omit<TrustedIssuer, 'jwks'> & { readonly jwks?: Jwks | undefined },
  ctx: z.RefinementCtx,
): TrustedIssuer {
  const source = written.jwks ?? discoveredJwks(written.issuer, provider(written.provider));
  if (source !== undefined) return { ...written, jwks: source };
  ctx.addIssue({
    code: 'custom',
    message: 'missing, and the issuer is not a URL to find it by',
    path: ['jwks'],
  });
  return z.NEVER;
}

const issuersSchema = z
  .array(z.strictObject(trustedIssuer).transform(withKeys).meta({ description: 'One trusted issuer.' }))
  .min(1)
  .max(32)
  .refine(
    (all) => new Set(all.map((one) => one.issuer)).size === all.length,
    'two entries have the same issuer',
  )
  .meta({
    description:
      'Several trusted issuers, in place of issuer, audiences, jwks, provider and jwtValidationOptions; the claim `iss` of a token chooses one.',
  });

const clientDocumentsSchema = z
  .strictObject({
    hosts: z.array(hostname).min(1).max(64).meta({
      description: 'Hosts whose documents describe clients: a name, *. with a domain, or * for every host.',
    }),
    networks: z.array(network).max(64).optional().meta({
      description:
        'Networks that are not public, and that documents may come from; without them, documents come from public addresses only.',
    }),
  })
  .meta({
    description:
      'Lets clients log in whose id is the https address of their metadata document (client ID metadata documents); needs clientId.',
  });

export const mcpAuthenticationSchema = z
  .strictObject({
    mode: mode('strict'),
    ...trustedIssuer,
    issuer: issuer.optional(),
    audiences: audiences.optional(),
    issuers: issuersSchema.optional(),
    resourceMetadata: z
      .record(z.string().min(1).max(128), z.json())
      .default({})
      .superRefine(checkResource)
      .meta({
        description:
          'Members of the protected resource metadata (RFC 9728) that replace or join the derived ones; camelCase names become snake_case.',
      }),
    authorizationLocation: location.optional(),
    authorization: mcpRuleSetSchema(
      'Rules about who may come in, or with mcp.* about single tools, prompts and resources.',
    ).optional(),
    clientId: z.string().min(1).max(512).optional().meta({
      description:
        'The client that is registered at the provider for the gateway: clients then log in at the gateway, which logs in at the provider.',
    }),
    clientSecret: secret(
      z.string().min(1).max(4096).meta({ description: 'The secret of clientId at the token endpoint.' }),
      'clientSecret',
    ).optional(),
    clientDocuments: clientDocumentsSchema.optional(),
    dynamicRegistration: z.boolean().optional().meta({
      description:
        'Clients may register at the gateway (RFC 7591); true unless given. false needs clientDocuments.',
    }),
  })
  .transform((settings, ctx) => {
    const { issuers, mode, resourceMetadata, authorizationLocation, authorization, ...others } = settings;
    const { clientId, clientSecret, clientDocuments, dynamicRegistration, ...single } = others;
    checkClient(settings, ctx);
    return written({
      mode,
      resourceMetadata,
      authorizationLocation,
      authorization,
      clientId,
      clientSecret,
      clientDocuments,
      dynamicRegistration,
      issuers: trustedOf(single, issuers, ctx),
    });
  })
  .meta({
    description: 'Checks the tokens of MCP clients and tells them where to get one (MCP authorization).',
  });

/** A shared client belongs to one provider, and some providers cannot do without it. */
function checkClient(
  {
    issuers = [],
    provider: make,
    clientId,
    clientSecret,
    clientDocuments,
    dynamicRegistration,
  }: {
    readonly issuers?: readonly TrustedIssuer[] | undefined;
    readonly provider?: ProviderName | undefined;
    readonly clientId?: string | undefined;
    readonly clientSecret?: string | undefined;
    readonly clientDocuments?: object | undefined;
    readonly dynamicRegistration?: boolean | undefined;
  },
  ctx: z.RefinementCtx,
): void {
  const refuse = (name: string, message: string): void =>
    ctx.addIssue({ code: 'custom', message, path: [name] });
  if (clientId !== undefined && issuers.length > 0)
    refuse('clientId', 'goes with one issuer, not with issuers');
  if (clientId === undefined)
    for (const [name, value] of Object.entries({ clientSecret, clientDocuments, dynamicRegistration }))
      if (value !== undefined) refuse(name, 'needs clientId');
  if (dynamicRegistration === false && clientDocuments === undefined)
    refuse('dynamicRegistration', 'false needs clientDocuments: no client could log in');
  const { needsClient } = provider(make);
  if (needsClient !== undefined && clientId === undefined) refuse('clientId', `missing: ${needsClient}`);
  for (const [index, { provider: make }] of issuers.entries()) {
    const { needsClient } = provider(make);
    if (needsClient === undefined) continue;
    const message = `needs clientId, which goes with one issuer: ${needsClient}; leave provider out if clients get tokens elsewhere`;
    ctx.addIssue({ code: 'custom', message, path: ['issuers', index, 'provider'] });
  }
}

/** Leaves out fields that are undefined: models travel as JSON. */
const written = <Fields extends object>(fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;

/** The list of issuers, or the only issuer: both forms have the same parts. */
function trustedOf(
  single: { readonly [Name in keyof TrustedIssuer]?: TrustedIssuer[Name] | undefined },
  issuers: readonly TrustedIssuer[] | undefined,
  ctx: z.RefinementCtx,
): readonly [TrustedIssuer, ...TrustedIssuer[]] {
  const refuse = (name: string, message: string): void =>
    ctx.addIssue({ code: 'custom', message, path: [name] });
  const [first, ...others] = issuers ?? [];
  if (first !== undefined) {
    for (const [name, value] of Object.entries(single))
      if (value !== undefined) refuse(name, 'belongs into one of the issuers');
    return [first, ...others];
  }
  const { issuer: name, audiences: accepted, ...rest } = single;
  if (name === undefined) refuse('issuer', 'missing: expected issuer, or issuers');
  if (accepted === undefined) refuse('audiences', 'missing: expected a list of audiences');
  if (name === undefined || accepted === undefined) return z.NEVER;
  return [withKeys({ ...written(rest), issuer: name, audiences: accepted }, ctx)];
}

export type McpAuthenticationSettings = z.output<typeof mcpAuthenticationSchema>;

/** The providers with which clients cannot log in without a client of the operator. */
const needClient = providerNames.filter((name) => provider(name).needsClient !== undefined);

export const mcpAuthenticationFacts = {
  schema: mcpAuthenticationSchema,
  on: ['route'],
  about: 'caller',
  asksFor: 'token',
  guidesClients: true,
  logins: (settings) => {
    const { issuers, resourceMetadata } = settings as McpAuthenticationSettings;
    const scopes: unknown = resourceMetadata['scopesSupported'] ?? resourceMetadata['scopes_supported'];
    return {
      issuers: issuers.map(({ issuer }) => issuer),
      audiences: [...new Set(issuers.flatMap(({ audiences }) => audiences))],
      clientScopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : [],
    };
  },
  ownCookies: {
    name: loginCookie,
    where: (settings) => (settings as McpAuthenticationSettings).clientId !== undefined,
  },
  lostWithoutSessionKey: (settings) =>
    (settings as McpAuthenticationSettings).clientId === undefined
      ? undefined
      : 'clients register and log in again after a restart',
  rules: { member: 'authorization', likePolicy: 'mcpAuthorization' },
  clusterForms: [keySetForm('jwks'), keySetForm('issuers.*.jwks'), clientSecretForm()],
  crdRules: {
    '': [
      {
        rule: 'has(self.issuers) ? !(has(self.issuer) || has(self.audiences) || has(self.jwks) || has(self.provider) || has(self.jwtValidationOptions)) : has(self.issuer) && has(self.audiences)',
        message: 'expected issuer and audiences, or issuers that hold all that is about an issuer',
      },
      {
        rule: 'has(self.clientId) ? !has(self.issuers) : !(has(self.clientSecret) || has(self.clientDocuments) || has(self.dynamicRegistration))',
        message:
          'clientSecret, clientDocuments and dynamicRegistration need clientId, which goes with one issuer',
      },
      {
        rule: `has(self.clientId) || !has(self.provider) || !(${needClient.map((name) => `has(self.provider.${name})`).join(' || ')})`,
        message: `${needClient.join(' and ')} need clientId`,
      },
      {
        rule: '!has(self.dynamicRegistration) || self.dynamicRegistration || has(self.clientDocuments)',
        message: 'dynamicRegistration: false needs clientDocuments',
      },
    ],
    provider: [oneOf(...providerNames)],
    'issuers.*.provider': [
      oneOf(...providerNames),
      {
        rule: needClient.map((name) => `!has(self.${name})`).join(' && '),
        message: `${needClient.join(' and ')} need clientId, which goes with one issuer`,
      },
    ],
  },
} as const satisfies PolicyFacts;
