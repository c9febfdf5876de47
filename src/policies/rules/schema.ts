import { z } from 'zod';
import type { Members } from '../../cel/index.ts';
import { addProblem, checkCondition } from '../fields/expression.ts';
import { mayHoldShownSecret } from '../../schema/index.ts';
import { methodProblem } from './methods.ts';

export type Effect = 'allow' | 'deny' | 'require';

/** A rule in the form that the rest of the program knows. */
export interface Rule {
  readonly effect: Effect;
  readonly expression: string;
  /** For the log; not needed to be unique. */
  readonly name?: string;
}

const effects = ['allow', 'deny', 'require'] as const;

const text = (description: string) => mayHoldShownSecret(z.string().meta({ description })).optional();

/** A rule as text, as `{allow|deny|require: …}` or as `{if: …, action: …}`. */
const ruleShape = z.union([
  mayHoldShownSecret(
    z.string().meta({ description: 'CEL expression; lets the caller in when it comes to true.' }),
  ),
  z.strictObject({
    if: text('CEL expression; `action` says what follows when it comes to true.'),
    allow: text('CEL expression; lets the caller in when it comes to true.'),
    deny: text('CEL expression; refuses the caller when it comes to true, and also when it fails.'),
    require: text('CEL expression; refuses the caller unless it comes to true.'),
    action: z
      .enum(effects)
      .meta({ description: 'What follows when `if` is true; `allow` where it is left out.' })
      .optional(),
    name: z
      .string()
      .min(1)
      .max(128)
      .meta({ description: 'Shown in the log when the rule decides.' })
      .optional(),
  }),
]);

const conditions = ['if', ...effects] as const;

/** Notes every reason why an expression cannot be a rule. */
function checkRule(
  expression: string,
  attributes: Members,
  ctx: z.RefinementCtx,
  path: readonly string[] = [],
): void {
  checkCondition(expression, attributes, ctx, path);
  const problem = methodProblem(expression);
  if (problem !== undefined) addProblem(ctx, path, problem, 0);
}

/** The checks stand outside the union, so that their messages are not hidden behind "no form fits". */
const ruleSchema = (attributes: Members) =>
  ruleShape.transform((value, ctx): Rule => {
    if (typeof value === 'string') {
      checkRule(value, attributes, ctx);
      return { effect: 'allow', expression: value };
    }
    const [key, ...others] = conditions.filter((name) => value[name] !== undefined);
    if (key === undefined || others.length > 0) {
      ctx.addIssue({ code: 'custom', message: 'a rule has exactly one of if, allow, deny, require' });
      return z.NEVER;
    }
    const expression = value[key] ?? '';
    checkRule(expression, attributes, ctx, [key]);
    if (key !== 'if' && value.action !== undefined)
      ctx.addIssue({ code: 'custom', message: 'action belongs to if', path: ['action'] });
    const effect = key === 'if' ? (value.action ?? 'allow') : key;
    return { effect, expression, ...(value.name === undefined ? {} : { name: value.name }) };
  });

/** `{rules: […]}`; an empty list lets everybody in. */
export const ruleSetSchema = (attributes: Members, description: string) =>
  z
    .strictObject({
      rules: z.array(ruleSchema(attributes)).max(256).meta({
        description:
          'Any true deny refuses, every require must be true, and where allow rules stand at least one must be true.',
      }),
    })
    .meta({ description });
