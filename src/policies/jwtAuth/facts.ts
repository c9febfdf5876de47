import { z } from 'zod';
import { discoveredJwks } from '../token/discovered.ts';
import { audiences, issuer, jwks, location, mode, validation, type Jwks } from '../token/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { keySetForm } from '../token/clusterForm.ts';

const provider = {
  issuer,
  audiences: audiences.optional(),
  jwks: jwks.optional(),
  jwtValidationOptions: validation.optional(),
};

type Written = z.output<z.ZodObject<typeof provider>>;

/** Completes settings that name no key set: the metadata of the issuer names it. */
function withKeys(
  { issuer, jwks, ...rest }: Written,
  ctx: z.RefinementCtx,
): Omit<Written, 'jwks'> & { jwks: Jwks } {
  const source = jwks ?? discoveredJwks(issuer);
  if (source !== undefined) return { issuer, jwks: source, ...rest };
  ctx.addIssue({
    code: 'custom',
    message: 'missing, and the issuer is not a URL to find it by',
    path: ['jwks'],
  });
  return z.NEVER;
}

const providerSchema = z
  .strictObject(provider)
  .transform(withKeys)
  .meta({ description: 'One trusted issuer.' });

export const jwtAuthSchema = z
  .strictObject({
    mode: mode('optional'),
    location: location.optional(),
    providers: z
      .array(providerSchema)
      .min(1)
      .max(32)
      .meta({ description: 'Several trusted issuers; the claim `iss` of a token chooses one.' })
      .optional(),
    issuer: provider.issuer.optional(),
    audiences: provider.audiences,
    jwks: provider.jwks,
    jwtValidationOptions: provider.jwtValidationOptions,
  })
  .transform((value, ctx) => {
    const { mode, location, providers, ...single } = value;
    const base = { mode, ...(location === undefined ? {} : { location }) };
    const named = Object.entries(single).filter(([, field]) => field !== undefined);
    if (providers !== undefined) {
      for (const [name] of named)
        ctx.addIssue({ code: 'custom', message: 'belongs into one of the providers', path: [name] });
      const issuers = providers.map((one) => one.issuer);
      if (new Set(issuers).size !== issuers.length)
        ctx.addIssue({ code: 'custom', message: 'two providers have the same issuer', path: ['providers'] });
      return { ...base, providers };
    }
    const { issuer, ...rest } = single;
    if (issuer === undefined) {
      ctx.addIssue({ code: 'custom', message: 'missing: expected issuer, or providers', path: ['issuer'] });
      return z.NEVER;
    }
    return { ...base, providers: [withKeys({ issuer, ...rest }, ctx)] };
  })
  .meta({ description: 'Checks bearer tokens (JWT) of one or several issuers.' });

export type JwtAuthSettings = z.output<typeof jwtAuthSchema>;

export const jwtAuthFacts = {
  schema: jwtAuthSchema,
  on: ['listener', 'route'],
  about: 'caller',
  asksFor: 'token',
  logins: (settings) => {
    const { providers } = settings as JwtAuthSettings;
    return {
      issuers: providers.map(({ issuer }) => issuer),
      audiences: [...new Set(providers.flatMap(({ audiences = [] }) => audiences))],
      clientScopes: [],
    };
  },
  clusterForms: [keySetForm('jwks'), keySetForm('providers.*.jwks')],
  crdRules: {
    '': [
      {
        rule: 'has(self.providers) ? !(has(self.issuer) || has(self.jwks) || has(self.audiences) || has(self.jwtValidationOptions)) : has(self.issuer)',
        message: 'expected issuer, or providers that hold all that is about an issuer',
      },
    ],
  },
} as const satisfies PolicyFacts;
