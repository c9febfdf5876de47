import { z } from 'zod';
import type { PolicyFacts } from '../policyFacts.ts';
import { someOf } from '../fields/crdRules.ts';

const body = (what: string, refusal: string) =>
  z
    .strictObject({
      maxBytes: z
        .int()
        .min(1)
        .max(1_073_741_824)
        .meta({
          description: 'Largest body that is gathered; frontendPolicies.http.maxBufferSize where left out.',
        })
        .optional(),
      failureMode: z
        .enum(['failClosed', 'failOpen'])
        .default('failClosed')
        .meta({
          description: `failClosed: a larger body is refused with ${refusal}. failOpen: it goes on as it comes.`,
        }),
    })
    .transform(({ maxBytes, failureMode }) => ({
      ...(maxBytes === undefined ? {} : { maxBytes }),
      failOpen: failureMode === 'failOpen',
    }))
    .meta({ description: what });

export const bufferSchema = z
  .strictObject({
    request: body('Gathers the body of a request before the backend is asked.', '413').optional(),
    response: body('Gathers the body of an answer before the client gets it.', '502').optional(),
  })
  .superRefine(({ request, response }, ctx) => {
    if (request === undefined && response === undefined)
      ctx.addIssue({ code: 'custom', message: 'expected request or response, or both' });
  })
  .transform(({ request, response }) => ({
    ...(request === undefined ? {} : { request }),
    ...(response === undefined ? {} : { response }),
  }))
  .meta({ description: 'Gathers bodies in memory before they go on.' });

export type BufferSettings = z.output<typeof bufferSchema>;

export const bufferFacts = {
  schema: bufferSchema,
  on: ['route'],
  about: 'forwarding',
  crdRules: { '': [someOf('request', 'response')] },
} as const satisfies PolicyFacts;
