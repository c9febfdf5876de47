import { z } from 'zod';
import { answerAttributes, forwardAttributes } from '../attributes/declared.ts';
import { duration } from '../fields/duration.ts';
import { condition } from '../fields/expression.ts';
import type { PolicyFacts } from '../policyFacts.ts';

export const retrySchema = z
  .strictObject({
    attempts: z
      .int()
      .min(1)
      .max(10)
      .default(1)
      .meta({ description: 'How often a request is tried at most, the first time included.' }),
    backoff: duration('Pause before each further try; none where left out.')
      .refine((ms) => ms <= 30_000, 'longer than 30s')
      .optional(),
    codes: z
      .array(z.int().min(200).max(599))
      .min(1)
      .max(64)
      .meta({ description: 'Status codes of answers that are a reason to try again.' }),
    precondition: condition(
      forwardAttributes,
      'CEL expression about the request; only where it is true, the request is tried again.',
    ).optional(),
    condition: condition(
      answerAttributes,
      'CEL expression about request and answer; where it is true, that too is a reason to try again.',
    ).optional(),
    maxBodyBytes: z
      .int()
      .min(0)
      .max(67_108_864)
      .default(65_536)
      .meta({ description: 'Requests with a larger body are not kept in memory and not tried again.' }),
    hedge: z
      .strictObject({
        delay: duration('An answer that is later than this is raced by a further try.').refine(
          (ms) => ms <= 60_000,
          'longer than 1m',
        ),
        maxAttempts: z
          .int()
          .min(2)
          .max(5)
          .default(2)
          .meta({ description: 'Tries of one request, the first included; one more after each delay.' }),
      })
      .meta({ description: 'Makes further tries while the first is still under way; the first answer wins.' })
      .optional(),
    budget: z
      .strictObject({
        percent: z.number().min(0).max(100).default(20).meta({
          description: 'Further tries that are allowed, in percent of the requests of the last seconds.',
        }),
        minRetryRate: z
          .number()
          .min(0)
          .max(10_000)
          .default(10)
          .meta({ description: 'Further tries a second that are allowed in any case.' }),
      })
      .default({ percent: 20, minRetryRate: 10 })
      .meta({ description: 'Keeps a failing backend from drowning in further tries.' }),
  })
  .meta({ description: 'Tries requests again that the backend failed.' });

export type RetrySettings = z.output<typeof retrySchema>;

export const retryFacts = {
  schema: retrySchema,
  on: ['route'],
  about: 'forwarding',
  warnings: (settings) => {
    const { attempts, hedge } = settings as RetrySettings;
    return attempts === 1 && hedge === undefined
      ? ['attempts is 1, which counts the first attempt: no request is repeated']
      : [];
  },
} as const satisfies PolicyFacts;
