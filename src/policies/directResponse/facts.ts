import { z } from 'zod';
import { requestAttributes } from '../attributes/declared.ts';
import { expression } from '../fields/expression.ts';
import { headerName } from '../fields/httpText.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { mayHoldSecret } from '../../schema/index.ts';
import { refusedResponseHeaders } from '../headerModifier/facts.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { notBoth } from '../fields/crdRules.ts';

export const directResponseSchema = z
  .strictObject({
    status: z.int().min(200).max(599).meta({ description: 'Status code of the answer.' }),
    body: mayHoldSecret(
      z.string().max(1_048_576).meta({ description: 'Body of the answer, as text.' }),
    ).optional(),
    bodyExpression: mayHoldSecret(
      expression(
        requestAttributes,
        'CEL expression that makes the body: text or bytes as they are, anything else as JSON.',
      ),
    ).optional(),
    headers: z
      .record(
        headerName().refine(
          (name) => !refusedResponseHeaders.has(name.toLowerCase()),
          'this field belongs to the connection or frames the message',
        ),
        mayHoldSecret(
          expression(
            requestAttributes,
            'CEL expression that makes the value; a plain text is written "\'text\'".',
          ),
        ),
      )
      .default({})
      .meta({ description: 'Headers of the answer; each value is a CEL expression.' }),
    conditional: notBuilt('conditional answers'),
  })
  .superRefine((settings, ctx) => {
    if (settings.body !== undefined && settings.bodyExpression !== undefined)
      ctx.addIssue({
        code: 'custom',
        message: 'body and bodyExpression exclude each other',
        path: ['bodyExpression'],
      });
    const bodiless = settings.status === 204 || settings.status === 205 || settings.status === 304;
    if (bodiless && (settings.body !== undefined || settings.bodyExpression !== undefined))
      ctx.addIssue({
        code: 'custom',
        message: `an answer ${settings.status} has no body (RFC 9110 §6.4.1)`,
        path: ['status'],
      });
  })
  .transform(({ conditional: _, ...settings }) => settings)
  .meta({ description: 'Answers by itself instead of asking a backend.' });

export type DirectResponseSettings = z.output<typeof directResponseSchema>;

export const directResponseFacts = {
  schema: directResponseSchema,
  on: ['route'],
  about: 'request',
  answers: true,
  crdRules: { '': [notBoth('body', 'bodyExpression')] },
} as const satisfies PolicyFacts;
