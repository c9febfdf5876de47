import { children, type Expr } from './ast.ts';
import { Refusal } from './declare.ts';

/** What one expression may cost. The texts come from the operator, the data from whoever sends requests. */
export const limits = {
  /** UTF-16 units of source text. */
  sourceLength: 4096,
  /** Levels of the syntax tree; keeps every recursive walk off the end of the stack. */
  depth: 96,
  /** Comprehensions (`all`, `map`, …) inside each other. */
  nesting: 3,
  /** Steps of all comprehensions of one run together. */
  steps: 10_000,
} as const;

/** @throws Refusal when the tree is too deep */
export function checkLimits(root: Expr): void {
  const walk = (expr: Expr, depth: number, nesting: number): void => {
    if (depth > limits.depth) throw new Refusal(`nested deeper than ${limits.depth} levels`, 0);
    const inside = expr.exprKind.case === 'comprehensionExpr' ? nesting + 1 : nesting;
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

/** Called once for each step of each comprehension; every later call of the run fails too, so `||` cannot hide it. */
export function step(condition: boolean): boolean {
  if (left <= 0) throw new Error(`more than ${limits.steps} comprehension steps`);
  left -= 1;
  return condition;
}
