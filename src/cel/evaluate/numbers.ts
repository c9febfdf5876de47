import { isCelUint, type CelUint } from '@bufbuild/cel';

export type Numeric = bigint | number | CelUint;

export const isNumber = (value: unknown): value is Numeric =>
  typeof value === 'bigint' || typeof value === 'number' || isCelUint(value);

/** The largest or smallest of numbers of any type; undefined where there is none, or one is not a number. */
export function extreme(values: readonly unknown[], largest: boolean): Numeric | undefined {
  let best: Numeric | undefined;
  for (const value of values) {
    if (!isNumber(value)) return undefined;
    // JavaScript compares bigint with number by value.
    const candidate = isCelUint(value) ? value.value : value;
    const known = isCelUint(best) ? best.value : best;
    if (known === undefined || (largest ? candidate > known : candidate < known)) best = value;
  }
  return best;
}
