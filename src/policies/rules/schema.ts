import { z } from 'zod';
import type { Members } from '../../cel/index.ts';
import { itemAttributes } from '../attributes/declared.ts';
import { addProblem, checkCondition } from '../fields/expression.ts';
import { mayHoldShownSecret } from '../../schema/index.ts';
import { methodProblem } from './methods.ts';
import { scope, scopeHierarchy, type ScopeHierarchy } from './scopes.ts';

/** The condition of a rule that has none. */
export const always = 'true';

export type Effect = 'allow' | 'deny' | 'require';

/** A rule in the form that the rest of the program knows. */
export interface Rule {
  /** `scopes`: where the expression is true, the caller needs `scopes`. */
  readonly effect: Effect | 'scopes';
  readonly expression: string;
  /** For the log; not needed to be unique. */
  readonly name?: string;
  readonly scopes?: readonly string[];
  /** The explanation for a caller whom the rule refuses. */
  readonly message?: string;
}

/** A rule set in the form that the rest of the program knows. */
export interface RuleSetSettings {
  readonly rules: readonly Rule[];
  /** `explained`: a caller learns that a rule refuses the use of an item. */
  readonly refusal?: 'hidden' | 'explained' | undefined;
  /** The scopes that a scope includes. */
  readonly scopes?: ScopeHierarchy | undefined;
}

const effects = ['allow', 'deny', 'require'] as const;

const text = (description: string) => mayHoldShownSecret(z.string().meta({ description })).optional();

const asText = mayHoldShownSecret(
  z.string().meta({ description: 'CEL expression; lets the caller in when it comes to true.' }),
);

const members = {
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
};

/** A rule as text, as `{allow|deny|require: …}` or as `{if: …, action: …}`. */
const ruleShape = z.union([asText, z.strictObject(members)]);

const mcpRuleShape = z.union([
  asText,
  z.strictObject({
    ...members,
    requireScopes: z
      .array(scope)
      .min(1)
      .max(32)
      .meta({
        description:
          'Scopes that the caller needs where `if` is true, or everywhere without `if`. A caller that lacks them gets 403 with the scopes.',
      })
      .optional(),
    message: z
      .string()
      .min(1)
      .max(512)
      .meta({ description: 'Shown to a caller whom the rule refuses; needs `refusal: explained`.' })
      .optional(),
  }),
]);

/** A rule as it is written in either form. */
interface WrittenRule extends Partial<Record<'if' | Effect, string | undefined>> {
  readonly action?: Effect | undefined;
  readonly name?: string | undefined;
  readonly requireScopes?: readonly string[] | undefined;
  readonly message?: string | undefined;
}

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

/** The first reason why an expression cannot be that of a rule; undefined if it can. */
export const ruleProblem = (expression: string, attributes: Members): string | undefined =>
  z
    .string()
    .superRefine((text, ctx) => checkRule(text, attributes, ctx))
    .safeParse(expression).error?.issues[0]?.message;

/** The checks stand outside the union, so that their messages are not hidden behind "no form fits". */
const readRule =
  (attributes: Members) =>
  (value: string | WrittenRule, ctx: z.RefinementCtx): Rule => {
    if (typeof value === 'string') {
      checkRule(value, attributes, ctx);
      return { effect: 'allow', expression: value };
    }
    const { requireScopes, name, message } = value;
    const more = {
      ...(name === undefined ? {} : { name }),
      ...(message === undefined ? {} : { message }),
    };
    const [key, ...others] = conditions.filter((one) => value[one] !== undefined);
    if (requireScopes !== undefined) {
      const wrong = [key, ...others, value.action && 'action', message && 'message'].find(
        (one) => one !== undefined && one !== '' && one !== 'if',
      );
      if (wrong !== undefined) {
        const why = `requireScopes stands alone or beside if, not beside ${wrong}`;
        ctx.addIssue({ code: 'custom', message: why, path: [wrong] });
        return z.NEVER;
      }
      if (value.if !== undefined) checkRule(value.if, attributes, ctx, ['if']);
      return { effect: 'scopes', expression: value.if ?? always, scopes: requireScopes, ...more };
    }
    if (key === undefined || others.length > 0) {
      ctx.addIssue({ code: 'custom', message: 'a rule has exactly one of if, allow, deny, require' });
      return z.NEVER;
    }
    const expression = value[key] ?? '';
    checkRule(expression, attributes, ctx, [key]);
    if (key !== 'if' && value.action !== undefined)
      ctx.addIssue({ code: 'custom', message: 'action belongs to if', path: ['action'] });
    const effect = key === 'if' ? (value.action ?? 'allow') : key;
    return { effect, expression, ...more };
  };

const rulesMeta = {
  description:
    'Any true deny refuses, every require must be true, and where allow rules stand at least one must be true.',
};

/** `{rules: […]}`; an empty list lets everybody in. */
export const ruleSetSchema = (attributes: Members, description: string) =>
  z
    .strictObject({
      rules: z
        .array(ruleShape.transform(readRule(attributes)))
        .max(256)
        .meta(rulesMeta),
    })
    .meta({ description });

/** The same for rules about MCP. */
export const mcpRuleSetSchema = (description: string) =>
  z
    .strictObject({
      rules: z
        .array(mcpRuleShape.transform(readRule(itemAttributes)))
        .max(256)
        .meta(rulesMeta),
      refusal: z
        .enum(['hidden', 'explained'])
        .meta({
          description:
            'The answer to a refused call: hidden (the default) like that for an unknown item, or explained by an error of its own.',
        })
        .optional(),
      scopes: scopeHierarchy.optional(),
    })
    .superRefine(({ rules, refusal }, ctx) => {
      if (refusal === 'explained') return;
      rules.forEach((rule, index) => {
        if (rule?.message === undefined) return;
        const path = ['rules', index, 'message'];
        ctx.addIssue({ code: 'custom', message: 'message needs refusal: explained', path });
      });
    })
    .meta({ description });
