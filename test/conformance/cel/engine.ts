import { celEnv, isCelError, parse, plan, type CelInput, type CelValue } from '@bufbuild/cel';
import { functions } from '../../../src/cel/functions.ts';
import { registry, type Case } from './cases.ts';
import { matches, show, toInput } from './values.ts';

/** Undefined where the case passes, otherwise what came out instead. */
export type Failure = string | undefined;

/** Runs a case on the library with the functions of this program: the language itself, protobuf messages included. */
export function runOnEngine({ test }: Case): Failure {
  let result: CelValue | Error;
  try {
    const env = celEnv({ namespace: test.container, registry, funcs: [...functions] });
    const value = plan(env, parse(test.expr))(bindings(test.bindings));
    result = isCelError(value) ? new Error(value.message) : value;
  } catch (error) {
    result = error instanceof Error ? error : new Error(String(error));
  }
  return verdict(test, result);
}

/** Holds a result against what the case wants. */
export function verdict(test: Case['test'], result: CelValue | Error): Failure {
  const { resultMatcher } = test;
  switch (resultMatcher.case) {
    case 'evalError':
    case 'anyEvalErrors':
      return result instanceof Error ? undefined : `${show(result)} instead of an error`;
    case 'value':
      return compared(resultMatcher.value, result);
    case 'typedResult': {
      const wanted = resultMatcher.value.result;
      if (wanted !== undefined) return compared(wanted, result);
      return result instanceof Error ? result.message : undefined;
    }
    case undefined:
      // The data leaves the matcher out where the result is true.
      return result === true ? undefined : shown(result);
    default:
      return `the matcher ${resultMatcher.case} is unknown`;
  }
}

type Wanted = Parameters<typeof matches>[0];

const compared = (wanted: Wanted, result: CelValue | Error): Failure =>
  !(result instanceof Error) && matches(wanted, result) ? undefined : shown(result);

const shown = (result: CelValue | Error): string =>
  result instanceof Error ? `error: ${result.message}` : show(result);

export function bindings(given: Case['test']['bindings']): Record<string, CelInput> {
  return Object.fromEntries(
    Object.entries(given).map(([name, { kind }]) => {
      if (kind.case !== 'value') throw new Error('a test binds something other than a value');
      return [name, toInput(kind.value)];
    }),
  );
}
