import type { Combination } from './combinations.ts';
import type { Results } from './suite.ts';

/** A check whose outcome differs between the sides; `absent` if a side has no such check. */
export interface Difference {
  readonly scenario: string;
  readonly check: string;
  readonly direct: string;
  readonly gateway: string;
  /** The complaint of the suite about the gateway. */
  readonly problem?: string;
}

/**
 * A known and explained difference. It is for the combinations that have all of its parts of a combination. The list
 * may only shrink.
 */
export interface ExpectedDifference extends Omit<Difference, 'problem'>, Partial<Combination> {
  readonly reason: string;
  /** The suite waits a fixed time for the response: on a quick machine the check does not differ. */
  readonly mayPass?: boolean;
}

/** Every check that came out differently, in the order of the direct run. */
export function compare(direct: Results, gateway: Results): Difference[] {
  const differences: Difference[] = [];
  for (const scenario of new Set([...direct.keys(), ...gateway.keys()])) {
    const left = direct.get(scenario);
    const right = gateway.get(scenario);
    for (const check of new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])) {
      const one = left?.get(check)?.outcome ?? 'absent';
      const { outcome: two = 'absent', problem } = right?.get(check) ?? {};
      if (one !== two)
        differences.push({
          scenario,
          check,
          direct: one,
          gateway: two,
          ...(problem !== undefined && { problem }),
        });
    }
  }
  return differences;
}

/** The entries of the list that are for a combination. */
export function entriesFor(
  list: readonly ExpectedDifference[],
  combination: Combination,
): readonly ExpectedDifference[] {
  const parts = Object.entries(combination) as [keyof Combination, unknown][];
  return list.filter((entry) => parts.every(([part, value]) => (entry[part] ?? value) === value));
}

const same = (a: Omit<Difference, 'problem'>, b: Omit<Difference, 'problem'>) =>
  a.scenario === b.scenario && a.check === b.check && a.direct === b.direct && a.gateway === b.gateway;

export interface Verdict {
  /** Differences that nobody explained. */
  readonly unexpected: readonly Difference[];
  /** Explanations of differences that are no more: they have to be removed from the list. */
  readonly stale: readonly ExpectedDifference[];
}

/** Compares the differences with the entries of the list for their combination. */
export function judge(differences: readonly Difference[], expected: readonly ExpectedDifference[]): Verdict {
  return {
    unexpected: differences.filter((difference) => !expected.some((entry) => same(entry, difference))),
    stale: expected.filter(
      (entry) => entry.mayPass !== true && !differences.some((difference) => same(entry, difference)),
    ),
  };
}

/** Counts the checks of a run with an outcome, such as `FAILURE`. */
export function count(results: Results, outcome: string): number {
  let sum = 0;
  for (const checks of results.values()) {
    for (const check of checks.values()) if (check.outcome.split('+').includes(outcome)) sum++;
  }
  return sum;
}
