import { z } from 'zod';
import { notBuilt } from '../fields/notBuilt.ts';
import { mcpRuleSetSchema } from '../rules/schema.ts';
import { discoveredJwks } from '../token/discovered.ts';
import { audiences, issuer, jwks, location, mode, validation, type Jwks } from '../token/schema.ts';
import { provider, providerNames } from './provider.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { keySetForm } from '../token/clusterForm.ts';
import { oneOf } from '../fields/crdRules.ts';

const empty = (description: string) => z.strictObject({}).meta({ description });
const registration = 'needs the proxying of client registrations; leave it out to use the issuer as it is';

const providerSchema = z
  .strictObject({
    auth0: empty('Auth0: the audience is added to the authorization endpoint.').optional(),
    keycloak: empty('Keycloak: keys and metadata are where Keycloak has them.').optional(),
    okta: empty('Okta: the audience is added to the authorization endpoint.').optional(),
    descope: notBuilt(registration),
    authentik: notBuilt(registration),
    entra: notBuilt(registration),
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

export const mcpAuthenticationSchema = z
  .strictObject({
    mode: mode('strict'),
    issuer,
    audiences,
    jwks: jwks.optional(),
    provider: providerSchema.optional(),
    resourceMetadata: z
      .record(z.string().min(1).max(128), z.json())
      .default({})
      .superRefine(checkResource)
      .meta({
        description:
          'Members of the protected resource metadata (RFC 9728) that replace or join the derived ones; camelCase names become snake_case.',
      }),
    authorizationLocation: location.optional(),
    jwtValidationOptions: validation.optional(),
    authorization: mcpRuleSetSchema(
      'Rules about who may come in, or with mcp.* about single tools, prompts and resources.',
    ).optional(),
    clientId: notBuilt(registration),
    clientSecret: notBuilt(registration),
  })
  .transform(({ clientId: _id, clientSecret: _secret, jwks: keys, ...settings }, ctx) => {
    const source: Jwks | undefined = keys ?? discoveredJwks(settings.issuer, provider(settings.provider));
    if (source !== undefined) return { ...settings, jwks: source };
    ctx.addIssue({
      code: 'custom',
      message: 'missing, and the issuer is not a URL to find it by',
      path: ['jwks'],
    });
    return z.NEVER;
  })
  .meta({
    description: 'Checks the tokens of MCP clients and tells them where to get one (MCP authorization).',
  });

export type McpAuthenticationSettings = z.output<typeof mcpAuthenticationSchema>;

export const mcpAuthenticationFacts = {
  schema: mcpAuthenticationSchema,
  on: ['route'],
  about: 'caller',
  asksFor: 'token',
  rules: { member: 'authorization', likePolicy: 'mcpAuthorization' },
  clusterForms: [keySetForm('jwks')],
  crdRules: { provider: [oneOf('auth0', 'keycloak', 'okta')] },
} as const satisfies PolicyFacts;
