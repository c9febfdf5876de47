import { z } from 'zod';
import { type CelProblem } from '../../cel/index.ts';
import { mayHoldShownSecret } from '../../schema/index.ts';
import { addProblem, condition } from '../fields/expression.ts';
import { endedAttributes } from './declared.ts';
import { compileField } from './recordFields.ts';

/** A CEL condition about a request that has ended. */
export const endedCondition = (description: string) => condition(endedAttributes, description);

const isRefused = (compiled: object): compiled is CelProblem => 'message' in compiled;

/** Fields by name, each with the CEL expression that computes it when a request has ended. */
export const endedFields = (description: string) =>
  z
    .record(
      z.string().min(1).max(128),
      mayHoldShownSecret(z.string()).superRefine((source, ctx) => {
        const compiled = compileField(source);
        if (isRefused(compiled)) addProblem(ctx, [], compiled.message, compiled.offset, compiled.notBuilt);
      }),
    )
    .refine((fields) => Object.keys(fields).length <= 64, { error: 'expected at most 64 fields' })
    .describe(description);
