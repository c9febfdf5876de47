import { Failure } from '../failure.ts';

/** The state of a run. */
export interface Frame {
  /** Values by top-level name. */
  readonly context: Readonly<Record<string, unknown>>;
  /** Variables of loops and bindings; each has its place since planning. */
  readonly slots: unknown[];
}

/**
 * A planned expression. Comes to a value or a `Failure`, and throws only what `Program.run` catches. Maps and lists are
 * those of JavaScript where they come from the context, those of the library where a function made them.
 */
export type Step = (frame: Frame) => unknown;

export const isFailure = (value: unknown): value is Failure => value instanceof Failure;
