import { Beginnings } from './beginnings.ts';

/** Shorter values are not replaced: they would tear ordinary words apart. */
const shortest = 6;
const longest = 65_536;
/** Secrets of each kind; the oldest ones are forgotten beyond this number. */
const most = 1_024;

/** Secrets of this process, which its logs, dumps and messages replace wherever they stand. */
const known = new Set<string>();
/** A secret may be part of another one: the longer one goes first. */
let ordered: readonly string[] = [];
let generation = 0;
/** Secrets that servers issued. Callers decide how many there are, so they have a set of their own. */
const issued = new Set<string>();
/** Length of the longest secret that a server ever issued. */
let longestIssued = 0;

/** Fewer secrets are looked for one by one. */
const few = 8;
/** The beginnings of all of them, and of some that are forgotten. */
const beginnings = new Beginnings();
/** Secrets that were forgotten since the beginnings were noted. */
let forgotten = 0;

/** Remembers secrets by their values. A value of several lines is remembered line by line. */
export function rememberSecrets(values: Iterable<string>): void {
  let isNew = false;
  for (const value of values)
    for (const line of value.split(/[\r\n]+/)) {
      const text = line.trim();
      if (!hasLength(text)) continue;
      isNew ||= !known.has(text);
      addNewest(known, text);
    }
  if (isNew) order();
}

/**
 * The same for secrets of one line that a server issued for a short time. They never replace a configured one, and no
 * text from before can hold them.
 */
export function rememberIssuedSecrets(values: Iterable<string>): void {
  for (const value of values) {
    if (!hasLength(value)) continue;
    addNewest(issued, value);
    longestIssued = Math.max(longestIssued, value.length);
  }
}

const hasLength = ({ length }: string): boolean => length >= shortest && length <= longest;

/** A secret that is in use again becomes the newest; the oldest one makes room. */
function addNewest(secrets: Set<string>, secret: string): void {
  secrets.delete(secret);
  secrets.add(secret);
  beginnings.add(secret);
  if (secrets.size <= most) return;
  const [oldest = ''] = secrets;
  secrets.delete(oldest);
  if (++forgotten >= most) noteBeginnings();
}

function noteBeginnings(): void {
  forgotten = 0;
  beginnings.clear();
  for (const secrets of [known, issued]) for (const secret of secrets) beginnings.add(secret);
}

/** Changes whenever other secrets are known: what was hidden before must be hidden anew. */
export const secretsGeneration = (): number => generation;

/** No known secret is longer. */
export const longestKnown = (): number => Math.max(ordered[0]?.length ?? 0, longestIssued);

function order(): void {
  ordered = [...known].toSorted((a, b) => b.length - a.length);
  generation++;
}

/** The text with every secret that this process knows replaced by `mark`. */
export function hideSecrets(text: string, mark: string): string {
  const count = ordered.length + issued.size;
  if (count === 0 || (count > few && !beginnings.mayBeIn(text))) return text;
  let hidden = text;
  for (const value of issued)
    if (value.length <= hidden.length && hidden.includes(value)) hidden = hidden.replaceAll(value, mark);
  for (const value of ordered)
    if (value.length <= hidden.length && hidden.includes(value)) hidden = hidden.replaceAll(value, mark);
  return hidden;
}

/** For tests: forgets all of them. */
export function forgetSecrets(): void {
  known.clear();
  issued.clear();
  longestIssued = 0;
  noteBeginnings();
  order();
}
