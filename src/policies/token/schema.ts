import { z } from 'zod';
import type { KeySetSource } from '../../auth/contract.ts';
import { duration } from '../fields/duration.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { textExpression } from '../fields/expression.ts';
import { headerName, tokenPattern } from '../fields/httpText.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { mayHoldShownSecret, namesFile } from '../../schema/index.ts';
import { refusedRequestHeaders } from '../headerModifier/facts.ts';

/** Pieces of `jwtAuth` and `mcpAuthentication` about one issuer and its tokens. */

export const issuer = z
  .string()
  .min(1)
  .max(2048)
  .meta({ description: 'Who issues the tokens: the claim `iss` must be exactly this text.' });

export const audiences = z.array(z.string().min(1).max(2048)).max(64).meta({
  description:
    'Accepted audiences: one of them must be in the claim `aud`. An empty list accepts any audience.',
});

/** The source of the keys, in the form that `auth` takes. */
export type Jwks = KeySetSource;

/** The problem of a document's text, which must not quote it; undefined where there is none. */
type TextProblem = (text: string) => string | undefined;

/** A JSON document for which a test holds; the parser's own words could show a part of it. */
export const jsonProblem =
  (holds: (value: Readonly<Record<string, unknown>>) => boolean, expected: string): TextProblem =>
  (text) => {
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value === 'object' && value !== null && holds(value as Record<string, unknown>))
        return undefined;
    } catch {
      // Said below.
    }
    return expected;
  };

/** The problem of an address that the gateway fetches or sends browsers to. */
export function urlProblem(text: string): string | undefined {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return 'expected an http or https URL';
  const secret = parsed.username !== '' || parsed.password !== '';
  return secret ? 'a URL with a password would end up in logs' : undefined;
}

/** The source of a JSON document. */
export type DocumentSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'inline'; readonly text: string };

/** A JSON document from a URL, from a file, or written in the configuration. */
export function documentSource(what: string, problem: TextProblem) {
  const inlineText = mayHoldShownSecret(
    z.string().meta({ description: `The ${what} itself, as JSON text.` }),
  );
  return z
    .union([
      inlineText,
      z.strictObject({
        url: mayHoldShownSecret(
          z.string().meta({ description: 'Fetched in the background and kept fresh.' }),
        ).optional(),
        file: namesFile(z.string().min(1).meta({ description: 'Read again when it changes.' })).optional(),
        inline: inlineText.optional(),
      }),
    ])
    .transform((value, ctx): DocumentSource => {
      const {
        url,
        file,
        inline,
      }: { url?: string | undefined; file?: string | undefined; inline?: string | undefined } =
        typeof value === 'string' ? { inline: value } : value;
      const check = (message: string | undefined, path: string[]): void => {
        if (message !== undefined) ctx.addIssue({ code: 'custom', message, path });
      };
      if ([url, file, inline].filter((part) => part !== undefined).length !== 1) {
        check('expected exactly one of url, file, inline', []);
        return z.NEVER;
      }
      if (file !== undefined) return { kind: 'file', file };
      if (url !== undefined) {
        check(urlProblem(url), ['url']);
        return { kind: 'url', url };
      }
      check(problem(inline ?? ''), typeof value === 'string' ? [] : ['inline']);
      return { kind: 'inline', text: inline ?? '' };
    });
}

const keySetProblem = jsonProblem(
  ({ keys }) => Array.isArray(keys),
  'expected a JSON Web Key Set: JSON text with a list `keys`',
);

export const jwks = documentSource('key set', keySetProblem)
  .transform((source): Jwks => (source.kind === 'inline' ? { kind: 'inline', jwks: source.text } : source))
  .meta({
    description: 'The keys that signatures are checked with (RFC 7517): from a URL, a file, or written here.',
  });

const enforced = ['exp', 'nbf', 'aud', 'iss', 'sub'];

export const validation = z
  .strictObject({
    requiredClaims: z
      .array(
        z
          .string()
          .refine((claim) => enforced.includes(claim), `only ${enforced.join(', ')} can be required here`),
      )
      .default(['exp'])
      .meta({ description: 'Claims that must be in the token; `exp` where this is left out.' }),
    leeway: duration('How far clocks may be apart when exp, nbf and iat are compared; 10s where left out.')
      .refine((ms) => ms <= 300_000, 'more than 5m of leeway keeps dead tokens alive')
      .optional(),
  })
  .meta({ description: 'What is asked of a token besides its signature, issuer and audience.' });

/** The place of the token in the request. */
export type Location =
  | { readonly kind: 'header'; readonly name: string; readonly prefix: string }
  | { readonly kind: 'cookie'; readonly name: string }
  | { readonly kind: 'query'; readonly name: string };

export const bearer: Location = { kind: 'header', name: 'authorization', prefix: 'Bearer ' };

const queryParameter = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(256)
      .meta({ description: 'Name of the parameter, decoded.', samples: ['access_token'] }),
  })
  .meta({ description: 'The credential is in a parameter of the query.' });

/** The place of a credential. `query` says whether a parameter of the URL is accepted, or why not. */
export const credentialLocation = (description: string, query: 'accepted' | { readonly refused: string }) =>
  z
    .strictObject({
      header: z
        .strictObject({
          name: headerName().refine(
            (text) => !refusedRequestHeaders.has(text.toLowerCase()),
            'this field belongs to the connection or frames the message; no credential stands there',
          ),
          prefix: z
            .string()
            .max(64)
            // With what follows it, it is the value of a field: a line break would begin another one.
            .regex(/^(?:[\x21-\x7e][\x20-\x7e]*)?$/, 'expected visible ASCII, and spaces behind it')
            .meta({ description: 'Taken off before the credential, in any case.', samples: ['Bearer '] })
            .optional(),
        })
        .meta({ description: 'The credential is in a header.' })
        .optional(),
      cookie: z
        .strictObject({
          name: z
            .string()
            .regex(tokenPattern, 'not a cookie name')
            .meta({ description: 'Name of the cookie.', samples: ['session'] }),
        })
        .meta({ description: 'The credential is in a cookie.' })
        .optional(),
      queryParameter: query === 'accepted' ? queryParameter.optional() : notBuilt(query.refused),
      expression: notBuilt('a credential from an expression'),
    })
    .transform((value, ctx): Location => {
      const { header, cookie } = value;
      const parameter = value.queryParameter as z.output<typeof queryParameter> | undefined;
      if ([header, cookie, parameter].filter((place) => place !== undefined).length !== 1) {
        const places = query === 'accepted' ? 'header, cookie, queryParameter' : 'header, cookie';
        ctx.addIssue({ code: 'custom', message: `expected exactly one of ${places}` });
      }
      if (header !== undefined)
        return { kind: 'header', name: header.name.toLowerCase(), prefix: header.prefix ?? '' };
      if (parameter !== undefined) return { kind: 'query', name: parameter.name };
      return { kind: 'cookie', name: cookie?.name ?? '' };
    })
    .meta({ description });

/** The place of a token that the gateway only reads: an expression can find it anywhere. */
export type TokenLocation = Location | { readonly kind: 'expression'; readonly expression: string };

const placedToken = credentialLocation(
  'Where the token stands; `Authorization: Bearer …` where this is left out.',
  'accepted',
);

export const location = z
  .union([
    z.strictObject({
      expression: textExpression(
        requestAttributes,
        'CEL expression over the request that comes to the token.',
      ),
    }),
    placedToken,
  ])
  .transform((value): TokenLocation =>
    'expression' in value ? { kind: 'expression', expression: value.expression } : value,
  )
  .meta({
    description:
      'Where the token stands: `header`, `cookie`, `queryParameter` or `expression`; `Authorization: Bearer …` where this is left out.',
  });

export const modes = ['strict', 'optional', 'permissive'] as const;

export const mode = (byDefault: (typeof modes)[number], credential: 'token' | 'key' = 'token') =>
  z
    .enum(modes)
    .default(byDefault)
    .meta({
      description: `strict: a valid ${credential} is needed. optional: a request without one passes as nobody, a bad one is refused. permissive: nobody is refused here, bad ones count as none.`,
    });
