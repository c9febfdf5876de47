import { dottedName, stringConstant, type Expr } from './ast.ts';
import type { Declared } from './declare.ts';

/** The facts about an expression that are known before it runs. */
export interface Fact {
  /** Name of a CEL type; `dyn` where only the run decides. */
  readonly type: string;
  readonly declared?: Declared;
  /** Dotted name of a declared variable or member. */
  readonly path?: string;
  /** Stands for a variable that a form bound, not for the declared one itself. */
  readonly bound?: boolean;
  /** Uses no variable, so it was evaluated already. */
  readonly constant: boolean;
  readonly canBeTrue: boolean;
  readonly canBeFalse: boolean;
  /** Types of the elements of a list literal. */
  readonly elements?: readonly string[];
}

interface Connective {
  /** Must the argument at this place be bool? */
  readonly bools: (index: number) => boolean;
  readonly fact: (args: readonly Fact[]) => Partial<Fact>;
}

/** Operators whose arguments decide what the whole can come to. */
export const connectives: ReadonlyMap<string, Connective> = new Map(
  Object.entries<Connective>({
    '_&&_': {
      bools: () => true,
      fact: (args) => ({
        type: 'bool',
        canBeTrue: args.every((arg) => arg.canBeTrue),
        canBeFalse: args.some((arg) => arg.canBeFalse),
      }),
    },
    '_||_': {
      bools: () => true,
      fact: (args) => ({
        type: 'bool',
        canBeTrue: args.some((arg) => arg.canBeTrue),
        canBeFalse: args.every((arg) => arg.canBeFalse),
      }),
    },
    '!_': {
      bools: () => true,
      fact: ([arg]) => ({
        type: 'bool',
        canBeTrue: arg?.canBeFalse ?? true,
        canBeFalse: arg?.canBeTrue ?? true,
      }),
    },
    '_?_:_': {
      bools: (index) => index === 0,
      fact: ([condition, yes, no]) => ({
        type: yes !== undefined && yes.type === no?.type ? yes.type : 'dyn',
        canBeTrue: Boolean(
          (condition?.canBeTrue && yes?.canBeTrue) || (condition?.canBeFalse && no?.canBeTrue),
        ),
        canBeFalse: Boolean(
          (condition?.canBeTrue && yes?.canBeFalse) || (condition?.canBeFalse && no?.canBeFalse),
        ),
      }),
    },
    '@not_strictly_false': { bools: () => false, fact: () => ({ type: 'bool' }) },
  }),
);

/** Does the conjunction demand two different constants of the same name (`a == "x" && a == "y"`)? */
export function contradicts(expr: Expr): boolean {
  const demanded = new Map<string, string>();
  const visit = (part: Expr): boolean => {
    if (part.exprKind.case !== 'callExpr') return false;
    const { function: name, args } = part.exprKind.value;
    if (name === '_&&_') return args.some(visit);
    if (name !== '_==_') return false;
    const [left, right] = args;
    for (const [side, other] of [
      [left, right],
      [right, left],
    ]) {
      const path = side && dottedName(side);
      const constant = stringConstant(other);
      if (path === undefined || constant === undefined) continue;
      if (demanded.has(path) && demanded.get(path) !== constant) return true;
      demanded.set(path, constant);
    }
    return false;
  };
  return visit(expr);
}
