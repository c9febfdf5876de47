export interface BackoffOptions {
  /** Pause after the first failure; it doubles with each further one. Milliseconds. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A number in [0, 1), as `Math.random` gives it. */
export type Random = () => number;

/** Milliseconds, up to half less, so that many clients do not come back all at once. */
export const jittered = (ms: number, random: Random): number => ms * (0.5 + random() / 2);

/** The pause after so many failures in a row (one or more). */
export const backoffMs = (failures: number, { firstMs, maxMs }: BackoffOptions, random: Random): number =>
  // The exponent is bounded: 2 ** 2000 is infinite, and infinity is no time to wait.
  jittered(Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30)), random);
