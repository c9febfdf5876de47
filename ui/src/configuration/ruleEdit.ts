import { newestConfig } from '../api/configuration.ts';
import type { ConfigText, RuleInUse } from '../api/types.ts';
import { configurationPage, type Draft } from './draft.ts';
import { draftOf, keepDraft } from '../parts/drafts.ts';
import { fieldIn, type Extent, type Found } from './yamlScalar.ts';

/** The way of a rule to the page Configuration. */
export interface HandedRule {
  /** The place of the rule in the text of the page. */
  readonly select?: Extent;
  /** The reason why the page does not have the new expression. */
  readonly refusal?: string;
  /** The expression that the text does not have. */
  readonly expression?: string;
}

/**
 * Puts an expression into the draft of the page Configuration, at the place of its rule, and says which part of the
 * text to select. A draft with another edit stays as it is.
 * @param mayEdit false for a caller who may only read
 * @throws ApiError where the configuration cannot be read
 */
export async function editRule(rule: RuleInUse, expression: string, mayEdit: boolean): Promise<HandedRule> {
  const config = await newestConfig();
  const draft = draftOf<Draft>(configurationPage);
  const edit = ruleEdit(draft?.text ?? config.text, config, rule, expression, {
    mayEdit,
    isDirty: draft !== undefined,
  });
  if (edit.text !== undefined) keepDraft<Draft>(configurationPage, { base: config, text: edit.text });
  return edit.handed;
}

/** An edit of a text: the text after it where it can be done. */
interface RuleEdit {
  readonly handed: HandedRule;
  readonly text?: string;
}

/** Plans the edit of a rule in a text. @param text the text of the page, edited or not */
export function ruleEdit(
  text: string,
  { source }: Pick<ConfigText, 'source'>,
  rule: RuleInUse,
  expression: string,
  { mayEdit, isDirty }: { readonly mayEdit: boolean; readonly isDirty: boolean },
): RuleEdit {
  const found = fieldIn(text, rule.place);
  const written = found && (expressionOf(found) ?? found);
  const select = written && { from: written.from, to: written.to };
  const refused = (refusal: string): RuleEdit => ({
    handed: { ...(select && { select }), refusal, expression },
  });
  const isChanged = expression !== rule.expression;
  if (written === undefined)
    return refused(
      `The text of ${source} has no field ${rule.place}: the rule may come from another file or an alias.`,
    );
  if (!isChanged) return { handed: { ...(select && { select }) } };
  if (!mayEdit) return refused('A viewer may not edit the configuration.');
  if (isDirty) return refused('The page has an unsaved edit. Save or discard it first.');
  const { scalar, write } = written;
  if (scalar === undefined)
    return refused('The file does not write the expression of the rule as a text of its own.');
  if (!isSame(undollared(scalar), rule.expression))
    return refused('The file has another expression at this place than the rule in use.');
  const value = write(dollared(expression));
  return {
    handed: { select: { from: written.from, to: written.from + value.length } },
    text: text.slice(0, written.from) + value + text.slice(written.to),
  };
}

/** A rule is a text, or has its expression in one of these fields. */
const expressionOf = ({ fields }: Found): Found | undefined =>
  ['if', 'allow', 'deny', 'require'].flatMap((name) => fields.get(name) ?? [])[0];

/** Blocks of YAML differ in their indentation and in their line breaks. */
const isSame = (one: string, other: string): boolean =>
  one.trim().replace(/\s+/g, ' ') === other.trim().replace(/\s+/g, ' ');

/** The configuration takes `$NAME` and `${NAME}` for variables, and `$$` for a dollar. */
const dollared = (text: string): string => text.replace(/\$(?=[${A-Za-z_])/g, '$$$$');
const undollared = (text: string): string => text.replaceAll('$$', '$');
