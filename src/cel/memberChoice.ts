import { parse } from '@bufbuild/cel';
import { children, type Expr } from './ast.ts';
import { pathOf } from './compared.ts';
import { formOf } from './forms.ts';

/**
 * An object of which exactly one of some members has a value: the members with which an expression can be true.
 * `mcp.tool.name == "a" && mcp.prompt.name == "b"` needs two of them, so it has none. Meant for load time. Parts that
 * are not understood can be true with each member, and so can an expression that cannot be parsed.
 */
export function membersToBeTrue(
  source: string,
  object: string,
  members: readonly string[],
): ReadonlySet<string> {
  const all: ReadonlySet<string> = new Set(members);
  try {
    return new MemberChoice(object, all).of(parse(source).expr).whenTrue;
  } catch {
    return all;
  }
}

/** The members with which a part can be true, and those with which it can be false. */
interface Choice {
  readonly whenTrue: ReadonlySet<string>;
  readonly whenFalse: ReadonlySet<string>;
}

class MemberChoice {
  private readonly object: string;
  private readonly all: ReadonlySet<string>;

  constructor(object: string, all: ReadonlySet<string>) {
    this.object = object;
    this.all = all;
  }

  of(expr: Expr): Choice {
    const node = expr.exprKind;
    if (node.case === 'callExpr') {
      const { function: name, args } = node.value;
      const connective = connectives[name];
      if (connective !== undefined) return connective(args.map((arg) => this.of(arg)));
    }
    const asked = this.presence(expr);
    if (asked !== undefined)
      return {
        whenTrue: new Set([asked]),
        whenFalse: new Set([...this.all].filter((member) => member !== asked)),
      };
    const needed = this.needed(expr);
    return { whenTrue: needed, whenFalse: needed };
  }

  /** The member that `has(object.member)` asks about. */
  private presence({ exprKind }: Expr): string | undefined {
    if (exprKind.case !== 'selectExpr' || !exprKind.value.testOnly) return undefined;
    const { operand, field } = exprKind.value;
    return operand !== undefined && pathOf(operand) === this.object && this.all.has(field)
      ? field
      : undefined;
  }

  /** Reading a member that has no value fails, and so does the whole, unless a part of it can do without. */
  private needed(expr: Expr): ReadonlySet<string> {
    const read = this.memberOf(expr);
    if (read !== undefined) return new Set([read]);
    const { exprKind: node } = expr;
    // The range of a loop is always evaluated; its body may never be.
    if (node.case === 'comprehensionExpr')
      return node.value.iterRange === undefined ? this.all : this.needed(node.value.iterRange);
    if (isLenient(expr)) return this.all;
    let needed = this.all;
    for (const child of children(expr)) needed = shared([needed, this.needed(child)]);
    return needed;
  }

  private memberOf(expr: Expr): string | undefined {
    const path = pathOf(expr);
    if (path?.startsWith(`${this.object}.`) !== true) return undefined;
    const [member = ''] = path.slice(this.object.length + 1).split('.');
    return this.all.has(member) ? member : undefined;
  }
}

const union = (sets: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  new Set(sets.flatMap((set) => [...set]));
const shared = (sets: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  sets.reduce((all, set) => new Set([...all].filter((member) => set.has(member))));
const trues = (choices: readonly Choice[]): ReadonlySet<string>[] => choices.map((one) => one.whenTrue);
const falses = (choices: readonly Choice[]): ReadonlySet<string>[] => choices.map((one) => one.whenFalse);

/** A part that fails decides nothing where another part does. */
const connectives: Readonly<Record<string, ((args: readonly Choice[]) => Choice) | undefined>> = {
  '_&&_': (args) => ({ whenTrue: shared(trues(args)), whenFalse: union(falses(args)) }),
  '_||_': (args) => ({ whenTrue: union(trues(args)), whenFalse: shared(falses(args)) }),
  '!_': (args) => ({ whenTrue: union(falses(args)), whenFalse: union(trues(args)) }),
};

/** Can the part have a value although a part of it fails? Forms and conditions evaluate only some of their parts. */
function isLenient(expr: Expr): boolean {
  const node = expr.exprKind;
  if (formOf(expr) !== undefined) return true;
  if (node.case === 'selectExpr') return node.value.testOnly;
  return (
    node.case === 'callExpr' && ['_?_:_', '_&&_', '_||_', '@not_strictly_false'].includes(node.value.function)
  );
}
