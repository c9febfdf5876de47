import { z } from 'zod';
import { compile, isProblem, type Members } from '../../cel/index.ts';
import { parseDuration } from '../../model/index.ts';
import { addProblem } from './expression.ts';

/** A length of time, or how it is found for each request. */
export type LengthOfTime =
  { readonly kind: 'fixed'; readonly ms: number } | { readonly kind: 'expression'; readonly source: string };

interface Expected {
  /** The values that an expression may use. */
  readonly attributes: Members;
  /** CEL types of results that say how long, beside `dyn`, of which only the run tells. */
  readonly types: readonly string[];
  /** The same in words. */
  readonly wanted: string;
  /** The reason why a fixed length cannot be; undefined where it can. */
  readonly fault?: (ms: number) => string | undefined;
  readonly description: string;
}

/** A length of time as text (`2s`), or a CEL expression. */
export const durationOrExpression = ({ attributes, types, wanted, fault, description }: Expected) =>
  z
    .string()
    .min(1)
    .transform((text, ctx): LengthOfTime => {
      const ms = parseDuration(text);
      if (ms !== undefined) {
        const message = fault?.(ms);
        if (message === undefined) return { kind: 'fixed', ms };
        ctx.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
      const program = compile(text, attributes);
      if (isProblem(program)) addProblem(ctx, [], program.message, program.offset, program.notBuilt);
      else if (![...types, 'dyn'].includes(program.type))
        addProblem(ctx, [], `expected ${wanted}; this is a ${program.type}`, 0);
      return { kind: 'expression', source: text };
    })
    .meta({ description });
