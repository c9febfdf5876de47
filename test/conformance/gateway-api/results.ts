import { readFileSync } from 'node:fs';
import type { Case } from '../h2/suite.ts';
import { compare, type Comparison } from '../h2/compare.ts';

/** Tests that are known to fail, by their reason. The list may only shrink. */
interface Reason {
  readonly reason: string;
  readonly tests: readonly string[];
}

const reasons = JSON.parse(
  readFileSync(new URL('expected-failures.json', import.meta.url), 'utf8'),
) as Reason[];

const known: Readonly<Record<string, string>> = Object.fromEntries(
  reasons.flatMap(({ reason, tests }) => tests.map((test) => [test, reason])),
);

/** The tests that were run, by what the suite prints: those that it skips are of features that nobody claims. */
export const readResults = (output: string): readonly Case[] =>
  [...output.matchAll(/^ {4}--- (PASS|FAIL): TestGatewayAPI\/(\S+) \(/gm)].map(([, result, id = '']) => ({
    id,
    passed: result === 'PASS',
  }));

/** @param whole every test was to be run, so that one of the list that was not is out of date */
export function compareWithKnown(results: readonly Case[], whole: boolean): Comparison {
  const comparison = compare(results, known);
  const ran = new Set(results.map(({ id }) => id));
  return whole ? comparison : { ...comparison, gone: comparison.gone.filter((id) => ran.has(id)) };
}
