import { parse, type CelInput } from '@bufbuild/cel';
import { Analysis } from './analyse.ts';
import { Refusal, type CelProblem, type Members } from './declare.ts';
import { planned } from './evaluate/plan.ts';
import { Failure, unknown } from './failure.ts';
import { checkLimits, limits, metered, type Meter } from './limits.ts';
import { lowerHeaderNames } from './rewrite.ts';

/** A checked expression, ready to run any number of times. */
export interface Program {
  readonly source: string;
  /** Dotted names of the declared variables it reads, such as `jwt` or `mcp.tool.name`. */
  readonly variables: readonly string[];
  /** Declared objects that it uses as values of their own, such as `request` in `size(request)`. */
  readonly wholes: readonly string[];
  /** Does it read `name` or a member of it? */
  uses(name: string): boolean;
  /** Name of the result's CEL type; `dyn` where only the run decides. */
  readonly type: string;
  /** False when no data whatsoever can make it `true`. */
  readonly canBeTrue: boolean;
  /** Comes to something else each time (`random`, `uuid`), whatever the context. */
  readonly isVolatile: boolean;
  /**
   * Evaluates it. `context` holds each declared top-level name; leave out those that have no value now. The work is
   * taken from `meter`, which all expressions of one request share.
   * Never throws: a failed evaluation (missing member, wrong type, too many steps) returns an Error, and a `WorkSpent`
   * where the meter has no work left. Returns `unknownValue` where the result depends on an unknown value of the context.
   */
  run(context: CelContext, meter: Meter): unknown;
}

/** In place of a value of the context that is not known yet. As a result it is neither a value nor an Error. */
export const unknownValue: CelInput = unknown as unknown as CelInput;

/** Values by top-level name, made with `toCel` or as Maps, strings, bigints and booleans. */
export type CelContext = Readonly<Record<string, CelInput>>;

/** Was the source refused? */
export const isProblem = (result: Program | CelProblem): result is CelProblem => 'offset' in result;

/** Parses and checks `source` against the declared variables; meant for load time (about 60 µs). */
export function compile(source: string, variables: Members): Program | CelProblem {
  try {
    return compiled(source, variables);
  } catch (error) {
    return asProblem(error);
  }
}

function compiled(source: string, variables: Members): Program {
  if (source.length > limits.sourceLength)
    throw new Refusal(`longer than ${limits.sourceLength} characters`, limits.sourceLength);
  if (source.trim() === '') throw new Refusal('the expression is empty', 0);
  const parsed = parse(source);
  checkLimits(parsed.expr);
  const analysis = new Analysis(parsed, variables);
  const fact = analysis.fact(parsed.expr, new Map());
  lowerHeaderNames(parsed.expr, analysis.headers);
  const run = planned(parsed.expr);
  const used = [...analysis.used].sort();
  return {
    source,
    variables: used,
    wholes: analysis.wholes,
    uses: (name) => used.some((path) => path === name || path.startsWith(`${name}.`)),
    type: fact.type,
    isVolatile: analysis.isVolatile,
    canBeTrue: fact.canBeTrue && (fact.type === 'bool' || fact.type === 'dyn'),
    run(context, meter) {
      const value = metered(meter, run, context);
      return value instanceof Failure && value !== unknown ? value.error : value;
    },
  };
}

function asProblem(error: unknown): CelProblem {
  if (error instanceof Refusal)
    return { message: error.message, offset: error.offset, notBuilt: error.notBuilt };
  if (error instanceof RangeError) return { message: 'nested too deeply', offset: 0, notBuilt: false };
  const { rawMessage, message, location } = error as {
    rawMessage?: string;
    message: string;
    location?: { start: { offset: number } };
  };
  return {
    message: `syntax error: ${rawMessage ?? message}`,
    offset: location?.start.offset ?? 0,
    notBuilt: false,
  };
}
