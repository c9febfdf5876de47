/**
 * Whose answer was a line that cannot be read whole? Servers write the id right after the version or last of
 * all; in these two places nothing nested can pretend to be it. Undefined where it stands elsewhere.
 */
export function idOfLongLine(head: string, tail: string): number | undefined {
  const found =
    /^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(head) ??
    /[}\]"]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*\}\s*$/.exec(tail);
  return found === null ? undefined : Number(found[1]);
}
