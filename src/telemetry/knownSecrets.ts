/** Shorter values are not replaced: they would tear ordinary words apart. */
const shortest = 6;
const longest = 65_536;
/** Secrets change with the configuration; the oldest ones are forgotten beyond this number. */
const most = 1_024;

/** Secrets of this process, which its logs, dumps and messages replace wherever they stand. */
const known = new Set<string>();
/** A secret may be part of another one: the longer one goes first. */
let ordered: readonly string[] = [];
let generation = 0;

/** Remembers secrets by their values. A value of several lines is remembered line by line. */
export function rememberSecrets(values: Iterable<string>): void {
  const before = known.size;
  for (const value of values)
    for (const line of value.split(/[\r\n]+/)) {
      const text = line.trim();
      if (text.length < shortest || text.length > longest || known.has(text)) continue;
      known.add(text);
    }
  for (const oldest of known) {
    if (known.size <= most) break;
    known.delete(oldest);
  }
  if (known.size !== before || known.size === most) order();
}

/** Changes whenever other secrets are known: what was hidden before must be hidden anew. */
export const secretsGeneration = (): number => generation;

function order(): void {
  ordered = [...known].toSorted((a, b) => b.length - a.length);
  generation++;
}

/** The text with every secret that this process knows replaced by `mark`. */
export function hideSecrets(text: string, mark: string): string {
  let hidden = text;
  for (const value of ordered) if (hidden.includes(value)) hidden = hidden.replaceAll(value, mark);
  return hidden;
}

/** For tests: forgets all of them. */
export function forgetSecrets(): void {
  known.clear();
  order();
}
