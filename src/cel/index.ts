export { compile, isProblem, type CelContext, type Program } from './compile.ts';
export type { CelProblem, Declared, Members, ValueType } from './declare.ts';
export { celDuration, durationMs, fromCel, toCel } from './values.ts';
