/** The candidate a mistyped word most likely meant; undefined where none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const folded = fold(word);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    // `clearEnv` for `clear_env`, `Port` for `port`: another way to write the same word.
    const distance = fold(candidate) === folded ? 0 : editDistance(word, candidate, bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  // `prefix` for `pathPrefix`: half a word that only one candidate has.
  const containing =
    word.length < 4 ? [] : candidates.filter((candidate) => fold(candidate).includes(folded));
  return best ?? (containing.length === 1 ? containing[0] : undefined);
}

function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment); at most `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return Math.min(last[b.length] ?? limit, limit);
}

/** The name to write in place of one that does not exist. */
export function suggestion(word: string, names: readonly string[]): string {
  // An empty name is no suggestion.
  const known = names.filter((name) => name !== '');
  const meant = nearest(word, known);
  if (meant !== undefined) return `did you mean ${meant}?`;
  return known.length === 0 ? 'none is defined' : `defined: ${known.join(', ')}`;
}
