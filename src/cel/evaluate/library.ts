import { celEnv, celFunc, CelScalar, isCelError, plan, type CelEnv, type CelValue } from '@bufbuild/cel';
import type { Expr } from '../ast.ts';
import { Failure, NoSuchKey } from '../failure.ts';
import { functions } from '../functions.ts';
import { charge } from '../limits.ts';
import { costOf } from './costs.ts';
import { toLibrary } from './values.ts';

/** The work to do inside the library, and what it came to. */
let work: (() => unknown) | undefined;
let outcome: unknown;

/** The one environment: functions are the same for every expression. */
export const environment: CelEnv = celEnv({
  funcs: [
    ...functions,
    celFunc('@work', [], CelScalar.BOOL, () => {
      outcome = work?.();
      return true;
    }),
  ],
});

const entry = plan(environment, {
  $typeName: 'cel.expr.Expr',
  id: 1n,
  exprKind: {
    case: 'callExpr',
    value: { $typeName: 'cel.expr.Expr.Call', function: '@work', args: [] },
  },
});

/**
 * Runs `task` where the library believes itself in an evaluation: its functions about times look for their types there.
 * @throws what `task` throws
 */
export function insideLibrary(task: () => unknown): unknown {
  work = task;
  try {
    const done = entry();
    if (isCelError(done)) throw done;
    return outcome;
  } finally {
    work = undefined;
    outcome = undefined;
  }
}

/** The type that a name means when it is no variable. */
export function typeNamed(expr: Expr): unknown {
  const value = plan(environment, expr)();
  return isCelError(value) ? new Failure(value.message) : value;
}

/** Functions that read a value of their own type from a text. */
const conversions: ReadonlySet<string> = new Set(['int', 'uint', 'double', 'bool', 'duration', 'timestamp']);

/** Finding the overload that fits, and calling it. */
const callUnits = 40;

/** A function of the library or of `functions.ts`, with all its overloads. */
export type Called = (target: unknown, args: readonly unknown[]) => unknown;

export function functionNamed(name: string): Called {
  const group = environment.funcs.find(name);
  if (group === undefined) return () => new Failure(`unbound function: ${name}`);
  const cost = costOf(name);
  const isConversion = conversions.has(name);
  return (target, args) => {
    const on = target === undefined ? undefined : toLibrary(target);
    const given = args.map(toLibrary);
    charge(callUnits + cost(on, given));
    const result = group.call(0, on, given);
    if (result === undefined) return new Failure(`found no matching overload for '${name}'`);
    if (isCelError(result)) {
      // The library's message holds the text, which may be a secret of the request.
      if (isConversion && typeof given[0] === 'string') return new Failure(`the text is no ${name}`);
      return new Failure(result.message, result.cause instanceof NoSuchKey ? 'key' : undefined);
    }
    return result satisfies CelValue;
  };
}

const equal = functionNamed('_==_');

/** Equality of bytes, types, times. */
export const sameRest = (a: unknown, b: unknown): boolean => equal(undefined, [a, b]) === true;
