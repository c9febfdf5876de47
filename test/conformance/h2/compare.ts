import type { Case } from './suite.ts';

/** Cases that are known to fail, each with its cause. The list may only shrink. */
export type Expected = Readonly<Record<string, string>>;

export interface Comparison {
  readonly passed: number;
  readonly total: number;
  /** Known failures with their causes. */
  readonly known: readonly (readonly [id: string, cause: string])[];
  readonly unexpected: readonly string[];
  /** On the list, and yet passed or not there. */
  readonly gone: readonly string[];
}

export function compare(cases: readonly Case[], expected: Expected): Comparison {
  const failed = cases.filter(({ passed }) => !passed).map(({ id }) => id);
  return {
    passed: cases.length - failed.length,
    total: cases.length,
    known: failed.flatMap((id) => {
      const cause = expected[id];
      return cause === undefined ? [] : [[id, cause] as const];
    }),
    unexpected: failed.filter((id) => expected[id] === undefined),
    gone: Object.keys(expected).filter((id) => !failed.includes(id)),
  };
}
