import { allCases } from './cases.ts';
import { runOnEngine, type Failure } from './engine.ts';
import { isAboutData, runOnGateway } from './gateway.ts';

export type Side = 'engine' | 'gateway';

/** A case on one side. */
export interface Result {
  readonly side: Side;
  readonly file: string;
  readonly id: string;
  /** The result in place of the one that the specification wants. */
  readonly failure: Failure;
}

/** Runs every case on the engine, and those about plain data as rules of the gateway. */
export function measure(): Result[] {
  return allCases().flatMap((one) => {
    const { file, id } = one;
    const engine: Result = { side: 'engine', file, id, failure: runOnEngine(one) };
    if (!isAboutData(one)) return [engine];
    return [engine, { side: 'gateway', file, id, failure: runOnGateway(one) }];
  });
}

/** Known failures of one cause. The list may only shrink. */
export interface Expected {
  readonly reason: string;
  readonly side: Side | 'both';
  readonly cases: readonly string[];
}

export interface Verdict {
  /** Failures that nobody explained. */
  readonly unexpected: readonly Result[];
  /** Explanations of failures that are no more, as `side: case`. */
  readonly stale: readonly string[];
}

/** Holds the results against the committed list. */
export function judge(results: readonly Result[], expected: readonly Expected[]): Verdict {
  const explained = new Set(
    expected.flatMap(({ side, cases }) => {
      const sides = side === 'both' ? (['engine', 'gateway'] as const) : [side];
      return cases.flatMap((id) => sides.map((one) => `${one}: ${id}`));
    }),
  );
  const failures = results.filter((result) => result.failure !== undefined);
  const failed = new Set(failures.map(({ side, id }) => `${side}: ${id}`));
  return {
    unexpected: failures.filter(({ side, id }) => !explained.has(`${side}: ${id}`)),
    stale: [...explained].filter((name) => !failed.has(name)),
  };
}

/** Cases passed and run of one side, for some files or all. */
export function score(
  results: readonly Result[],
  side: Side,
  files?: readonly string[],
): { passed: number; of: number } {
  const counted = results.filter(
    (result) => result.side === side && (files === undefined || files.includes(result.file)),
  );
  return { passed: counted.filter(({ failure }) => failure === undefined).length, of: counted.length };
}

/** The files about the language itself, without protobuf messages and extensions. */
export const core: readonly string[] = [
  ...['basic', 'comparisons', 'conversions', 'fields', 'fp_math', 'integer_math', 'lists', 'logic'],
  ...['macros', 'namespace', 'parse', 'plumbing', 'string', 'timestamps'],
];
