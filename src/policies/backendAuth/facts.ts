import { z } from 'zod';
import { messageOf } from '../../errorText.ts';
import { valuePattern } from '../fields/httpText.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { textSource, type TextSource } from '../text/schema.ts';
import { bearer, credentialLocation, type Location } from '../token/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { notBoth, someOf } from '../fields/crdRules.ts';

/** The credential to send, and its place. `secret` is named so that no dump shows it. */
export type BackendCredential =
  | { readonly kind: 'key'; readonly secret: TextSource; readonly location: Location }
  | { readonly kind: 'passthrough'; readonly location: Location };

/** The secret in the text of a file, which editors end with a line break. */
export function readSecret(text: string): string {
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new Error('the secret is empty');
  if (!valuePattern.test(secret))
    throw new Error('the secret cannot stand in a header: only visible ASCII, no line breaks');
  return secret;
}

function secretProblem(text: string): string | undefined {
  try {
    readSecret(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

const secret = textSource('The secret: written here, or `{file: …}`.', secretProblem);
const place = credentialLocation(
  'Where it is put; `Authorization: Bearer …` where this is left out.',
  'accepted',
);

const credential = z.strictObject({ key: secret, location: place });

/** `key: secret`, `key: {file: …}` or `key: {value: …, location: …}`. */
const keyShape = z.union([
  z.strictObject({ value: secret, location: place.optional() }),
  secret.transform((value) => ({ value, location: undefined })),
]);

export const backendAuthSchema = z
  .strictObject({
    key: keyShape.meta({ description: 'A secret that the backend gets with every request.' }).optional(),
    credentials: z
      .array(credential)
      .max(16)
      .meta({ description: 'Further secrets, each at its own place.' })
      .optional(),
    passthrough: z
      .strictObject({ location: place.optional() })
      .meta({ description: 'Sends on the token that jwtAuth or mcpAuthentication verified.' })
      .optional(),
    gcp: notBuilt('tokens of Google Cloud'),
    aws: notBuilt('signatures of AWS'),
    azure: notBuilt('tokens of Azure'),
    copilot: notBuilt('tokens of GitHub Copilot'),
    jwtSign: notBuilt('tokens that are signed here'),
    oauthTokenExchange: notBuilt('token exchange'),
    crossAppAccess: notBuilt('token exchange over applications'),
  })
  .transform(({ key, credentials = [], passthrough }, ctx) => {
    if (key === undefined && passthrough === undefined && credentials.length === 0)
      ctx.addIssue({ code: 'custom', message: 'expected key, credentials or passthrough' });
    if (key !== undefined && passthrough !== undefined)
      ctx.addIssue({
        code: 'custom',
        message: 'key and passthrough exclude each other',
        path: ['passthrough'],
      });
    const all: BackendCredential[] = [
      ...(key === undefined
        ? []
        : [{ kind: 'key', secret: key.value, location: key.location ?? bearer } as const]),
      ...(passthrough === undefined
        ? []
        : [{ kind: 'passthrough', location: passthrough.location ?? bearer } as const]),
      ...credentials.map(({ key: value, location }) => ({ kind: 'key', secret: value, location }) as const),
    ];
    const places = all.map(({ location }) => `${location.kind} ${location.name}`);
    if (new Set(places).size !== places.length)
      ctx.addIssue({ code: 'custom', message: 'two credentials for one place' });
    return { credentials: all };
  })
  .meta({ description: 'Credentials that the gateway shows to the backend.' });

export type BackendAuthSettings = z.output<typeof backendAuthSchema>;

export const backendAuthFacts = {
  schema: backendAuthSchema,
  on: ['route', 'service', 'target'],
  notYetOn: ['backend'],
  about: 'connection',
  clusterForms: [
    {
      path: 'key',
      without: ['value'],
      from: { field: 'secret', entry: 'api-key' },
      as: 'value',
      description: 'A Secret of the same namespace that holds the key as api-key.',
    },
    {
      path: 'credentials.*.key',
      without: ['file'],
      from: { field: 'secret', entry: 'api-key' },
      description: 'A Secret of the same namespace that holds the key as api-key.',
    },
  ],
  crdRules: { '': [someOf('key', 'credentials', 'passthrough'), notBoth('key', 'passthrough')] },
} as const satisfies PolicyFacts;
