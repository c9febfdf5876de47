import { errorOf } from '../errorText.ts';
import { children, type Expr } from './ast.ts';
import { Refusal } from './declare.ts';
import { isLoop } from './forms.ts';

/** The limits of an expression. The texts come from the operator, the data from whoever sends requests. */
export const limits = {
  /** UTF-16 units of source text. */
  sourceLength: 4096,
  /** Levels of the syntax tree; keeps every recursive walk off the end of the stack. */
  depth: 96,
  /** Loops (`all`, `map`, `mapValues`, …) inside each other. */
  nesting: 3,
  /** Steps of all loops of one run together. */
  steps: 10_000,
  /**
   * Units of work of all expressions of one request together. A unit is about 10 ns: a few operations of the tree, a
   * character that is looked at, an element of a list.
   */
  work: 1_000_000,
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

/** Holds what is left of the budget that all expressions of one request share. Below zero it is spent. */
export interface Meter {
  workLeft: number;
}

/** A budget for expressions that belong to no request. */
export const newMeter = (): Meter => ({ workLeft: limits.work });

/** An expression failed because its request had no work left for it. */
export class WorkSpent extends Error {
  /** Did this very expression spend the rest? Otherwise an earlier one did. */
  readonly first: boolean;

  constructor(first: boolean) {
    super(`the expressions of one request may take ${limits.work} units of work`);
    this.first = first;
  }
}

const spentNow = new WorkSpent(true);
const spentBefore = new WorkSpent(false);
/** An expression failed because its loops took too many steps. */
export const stepsSpent: Error = new Error(`more than ${limits.steps} comprehension steps`);

// Evaluation is synchronous, so one meter at a time is read.
let work = 0;
let steps = 0;

/**
 * Runs a plan on the budget of `meter`.
 * @returns what it comes to, or the Error of the limit that it ran into, even if an `||` or a `default` hid that
 */
export function metered<Context>(
  meter: Meter,
  plan: (context: Context) => unknown,
  context: Context,
): unknown {
  if (meter.workLeft < 0) return spentBefore;
  work = meter.workLeft;
  steps = limits.steps;
  try {
    const value = plan(context);
    if (work < 0) return spentNow;
    return steps < 0 ? stepsSpent : value;
  } catch (error) {
    if (work < 0) return spentNow;
    return errorOf(error);
  } finally {
    meter.workLeft = work;
  }
}

/** Takes units of work for what is done next. @throws WorkSpent where the budget has no more */
export function charge(units: number): void {
  work -= units;
  if (work < 0) throw spentNow;
}

/** Counts one step of a loop, whose body costs so many units; false when there are none left. */
export function takeStep(units: number): boolean {
  steps -= 1;
  work -= units;
  return steps >= 0 && work >= 0;
}

/** Takes units outside of an expression, for what is made for one. What is too much fails the next expression. */
export function draw(meter: Meter, units: number): void {
  meter.workLeft -= units;
}
