import { readFileSync } from 'node:fs';
import { compare, type Comparison } from '../h2/compare.ts';
import type { Verdict } from './judge.ts';

/** Cases that are known to come out wrong, by their reason. The list may only shrink. */
interface Reason {
  readonly reason: string;
  readonly cases: readonly string[];
}

const reasons = JSON.parse(
  readFileSync(new URL('expected-failures.json', import.meta.url), 'utf8'),
) as Reason[];

const known: Readonly<Record<string, string>> = Object.fromEntries(
  reasons.flatMap(({ reason, cases }) => cases.map((id) => [id, reason])),
);

/** A known case may be wrong, and nothing worse: no reason excuses an ambiguous message or a desync. */
const excused = ({ id, fault }: Verdict): boolean => fault === 'wrong' && known[id] !== undefined;

/** The failures that are not on the list. */
export const unexpected = (verdicts: readonly Verdict[]): readonly Verdict[] =>
  verdicts.filter((verdict) => verdict.fault !== undefined && !excused(verdict));

/** The whole comparison, where all cases were run. */
export const compareWithKnown = (verdicts: readonly Verdict[]): Comparison =>
  compare(
    verdicts.map(({ id, fault }) => ({ id, passed: fault === undefined })),
    known,
  );
