/** The rules of the configuration in use. */

export interface RuleInUse {
  /** Field path of the rule. */
  readonly id: string;
  readonly label: string;
  readonly expression: string;
}

interface Written {
  readonly effect?: unknown;
  readonly expression?: unknown;
  readonly name?: unknown;
}

/** Finds all rules in the model: members `rules` of the settings of policies, with effect and expression. */
export function rulesInUse(effective: unknown): readonly RuleInUse[] {
  const found: RuleInUse[] = [];
  const read = (node: unknown, place: string, policy: string, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    const { place: own, name, settings } = node as Readonly<Record<string, unknown>>;
    const at = placePath(own) ?? place;
    const isPolicy = typeof name === 'string' && typeof settings === 'object';
    const [inside, from] = isPolicy ? [name, ''] : [policy, path];
    for (const [member, value] of Object.entries(node)) {
      const below =
        member === 'settings' || placePath(own) !== undefined ? from : `${from}${step(node, member)}`;
      if (member === 'rules' && Array.isArray(value))
        found.push(
          ...value.flatMap((rule: Written, index) => ruleOf(rule, inside, `${at}${from}.rules[${index}]`)),
        );
      else read(value, at, inside, below);
    }
  };
  read(effective, '', '', '');
  return found;
}

const step = (node: object, member: string): string => (Array.isArray(node) ? `[${member}]` : `.${member}`);

function placePath(place: unknown): string | undefined {
  const { path } = Object(place) as { readonly path?: unknown };
  return typeof path === 'string' ? path : undefined;
}

function ruleOf({ effect, expression, name }: Written, policy: string, id: string): readonly RuleInUse[] {
  if (typeof effect !== 'string' || typeof expression !== 'string') return [];
  const title = typeof name === 'string' ? name : expression.slice(0, 60);
  return [{ id, label: `${policy}: ${effect} ${title}`, expression }];
}
