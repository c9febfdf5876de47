/** Characters in which a secret that begins before a cut should end. */
const margin = 2_048;

/**
 * The beginning of the text without secrets. The search reads on behind the cut, because it does not recognise the
 * remainder of a secret.
 */
export function safeBeginning(text: string, most: number, hide: (text: string) => string): string {
  const read = most + 2 * margin;
  if (text.length <= most) return hide(text);
  if (text.length <= read) return hide(text).slice(0, most);
  // Marks are shorter than secrets, so the end of the read part, which may hold a remainder, can move to the front.
  const hidden = hide(text.slice(0, read));
  return hidden.slice(0, Math.max(0, Math.min(most, hidden.length - margin)));
}
