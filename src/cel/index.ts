export { compile, isProblem, type CelContext, type Program } from './compile.ts';
export type { CelProblem, Declared, Members, ValueType } from './declare.ts';
export { fromCel, toCel } from './values.ts';
