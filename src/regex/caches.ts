import type { RE2JS } from 're2js';
import { regexLimits } from './limits.ts';

/** The part of an expression that grows while it matches: states that were worked out once. */
export type States = ReturnType<RE2JS['re2']>['dfa'];

/** Bytes that each expression keeps. */
const kept = new Map<RE2JS, number>();
let all = 0;
/** Bytes of an instruction: expressions of past configurations count as a whole while they are known here. */
const instructionBytes = 100;

/**
 * The states of an expression, with bounds. `onGivingUp` runs where they are too many, before the expression is
 * matched the slow way.
 */
export function statesOf(expression: RE2JS, onGivingUp: () => void): States {
  const { dfa } = expression.re2();
  if (dfa.maxMem === regexLimits.cacheBytes) return dfa;
  dfa.maxMem = regexLimits.cacheBytes;
  dfa.stateBudget = regexLimits.cacheBytes;
  dfa.memBudget = regexLimits.cacheBytes;
  const match = dfa.match.bind(dfa);
  dfa.match = (input: unknown, pos: unknown, anchor: unknown): unknown => {
    const answer: unknown = match(input, pos, anchor);
    if (answer === null) onGivingUp();
    return answer;
  };
  return dfa;
}

/** Counts what the states of an expression take now. Drops the states of all where the process keeps too many. */
export function note(expression: RE2JS, states: States): void {
  const bytes = instructionBytes * expression.programSize() + states.maxMem - states.memBudget;
  const before = kept.get(expression);
  if (bytes === before) return;
  all += bytes - (before ?? 0);
  kept.set(expression, bytes);
  if (all <= regexLimits.allCachesBytes) return;
  for (const one of kept.keys()) {
    const inner = one.re2() as { lazyDFA: States | null };
    inner.lazyDFA = null;
  }
  kept.clear();
  all = 0;
}

/** Bytes that all expressions of the process keep. */
export const cachedBytes = (): number => all;
