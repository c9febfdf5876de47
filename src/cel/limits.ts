import { children, type Expr } from './ast.ts';
import { Refusal } from './declare.ts';
import { isLoop } from './forms.ts';

/** What one expression may cost. The texts come from the operator, the data from whoever sends requests. */
export const limits = {
  /** UTF-16 units of source text. */
  sourceLength: 4096,
  /** Levels of the syntax tree; keeps every recursive walk off the end of the stack. */
  depth: 96,
  /** Loops (`all`, `map`, `mapValues`, …) inside each other. */
  nesting: 3,
  /** Steps of all loops of one run together. */
  steps: 10_000,
} as const;

/** @throws Refusal when the tree is too deep */
export function checkLimits(root: Expr): void {
  const walk = (expr: Expr, depth: number, nesting: number): void => {
    if (depth > limits.depth) throw new Refusal(`nested deeper than ${limits.depth} levels`, 0);
    const inside = expr.exprKind.case === 'comprehensionExpr' || isLoop(expr) ? nesting + 1 : nesting;
    if (inside > limits.nesting)
      throw new Refusal(`more than ${limits.nesting} comprehensions inside each other`, 0);
    for (const child of children(expr)) walk(child, depth + 1, inside);
  };
  walk(root, 0, 0);
}

let left: number = limits.steps;

/** Begins a run: the steps are counted anew. */
export const refill = (): void => {
  left = limits.steps;
};

/** Counts one step of a loop; false when there are none left. */
export function takeStep(): boolean {
  left -= 1;
  return left >= 0;
}

/** Did this run want more steps than it may have? Then it failed, even if an `||` or a `default` hid that. */
export const exhausted = (): boolean => left < 0;
