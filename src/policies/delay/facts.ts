import { z } from 'zod';
import { requestAttributes } from '../attributes/declared.ts';
import { durationOrExpression } from '../fields/durationOrExpression.ts';
import { share } from '../fields/share.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** An hour: whatever waits longer is held for nothing. */
export const maxDelayMs = 3_600_000;

const delayText = durationOrExpression({
  attributes: requestAttributes,
  types: ['string', 'google.protobuf.Duration', 'int', 'uint', 'double'],
  wanted: 'a duration such as duration("2s"), or a number of milliseconds',
  fault: (ms) => (ms <= maxDelayMs ? undefined : 'longer than 1h'),
  description:
    'How long a request is held, such as `2s`, or a CEL expression that comes to a duration (`duration("2s")`), to such a text, or to a number of milliseconds.',
});

export const delaySchema = z
  .strictObject({
    duration: delayText,
    percentage: share('Share of the requests that are held, from 0.0 to 1.0.').default(1),
  })
  .meta({ description: 'Holds requests for a while before they are forwarded, to try what then happens.' });

export type DelaySettings = z.output<typeof delaySchema>;

export const delayFacts = {
  schema: delaySchema,
  on: ['route'],
  about: 'request',
} as const satisfies PolicyFacts;
