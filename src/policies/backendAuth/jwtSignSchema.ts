import { z } from 'zod';
import { positiveDuration } from '../../schema/index.ts';
import { textSource, type TextSource } from '../text/schema.ts';
import { bearer, credentialLocation, type Location } from '../token/schema.ts';
import { pemProblem } from './secretText.ts';
import { keyProblem, signingAlgorithms, type SigningAlgorithm } from './signToken.ts';

/** A token that the gateway signs itself. */
export interface JwtSignSettings {
  readonly kind: 'jwtSign';
  readonly key: TextSource;
  readonly alg: SigningAlgorithm;
  readonly kid?: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly ttlMs: number;
  readonly location: Location;
}

/** Claims that the gateway writes itself. */
const ownClaims = ['iat', 'exp', 'nbf'];

export const jwtSign = z
  .strictObject({
    signingKey: textSource('The private key as PEM: its text, or `{file: …}`.', pemProblem('private key')),
    alg: z
      .enum(signingAlgorithms)
      .default('RS256')
      .meta({ description: 'Signature algorithm; RS256 where this is left out.' }),
    kid: z.string().min(1).max(256).meta({ description: '`kid` in the header of the token.' }).optional(),
    claims: z
      .record(z.string().min(1).max(256), z.json())
      .refine((claims) => !ownClaims.some((name) => Object.hasOwn(claims, name)), {
        message: `the gateway writes these claims itself: ${ownClaims.join(', ')}`,
      })
      .default({})
      .meta({ description: 'Claims of every token, such as iss, sub and aud.' }),
    ttl: positiveDuration.optional().meta({ description: 'Lifetime of a token; 300s where left out.' }),
    location: credentialLocation(
      'Where the token is put; `Authorization: Bearer …` where this is left out.',
      'accepted',
    ).optional(),
  })
  .transform(({ signingKey, alg, kid, claims, ttl = 300_000, location = bearer }, ctx): JwtSignSettings => {
    const message = keyProblem(signingKey, alg);
    if (message !== undefined) ctx.addIssue({ code: 'custom', message, path: ['signingKey'] });
    return {
      kind: 'jwtSign',
      key: signingKey,
      alg,
      ...(kid === undefined ? {} : { kid }),
      claims,
      ttlMs: ttl,
      location,
    };
  })
  .meta({ description: 'Signs a token of its own for the backend with a private key (RFC 7519).' });
