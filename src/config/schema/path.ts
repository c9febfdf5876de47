import type { z } from 'zod';
import { parsed } from '../../schema/index.ts';

/** Text that no path of a request has when it is matched → what to write instead. */
const neverMatched: readonly (readonly [RegExp, string])[] = [
  [/^(?!\/)/, 'expected a path that begins with /'],
  [/\?/, 'a path has no "?", which begins the query: match parameters with `query`'],
  [/#/, 'a path has no "#": write %23'],
  [/[\s\p{Cc}]/u, 'a path has no white space and no control character: write %20 for a space'],
  [/%(?![0-9a-f]{2})/i, 'expected two hexadecimal digits behind "%": write %25 for the character itself'],
  [/\\|%5c/i, 'the gateway refuses every request with a backslash in its path'],
  [/%(?:[01][0-9a-f]|7f)/i, 'the gateway refuses every request with a control character in its path'],
];

/** A path to match, in the form in which requests have it: characters beyond ASCII are percent-encoded. */
export const path: z.ZodType<string, string> = parsed('a path that begins with /', (text) => {
  for (const [pattern, problem] of neverMatched) if (pattern.test(text)) throw new Error(problem);
  return text.replaceAll(/[\u0080-\u{10ffff}]+/gu, encodeURIComponent);
});
