export { comparedTexts } from './compared.ts';
export { compile, isProblem, type CelContext, type Program } from './compile.ts';
export { draw, limits as celLimits, newMeter, WorkSpent, type Meter } from './limits.ts';
export type { CelProblem, Declared, Members, ValueType } from './declare.ts';
export { celDuration, celNumber, durationMs, fromCel, toCel } from './values.ts';
