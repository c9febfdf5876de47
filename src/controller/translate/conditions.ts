import type { Condition } from '../types/index.ts';

/** A problem, as a condition reports it. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export const problem = (reason: string, message: string): Problem => ({ reason, message });

/** A condition without what follows from when and where it is written. */
export type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** True, or false for the reason given. */
export const verdict = (type: string, why: Problem | undefined, reason = type, message = ''): Verdict =>
  why === undefined ? { type, status: 'True', reason, message } : { type, status: 'False', ...why };

/** The writer, the subject and the time of conditions. */
export interface Stamp {
  readonly now: string;
  readonly generation: number | undefined;
}

/** As long as the API takes it. */
const MESSAGE_MOST = 32_768;

/**
 * Conditions as they ought to be: types that are not ours stay as they are, and so does the time of those that say the
 * same as before (`meta/v1.Condition`, "lastTransitionTime"). What was written about a later generation than ours is
 * from somebody who knows more, and stays.
 *
 * @param before those that are there
 * @param optional types of ours that go away where `after` does not have them
 */
export function mergeConditions(
  before: readonly Condition[] | undefined,
  after: readonly Verdict[],
  stamp: Stamp,
  optional: readonly string[] = [],
): readonly Condition[] {
  const wanted = new Map(after.map((condition) => [condition.type, condition]));
  const merged: Condition[] = [];
  for (const old of before ?? []) {
    const next = wanted.get(old.type);
    wanted.delete(old.type);
    if (next !== undefined) merged.push(written(old, next, stamp));
    else if (!optional.includes(old.type)) merged.push(old);
  }
  for (const next of wanted.values()) merged.push(written(undefined, next, stamp));
  return merged;
}

function written(old: Condition | undefined, next: Verdict, { now, generation }: Stamp): Condition {
  if ((old?.observedGeneration ?? 0) > (generation ?? Number.POSITIVE_INFINITY)) return old as Condition;
  return {
    type: next.type,
    status: next.status,
    reason: next.reason,
    message: next.message.slice(0, MESSAGE_MOST),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    lastTransitionTime: old?.status === next.status ? old.lastTransitionTime : now,
  };
}

/**
 * Entries of several controllers with ours as they ought to be, each where one of ours stood before and the rest at the
 * end: an order that two controllers differ about would have them write for ever.
 * @param most entries that the API takes; those of others are never left out for ours
 */
export function withOwnEntries<Entry extends { readonly controllerName: string }>(
  before: readonly Entry[],
  own: readonly Entry[],
  controllerName: string,
  most: number,
): readonly Entry[] {
  const others = before.filter((entry) => entry.controllerName !== controllerName);
  const rest = own.slice(0, Math.max(0, most - others.length));
  const placed = before.flatMap((entry) =>
    entry.controllerName === controllerName ? rest.splice(0, 1) : [entry],
  );
  return [...placed, ...rest];
}

/** Do both say the same, whatever the order of their fields? */
export function sameData(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a).filter((key) => (a as Fields)[key] !== undefined);
  const others = Object.keys(b).filter((key) => (b as Fields)[key] !== undefined);
  return (
    keys.length === others.length && keys.every((key) => sameData((a as Fields)[key], (b as Fields)[key]))
  );
}

type Fields = Record<string, unknown>;
