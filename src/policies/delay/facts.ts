import { z } from 'zod';
import { compile, isProblem } from '../../cel/index.ts';
import { parseDuration } from '../../model/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { addProblem } from '../fields/expression.ts';
import { share } from '../fields/share.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** A length of time, or how it is found for each request. */
export type Delay =
  { readonly kind: 'fixed'; readonly ms: number } | { readonly kind: 'expression'; readonly source: string };

/** An hour: whatever waits longer is held for nothing. */
export const maxDelayMs = 3_600_000;

/** Types of results that say how long; `dyn`: only the run tells. */
const lengths = ['dyn', 'string', 'google.protobuf.Duration', 'int', 'uint', 'double'];

const delayText = z
  .string()
  .min(1)
  .transform((text, ctx): Delay => {
    const ms = parseDuration(text);
    if (ms !== undefined) {
      if (ms <= maxDelayMs) return { kind: 'fixed', ms };
      ctx.addIssue({ code: 'custom', message: 'longer than 1h' });
      return z.NEVER;
    }
    const program = compile(text, requestAttributes);
    if (isProblem(program)) addProblem(ctx, [], program.message, program.offset, program.notBuilt);
    else if (!lengths.includes(program.type))
      addProblem(
        ctx,
        [],
        `expected a duration such as duration("2s"), or a number of milliseconds; this is a ${program.type}`,
        0,
      );
    return { kind: 'expression', source: text };
  })
  .meta({
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
