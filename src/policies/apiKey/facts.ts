import { hash } from 'node:crypto';
import { z } from 'zod';
import { notBuilt } from '../fields/notBuilt.ts';
import { mayHoldSecret, secret } from '../../schema/index.ts';
import { credentialLocation, mode } from '../token/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** An accepted key. Only its digest is kept, so that neither the model nor a dump of it holds the key. */
export interface AcceptedKey {
  /** SHA-256, hex. */
  readonly digest: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const keyShape = z.strictObject({
  key: secret(
    z.string().min(1).max(4096).meta({ description: 'The key itself; at least 16 characters are wise.' }),
    'digest',
  ).optional(),
  keyHash: secret(
    z
      .string()
      .regex(/^sha256:[0-9a-fA-F]{64}$/, 'expected sha256: and 64 hex digits')
      .meta({ description: 'Digest of the key, as `sha256:<hex>`, in place of the key.' }),
    'digest',
  ).optional(),
  metadata: mayHoldSecret(
    z.record(z.string(), z.json()).meta({ description: 'What expressions see as `apiKey.<name>`.' }),
  ).optional(),
  allowedModels: notBuilt('language models'),
});

const acceptedKey = keyShape.transform(({ key, keyHash, metadata = {} }, ctx): AcceptedKey => {
  if ((key === undefined) === (keyHash === undefined)) {
    ctx.addIssue({ code: 'custom', message: 'expected exactly one of key, keyHash' });
    return z.NEVER;
  }
  if ('key' in metadata)
    ctx.addIssue({
      code: 'custom',
      message: 'apiKey.key stands for the key itself, which expressions never see',
      path: ['metadata', 'key'],
    });
  const digest =
    keyHash === undefined ? hash('sha256', key ?? '') : keyHash.slice('sha256:'.length).toLowerCase();
  return { digest, metadata };
});

export const apiKeySchema = z
  .strictObject({
    keys: z
      .array(acceptedKey)
      .min(1)
      .max(10_000)
      .meta({ description: 'Keys that are accepted, and what is known about their holders.' }),
    mode: mode('optional', 'key'),
    location: credentialLocation(
      'Where the key stands; `Authorization: Bearer …` where this is left out.',
      'accepted',
    ).optional(),
  })
  .superRefine(({ keys }, ctx) => {
    if (new Set(keys.map(({ digest }) => digest)).size !== keys.length)
      ctx.addIssue({ code: 'custom', message: 'a key is there twice', path: ['keys'] });
  })
  .meta({ description: 'Checks API keys.' });

export type ApiKeySettings = z.output<typeof apiKeySchema>;

export const apiKeyFacts = {
  schema: apiKeySchema,
  on: ['listener', 'route'],
  about: 'caller',
  asksFor: 'key',
  clusterForms: [
    {
      path: 'keys.*',
      without: ['key'],
      from: { field: 'secret', entry: 'api-key' },
      as: 'key',
      or: { keyHash: undefined },
      description: 'A Secret of the same namespace that holds the key as api-key.',
    },
  ],
} as const satisfies PolicyFacts;
