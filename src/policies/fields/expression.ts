import { z } from 'zod';
import { compile, isProblem, type Members, type Program } from '../../cel/index.ts';
import { mayHoldShownSecret } from '../../schema/index.ts';

/** A CEL expression of any type, checked against the attributes it may use. */
export const expression = (attributes: Members, description: string) =>
  mayHoldShownSecret(z.string())
    .superRefine((source, ctx) => {
      checkExpression(source, attributes, ctx, []);
    })
    .meta({ description });

/** A CEL expression that can come to `true`. */
export const condition = (attributes: Members, description: string) =>
  mayHoldShownSecret(z.string())
    .superRefine((source, ctx) => {
      checkCondition(source, attributes, ctx);
    })
    .meta({ description });

/** A CEL expression that can come to a text. */
export const textExpression = (attributes: Members, description: string) =>
  mayHoldShownSecret(z.string())
    .superRefine((source, ctx) => {
      const program = checkExpression(source, attributes, ctx, []);
      if (program !== undefined && !['string', 'bytes', 'dyn'].includes(program.type))
        addProblem(ctx, [], `expected a string or bytes; this is a ${program.type}`, 0);
    })
    .meta({ description });

/** Notes every reason why `source` cannot be a rule: it must be able to come to `true`. */
export function checkCondition(
  source: string,
  attributes: Members,
  ctx: z.RefinementCtx,
  path: readonly string[] = [],
): void {
  const program = checkExpression(source, attributes, ctx, path);
  if (program === undefined) return;
  if (program.type !== 'bool' && program.type !== 'dyn')
    addProblem(ctx, path, `a rule must come to true or false; this is a ${program.type}`, 0);
  else if (!program.canBeTrue) addProblem(ctx, path, 'the rule can never be true', 0);
}

function checkExpression(
  source: string,
  attributes: Members,
  ctx: z.RefinementCtx,
  path: readonly string[],
): Program | undefined {
  const program = compile(source, attributes);
  if (!isProblem(program)) return program;
  addProblem(ctx, path, program.message, program.offset, program.notBuilt);
  return undefined;
}

/** `offset` counts from the start of the expression's text. */
export function addProblem(
  ctx: z.RefinementCtx,
  path: readonly string[],
  message: string,
  offset: number,
  notBuilt = false,
): void {
  const params = { offset, ...(notBuilt ? { notBuilt } : {}) };
  ctx.addIssue({ code: 'custom', message, path: [...path], params });
}
