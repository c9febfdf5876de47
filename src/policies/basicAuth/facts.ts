import { z } from 'zod';
import { messageOf } from '../../errorText.ts';
import { textSource } from '../text/schema.ts';
import { credentialLocation } from '../token/schema.ts';
import { readHtpasswd } from './htpasswd.ts';
import type { PolicyFacts } from '../policyFacts.ts';

function htpasswdProblem(text: string): string | undefined {
  try {
    readHtpasswd(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export const basicAuthSchema = z
  .strictObject({
    htpasswd: textSource(
      'Users and the hashes of their passwords, in the format of htpasswd: written here, or `{file: …}`.',
      htpasswdProblem,
    ),
    realm: z
      .string()
      .min(1)
      .max(256)
      .regex(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, 'expected visible ASCII without quotes and backslashes')
      .default('Restricted')
      .meta({ description: 'Shown by browsers when they ask for the password.' }),
    mode: z.enum(['strict', 'optional']).default('optional').meta({
      description:
        'strict: valid credentials are needed. optional: a request without any passes, bad ones are refused.',
    }),
    authorizationLocation: credentialLocation(
      'Where the credentials stand; `Authorization: Basic …` where this is left out.',
      { refused: 'a password in a URL ends up in logs and in referers' },
    ).optional(),
  })
  .meta({ description: 'Checks user names and passwords (RFC 7617).' });

export type BasicAuthSettings = z.output<typeof basicAuthSchema>;

export const basicAuthFacts = {
  schema: basicAuthSchema,
  on: ['listener', 'route'],
  about: 'caller',
  asksFor: 'password',
  clusterForms: [
    {
      path: 'htpasswd',
      without: ['file'],
      from: { field: 'secret', entry: '.htpasswd' },
      or: { inline: 'The text itself, a `user:hash` a line.' },
      description: 'A Secret of the same namespace that holds it as .htpasswd.',
    },
  ],
} as const satisfies PolicyFacts;
