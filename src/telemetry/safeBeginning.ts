import { openTokenAt } from './compactTokens.ts';
import { longestKnown } from './knownSecrets.ts';

/** Characters in which a secret of an unknown value should end, if it begins before a cut. */
const leastMargin = 2_048;

/**
 * The beginning of the text without secrets. The search reads on behind the cut, because it does not recognise the
 * remainder of a secret.
 * @param mark stands for a token that is longer than the part that the search reads
 */
export function safeBeginning(
  text: string,
  most: number,
  hide: (text: string) => string,
  mark: string,
): string {
  if (text.length <= most) return hide(text);
  const margin = Math.max(leastMargin, longestKnown());
  const read = most + 2 * margin;
  if (text.length <= read) return hide(text).slice(0, most);
  // Marks are shorter than secrets, so the end of the read part, which may hold a remainder, can move to the front.
  const hidden = hide(text.slice(0, read));
  const end = Math.max(0, Math.min(most, hidden.length - margin));
  const open = openTokenAt(hidden);
  return open < end ? `${hidden.slice(0, open)}${mark}`.slice(0, most) : hidden.slice(0, end);
}
