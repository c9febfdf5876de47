import type { Results } from './suite.ts';

/** A check whose outcome differs between the sides; `absent` if a side has no such check. */
export interface Difference {
  readonly scenario: string;
  readonly check: string;
  readonly direct: string;
  readonly gateway: string;
}

/** A difference that is known and explained. The list may only shrink. */
export interface ExpectedDifference extends Difference {
  readonly reason: string;
}

/** Every check that came out differently, in the order of the direct run. */
export function compare(direct: Results, gateway: Results): Difference[] {
  const differences: Difference[] = [];
  for (const scenario of new Set([...direct.keys(), ...gateway.keys()])) {
    const left = direct.get(scenario) ?? new Map<string, string>();
    const right = gateway.get(scenario) ?? new Map<string, string>();
    for (const check of new Set([...left.keys(), ...right.keys()])) {
      const a = left.get(check) ?? 'absent';
      const b = right.get(check) ?? 'absent';
      if (a !== b) differences.push({ scenario, check, direct: a, gateway: b });
    }
  }
  return differences;
}

const same = (a: Difference, b: Difference) =>
  a.scenario === b.scenario && a.check === b.check && a.direct === b.direct && a.gateway === b.gateway;

export interface Verdict {
  /** Differences that nobody explained. */
  readonly unexpected: readonly Difference[];
  /** Explanations of differences that are no more: they have to be removed from the list. */
  readonly stale: readonly ExpectedDifference[];
}

/** Holds the differences against the committed list. */
export function judge(differences: readonly Difference[], expected: readonly ExpectedDifference[]): Verdict {
  return {
    unexpected: differences.filter((difference) => !expected.some((entry) => same(entry, difference))),
    stale: expected.filter((entry) => !differences.some((difference) => same(entry, difference))),
  };
}

/** Counts the checks of a run with an outcome, such as `FAILURE`. */
export function count(results: Results, outcome: string): number {
  let sum = 0;
  for (const checks of results.values()) {
    for (const statuses of checks.values()) if (statuses.split('+').includes(outcome)) sum++;
  }
  return sum;
}
