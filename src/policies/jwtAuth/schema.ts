import { z } from 'zod';
import { audiences, issuer, jwks, location, mode, validation } from '../token/schema.ts';

const provider = {
  issuer,
  audiences: audiences.optional(),
  jwks,
  jwtValidationOptions: validation.optional(),
};

const providerSchema = z.strictObject(provider).meta({ description: 'One trusted issuer.' });

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
    jwks: provider.jwks.optional(),
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
    const { issuer, jwks, ...rest } = single;
    if (issuer === undefined || jwks === undefined) {
      const path = issuer === undefined ? 'issuer' : 'jwks';
      ctx.addIssue({
        code: 'custom',
        message: 'missing: expected issuer and jwks, or providers',
        path: [path],
      });
      return z.NEVER;
    }
    return { ...base, providers: [{ issuer, jwks, ...rest }] };
  })
  .meta({ description: 'Checks bearer tokens (JWT) of one or several issuers.' });

export type JwtAuthSettings = z.output<typeof jwtAuthSchema>;
