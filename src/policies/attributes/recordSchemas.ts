import { z } from 'zod';
import { compile, type CelProblem } from '../../cel/index.ts';
import { mayHoldShownSecret } from '../../schema/index.ts';
import { addProblem, condition } from '../fields/expression.ts';
import { endedAttributes, samplingAttributes } from './declared.ts';
import { jsonOf } from './endedRequest.ts';
import { expressionWork } from './evaluate.ts';
import { compileField } from './recordFields.ts';
import { shareOf } from './sampling.ts';

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

/** An expression that is evaluated once: it reads no attribute, and comes to a text, a number, true or false. */
export const constant = (description: string) =>
  mayHoldShownSecret(z.string())
    .transform((source, ctx) => {
      const program = compile(source, {});
      if (isRefused(program)) {
        addProblem(ctx, [], program.message, program.offset, program.notBuilt);
        return z.NEVER;
      }
      const value = jsonOf(program.run({}, { workLeft: expressionWork }));
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
      addProblem(ctx, [], 'expected an expression that comes to a text, a number, true or false', 0);
      return z.NEVER;
    })
    .describe(description);

/** A share from 0 to 1, true, false, or a CEL expression that comes to one of them when a request begins. */
export const samplingSetting = (description: string) =>
  z
    .union([z.boolean(), z.number().min(0).max(1), mayHoldShownSecret(z.string())])
    .superRefine((setting, ctx) => {
      if (typeof setting !== 'string') return;
      const share = shareOf(setting);
      if (share !== undefined) {
        if (share > 1) addProblem(ctx, [], 'expected a share from 0 to 1', 0);
        return;
      }
      const compiled = compile(setting, samplingAttributes);
      if (isRefused(compiled)) addProblem(ctx, [], compiled.message, compiled.offset, compiled.notBuilt);
      else if (!['bool', 'int', 'uint', 'double', 'dyn'].includes(compiled.type))
        addProblem(ctx, [], `expected a number, true or false; this is a ${compiled.type}`, 0);
    })
    .describe(description);
