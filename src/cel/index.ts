export { comparedTexts, membersRead, namesIn } from './compared.ts';
export { compile, isProblem, unknownValue, type CelContext, type Program } from './compile.ts';
export { membersToBeTrue } from './memberChoice.ts';
export { draw, limits as celLimits, newMeter, stepsSpent, WorkSpent, type Meter } from './limits.ts';
export type { CelProblem, Declared, Members, ValueType } from './declare.ts';
export { celDuration, celNumber, durationMs, fromCel, scalarText, timeText, toCel } from './values.ts';
export { wordsFor, type ExpressionWords } from './words.ts';
