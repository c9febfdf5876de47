import type { Reading, Seen } from '../../fuzz/seen.ts';
import { readAll, strict, type Habits, type Surroundings } from './reader.ts';

const loose = { name: 'anything', value: 'anything' } as const;
/** A reader acts on a field that it finds, where others find none. */
const acting = { lengths: 'last', coding: 'contains', unknownCoding: 'ignore', both: 'coding' } as const;

/**
 * Habits of servers that requests were smuggled past. A message that the gateway passes on must be the same one to each
 * of them, or be refused.
 */
export const sloppy: Readonly<Record<string, Habits>> = {
  'takes a line feed for a line end': { ...strict, ...acting, lineEnd: 'lf' },
  'takes a carriage return for a line end': { ...strict, ...acting, lineEnd: 'any' },
  'takes any white space on the request line': { ...strict, ...acting, requestLine: 'loose' },
  'trims names': { ...strict, ...acting, ...loose, name: 'trimmed' },
  'takes underscores for hyphens': { ...strict, ...acting, name: 'underscore' },
  'joins folded lines': { ...strict, ...acting, fold: 'join' },
  'takes folded lines for fields': { ...strict, ...acting, fold: 'field', name: 'trimmed' },
  'ends values at NUL': { ...strict, ...acting, ...loose, value: 'untilNul' },
  'trims what Unicode takes for white space': { ...strict, ...acting, ...loose, trim: 'unicode' },
  'takes the number at the front': { ...strict, number: 'prefix', chunkLine: 'anything' },
  'takes the first length': { ...strict, lengths: 'first', number: 'prefix' },
  'takes the last length': { ...strict, lengths: 'last', number: 'prefix' },
  'prefers the coding': { ...strict, both: 'coding', coding: 'last', unknownCoding: 'ignore' },
  'prefers the length': { ...strict, both: 'length', coding: 'last', unknownCoding: 'ignore' },
  'looks at the first coding': { ...strict, both: 'coding', coding: 'first', unknownCoding: 'ignore' },
  'looks for chunked anywhere': { ...strict, both: 'coding', coding: 'contains', unknownCoding: 'ignore' },
  'knows no codings': {
    ...strict,
    both: 'length',
    coding: 'exact',
    unknownCoding: 'ignore',
    number: 'prefix',
  },
  'skips what stands behind a chunk': { ...strict, chunkEnd: 'any', chunkLine: 'anything' },
  'takes any trailer': { ...strict, trailers: 'anything' },
  'takes anything, coding first': {
    ...strict,
    ...loose,
    lineEnd: 'any',
    requestLine: 'loose',
    fold: 'join',
    trim: 'unicode',
    number: 'prefix',
    lengths: 'first',
    coding: 'contains',
    unknownCoding: 'ignore',
    both: 'coding',
    chunkLine: 'anything',
    chunkEnd: 'any',
    trailers: 'anything',
  },
  'takes anything, length first': {
    ...strict,
    ...loose,
    name: 'underscore',
    lineEnd: 'lf',
    requestLine: 'loose',
    fold: 'field',
    trim: 'unicode',
    number: 'prefix',
    lengths: 'last',
    coding: 'contains',
    unknownCoding: 'ignore',
    both: 'length',
    chunkLine: 'anything',
    chunkEnd: 'any',
    trailers: 'anything',
  },
};

/** The doubt about bytes that were passed on. */
export interface Doubt {
  /** Readers differ about where messages are; or the bytes are no message, and whoever takes them takes them alike. */
  readonly kind: 'ambiguous' | 'malformed';
  readonly problem: string;
}

/**
 * Do all readers see in these bytes what the strict one sees?
 * @param text whole messages, or the beginning of one that was broken off
 * @returns undefined where they do
 */
export function doubtOf(
  text: string,
  direction: 'request' | 'answer',
  surroundings: Surroundings = {},
): Doubt | undefined {
  const reference = readAll(text, direction, strict, surroundings);
  const readings = Object.entries(sloppy).map(
    ([name, habits]) => [name, readAll(text, direction, habits, surroundings)] as const,
  );
  const malformed =
    reference.refusal ??
    (direction === 'request' && !reference.messages.every(hasOneHost) ? 'not one host' : undefined);
  if (malformed === undefined) {
    for (const [name, reading] of readings) {
      const problem = difference(reference, reading);
      if (problem !== undefined) return { kind: 'ambiguous', problem: `a reader that ${name} ${problem}` };
    }
    return undefined;
  }
  const [first, ...others] = readings.filter(([, { refusal }]) => refusal === undefined);
  for (const [name, reading] of others) {
    const problem = difference((first as (typeof others)[number])[1], reading);
    if (problem !== undefined)
      return {
        kind: 'ambiguous',
        problem: `${malformed}; a reader that ${name} ${problem}, not one that ${first?.[0] ?? ''}`,
      };
  }
  return { kind: 'malformed', problem: malformed };
}

const hasOneHost = ({ fields }: Seen): boolean => fields.filter(([name]) => name === 'host').length === 1;

/** The difference between another reader and the reference. One that refuses is not fooled. */
export function difference(reference: Reading, other: Reading): string | undefined {
  const whole = (reading: Reading): Seen[] => reading.messages.filter(({ complete }) => complete);
  const [expected, found] = [whole(reference), whole(other)];
  for (const [i, message] of found.entries()) {
    const mine = expected[i];
    if (mine === undefined) return `sees ${message.start} ${message.target} beside the others`;
    if (mine.start !== message.start || mine.target !== message.target)
      return `reads ${message.start} ${message.target} for ${mine.start} ${mine.target}`;
    if (mine.body !== message.body) return `reads another body of ${mine.start} ${mine.target}`;
    if (hostOf(mine) !== hostOf(message)) return `reads another host of ${mine.target}`;
  }
  if (found.length < expected.length && other.refusal === undefined && !other.closed)
    return `waits for the end of ${expected[found.length]?.target ?? ''}`;
  return undefined;
}

const hostOf = ({ fields }: Seen): string | undefined =>
  fields.findLast(([name]) => name === 'host')?.[1]?.toLowerCase();
