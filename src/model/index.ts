export type * from './model.ts';
export { defaults } from './defaults.ts';
export { formatDuration, maxDurationMs, parseDuration } from './duration.ts';
export {
  compareHostnames,
  compareRules,
  hostnameMatches,
  reachableHostnames,
  sortedRules,
  type Rule,
} from './precedence.ts';
