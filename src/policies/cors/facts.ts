import { z } from 'zod';
import { parseDuration } from '../../model/index.ts';
import { tokenPattern } from '../fields/httpText.ts';
import { anySite, origin } from '../fields/origins.ts';
import type { PolicyFacts } from '../policyFacts.ts';

const nameOrStar = (description: string) =>
  z
    .array(z.string().refine((name) => name === '*' || tokenPattern.test(name), 'not a token, nor *'))
    .max(256)
    .meta({ description });

/** Seconds, as the header has them; a length of time such as `10m` is understood too. */
const maxAge = z
  .union([z.int().min(0).max(31_536_000), z.string().max(32)])
  .transform((value, ctx): number => {
    const seconds = typeof value === 'number' ? value : readSeconds(value);
    if (seconds !== undefined) return seconds;
    ctx.addIssue({ code: 'custom', message: 'expected seconds (`600`) or a length of time such as 10m' });
    return z.NEVER;
  })
  .meta({
    description: 'How long a browser may remember the answer to a preflight (Access-Control-Max-Age).',
  });

export const corsSchema = z
  .strictObject({
    allowCredentials: z.boolean().default(false).meta({
      description: 'Lets browsers send cookies and credentials (Access-Control-Allow-Credentials).',
    }),
    allowHeaders: nameOrStar(
      'Request headers a page may send; `*` allows those that the preflight asks for.',
    ).default([]),
    allowMethods: nameOrStar(
      'Methods a page may use; `*` allows the one that the preflight asks for.',
    ).default([]),
    allowOrigins: z
      .array(origin)
      .max(1024)
      .default([])
      .meta({ description: 'Origins whose pages may call this route.' }),
    exposeHeaders: nameOrStar('Answer headers that a page may read.').default([]),
    maxAge: maxAge.optional(),
  })
  .superRefine((settings, ctx) => {
    // Fetch standard: with credentials `*` is no wildcard, and echoing any origin would give every web site the
    // user's credentials. Any page can also make its origin `null`, by a frame in a sandbox.
    if (settings.allowCredentials)
      for (const [index, text] of settings.allowOrigins.entries())
        if (anySite.test(text))
          ctx.addIssue({
            code: 'custom',
            message: `allowCredentials needs named origins: with ${text} every web site could act as the user`,
            path: ['allowOrigins', index],
          });
    if (settings.allowCredentials && settings.exposeHeaders.includes('*'))
      ctx.addIssue({
        code: 'custom',
        message: 'allowCredentials needs named headers: browsers take * literally then',
        path: ['exposeHeaders'],
      });
  })
  .meta({
    description: 'Cross-origin resource sharing: answers preflights and marks answers that pages may read.',
  });

function readSeconds(text: string): number | undefined {
  if (/^\d{1,8}$/.test(text)) return Number(text);
  const ms = parseDuration(text);
  return ms === undefined ? undefined : Math.floor(ms / 1000);
}

export type CorsSettings = z.output<typeof corsSchema>;

export const corsFacts = {
  schema: corsSchema,
  on: ['listener', 'route'],
  about: 'request',
  crdRules: {
    '': [
      {
        rule: "!(has(self.allowCredentials) && self.allowCredentials) || !((has(self.allowOrigins) && self.allowOrigins.exists(o, o == '*' || o == 'null' || o.endsWith('://*') || o.contains('://*:'))) || (has(self.exposeHeaders) && '*' in self.exposeHeaders))",
        message: 'allowCredentials needs named origins and named headers',
      },
    ],
  },
} as const satisfies PolicyFacts;
