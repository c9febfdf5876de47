import { charge } from '../limits.ts';

/**
 * Searching in linear time. The search of the engine compares the part anew at each place, so a text and a part that
 * are made for it take a time that grows with the product of their lengths.
 */

/** Parts this short are compared quickly enough anywhere. */
const shortPart = 8;
/** So is what has at most this many pairs of characters. */
const fewPairs = 16_384;

const engineMay = (length: number, part: number): boolean => part <= shortPart || length * part <= fewPairs;

function chargeFor(length: number, part: number): void {
  if (part <= shortPart) charge(4 + (length >> 2));
  else charge(engineMay(length, part) ? 4 + ((length * part) >> 4) : 2 * (length + part));
}

/** Like `text.indexOf(part, from)`. Costs as much as it looks at. */
export function indexOf(text: string, part: string, from = 0): number {
  const length = text.length - from;
  if (part.length > length) return -1;
  const at = engineMay(length, part.length) ? text.indexOf(part, from) : carefulIndexOf(text, part, from);
  chargeFor(at < 0 ? length : at - from + part.length, part.length);
  return at;
}

function carefulIndexOf(text: string, part: string, from: number): number {
  const found = firstIn(
    part.length,
    text.length - from,
    (i) => part.charCodeAt(i),
    (i) => text.charCodeAt(from + i),
  );
  return found < 0 ? -1 : from + found;
}

/** Like `text.lastIndexOf(part, from)`. */
export function lastIndexOf(text: string, part: string, from = text.length): number {
  const end = Math.min(text.length, from + part.length);
  if (part.length > end) return -1;
  chargeFor(end, part.length);
  if (engineMay(end, part.length)) return text.lastIndexOf(part, from);
  const found = firstIn(
    part.length,
    end,
    (i) => part.charCodeAt(part.length - 1 - i),
    (i) => text.charCodeAt(end - 1 - i),
  );
  return found < 0 ? -1 : end - found - part.length;
}

/** Every place of a part that is not empty, without overlaps, at most so many. */
export function placesOf(text: string, part: string, most: number): number[] {
  const places: number[] = [];
  for (let from = 0; places.length < most;) {
    const at = indexOf(text, part, from);
    if (at < 0) break;
    places.push(at);
    from = at + part.length;
  }
  return places;
}

/** Knuth, Morris and Pratt: no character of the text is looked at twice. */
function firstIn(
  partLength: number,
  length: number,
  partAt: (i: number) => number,
  textAt: (i: number) => number,
): number {
  const borders = new Uint32Array(partLength);
  for (let i = 1, border = 0; i < partLength; i += 1) {
    while (border > 0 && partAt(i) !== partAt(border)) border = borders[border - 1] ?? 0;
    if (partAt(i) === partAt(border)) border += 1;
    borders[i] = border;
  }
  for (let i = 0, same = 0; i < length; i += 1) {
    while (same > 0 && textAt(i) !== partAt(same)) same = borders[same - 1] ?? 0;
    if (textAt(i) === partAt(same)) same += 1;
    if (same === partLength) return i + 1 - partLength;
  }
  return -1;
}
