import { z } from 'zod';

/** The unit of a rate limit: `requests`, which is no part of the output. `tokens` of language models is refused by name. */
export const countedUnit = z
  .string()
  .superRefine((type, ctx) => {
    if (type === 'tokens')
      ctx.addIssue({
        code: 'custom',
        message: 'known, but not built yet: tokens of language models',
        params: { notBuilt: true },
      });
    else if (type !== 'requests') ctx.addIssue({ code: 'custom', message: 'expected requests' });
  })
  .default('requests')
  .meta({ description: 'What is counted: `requests`.', enum: ['requests'] });
