import { z } from 'zod';
import { duration } from '../fields/duration.ts';
import { tokenPattern } from '../fields/httpText.ts';
import { refusedResponseHeaders } from '../headerModifier/facts.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** Header fields that mean something to somebody else. */
const refusedHeaders: ReadonlySet<string> = new Set([
  ...refusedResponseHeaders,
  ...['host', 'authorization', 'cookie', 'set-cookie', 'content-type', 'content-encoding', 'x-request-id'],
]);

/** The fields of the Gateway API (GEP-1619), with the same names. */
export const sessionPersistenceSchema = z
  .strictObject({
    type: z
      .enum(['Cookie', 'Header'])
      .default('Cookie')
      .meta({ description: 'What carries the session: a cookie, or a header that the client sends back.' }),
    sessionName: z
      .string()
      .regex(tokenPattern, 'expected the name of a cookie or header (RFC 9110 §5.6.2)')
      .max(128)
      .meta({ description: 'Name of the cookie or header; one of the route’s own by default.' })
      .optional(),
    absoluteTimeout: duration('A session ends so long after it began.').optional(),
    idleTimeout: duration('A session ends when it was not used for so long.').optional(),
    cookieConfig: z
      .strictObject({
        lifetimeType: z.enum(['Session', 'Permanent']).default('Session').meta({
          description:
            'Session: the cookie goes when the browser is closed. Permanent: it stays for absoluteTimeout.',
        }),
        sameSite: z.enum(['Lax', 'Strict']).default('Lax').meta({
          description: 'Strict: requests that begin at another site come without the cookie.',
        }),
      })
      .meta({ description: 'How a browser keeps the cookie.' })
      .optional(),
  })
  .superRefine(({ type, sessionName = '', absoluteTimeout, cookieConfig }, ctx) => {
    const refuse = (path: string[], message: string): void => {
      ctx.addIssue({ code: 'custom', path, message });
    };
    if (cookieConfig?.lifetimeType === 'Permanent' && absoluteTimeout === undefined)
      refuse(['cookieConfig', 'lifetimeType'], 'Permanent needs absoluteTimeout beside cookieConfig');
    if (type === 'Header' && cookieConfig !== undefined) refuse(['cookieConfig'], 'belongs to type: Cookie');
    // Browsers drop cookies of such a name that are not Secure, and plain HTTP has none that are.
    if (type === 'Cookie' && /^__(?:Host|Secure)-/i.test(sessionName))
      refuse(['sessionName'], 'browsers keep other rules for names that begin with __Host- or __Secure-');
    if (type === 'Header' && refusedHeaders.has(sessionName.toLowerCase()))
      refuse(['sessionName'], 'this header has a meaning of its own');
  })
  .meta({ description: 'Sends the requests of one session to the same address of the same backend.' });

export type SessionPersistenceSettings = z.output<typeof sessionPersistenceSchema>;

export const sessionPersistenceFacts = {
  schema: sessionPersistenceSchema,
  on: ['route'],
  about: 'forwarding',
  crdRules: {
    '': [
      {
        rule: "!(has(self.type) && self.type == 'Header' && has(self.cookieConfig))",
        message: 'cookieConfig belongs to type: Cookie',
      },
      {
        rule: "!(has(self.cookieConfig) && has(self.cookieConfig.lifetimeType) && self.cookieConfig.lifetimeType == 'Permanent') || has(self.absoluteTimeout)",
        message: 'lifetimeType: Permanent needs absoluteTimeout',
      },
    ],
  },
} as const satisfies PolicyFacts;
