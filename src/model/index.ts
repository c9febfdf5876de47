export type * from './model.ts';
export { defaults } from './defaults.ts';
