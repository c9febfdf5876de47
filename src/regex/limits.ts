/**
 * Limits of regular expressions. RE2 takes time in proportion to the text, but the factor is the size of the compiled
 * program, and whoever writes a route chooses it.
 */
export const regexLimits = {
  /** UTF-16 units of the expression itself. */
  sourceLength: 4096,
  /** Instructions of one compiled expression; ordinary ones have about 13. */
  instructions: 500,
  /** Instructions of all expressions of one route together. */
  routeInstructions: 4000,
  /** UTF-16 units of a text that is matched. */
  subjectLength: 8192,
  /** Bytes that one expression may keep to match faster. */
  cacheBytes: 262_144,
  /** Bytes that all expressions of the process may keep to match faster. */
  allCachesBytes: 67_108_864,
} as const;
