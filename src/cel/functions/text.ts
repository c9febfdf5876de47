import { CelScalar, celFunc, celMethod, type CelFunc } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { RE2JS } from 're2js';

const { BOOL, STRING } = CelScalar;

/** The strings extension, prefixes, and regular expressions in linear time. */
export const textFunctions: readonly CelFunc[] = [
  ...strings,
  celMethod('stripPrefix', STRING, [STRING], STRING, function (prefix) {
    return this.startsWith(prefix) ? this.slice(prefix.length) : String(this);
  }),
  celMethod('stripSuffix', STRING, [STRING], STRING, function (suffix) {
    return this.endsWith(suffix) ? this.slice(0, this.length - suffix.length) : String(this);
  }),
  celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
    return regex(pattern).test(String(this));
  }),
  celFunc('matches', [STRING, STRING], BOOL, (text, pattern) => regex(pattern).test(text)),
  celMethod('regexReplace', STRING, [STRING, STRING], STRING, function (pattern, replacement) {
    return regex(pattern).matcher(String(this)).replaceAll(replacement);
  }),
];

/** Compiled patterns: RE2, so that no pattern and no text takes more than linear time. Bounded. */
const patterns = new Map<string, RE2JS>();

/** @throws Error for a text that is not a pattern */
export function regex(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  const compiled = RE2JS.compile(pattern);
  if (patterns.size >= 256) patterns.clear();
  patterns.set(pattern, compiled);
  return compiled;
}
