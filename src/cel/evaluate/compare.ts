import { isCelList, isCelMap, type CelList, type CelUint } from '@bufbuild/cel';
import { Failure } from '../failure.ts';
import { isNumber } from './numbers.ts';
import { charge } from '../limits.ts';
import { isList, isMap, toLibrary } from './values.ts';

/** Compares what neither is a plain value nor a list nor a map: bytes, types, times. */
export type Rest = (a: unknown, b: unknown) => boolean;

/** Equality of CEL: numbers by value across their types, everything else within its type. */
export function same(a: unknown, b: unknown, rest: Rest): boolean {
  const [left, right] = [typeof a, typeof b];
  if (left === 'string' && right === 'string') return sameText(a as string, b as string);
  if (a === b) return true;
  if (left === 'string' || right === 'string' || left === 'boolean' || right === 'boolean') return false;
  if (a === null || b === null) return false;
  if (isNumber(a)) return isNumber(b) && sameNumber(plain(a), plain(b));
  if (isNumber(b)) return false;
  if (isList(a)) return isList(b) && sameList(a, b, rest);
  if (isMap(a)) return isMap(b) && sameMap(a, b, rest);
  return !isList(b) && !isMap(b) && rest(a, b);
}

/** Only texts of the same length are looked at. */
function sameText(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  charge(1 + (a.length >> 5));
  return a === b;
}

const plain = (value: bigint | number | CelUint): bigint | number =>
  typeof value === 'object' ? value.value : value;

function sameNumber(a: bigint | number, b: bigint | number): boolean {
  if (typeof a === 'number') return typeof b === 'number' ? a === b : Number.isInteger(a) && BigInt(a) === b;
  return typeof b === 'bigint' ? a === b : Number.isInteger(b) && BigInt(b) === a;
}

type List = readonly unknown[] | CelList;

function sameList(a: List, b: List, rest: Rest): boolean {
  const [left, right] = [arrayOf(a), arrayOf(b)];
  if (left.length !== right.length) return false;
  return left.every((item, i) => {
    charge(3);
    return same(item, right[i], rest);
  });
}

function arrayOf(list: List): readonly unknown[] {
  if (!isCelList(list)) return list;
  charge(5 * list.size);
  return [...list];
}

function sameMap(a: unknown, b: unknown, rest: Rest): boolean {
  const [left, right] = [toLibrary(a), toLibrary(b)];
  if (!isCelMap(left) || !isCelMap(right) || left.size !== right.size) return false;
  for (const [key, value] of left.entries()) {
    charge(15);
    const other = right.get(key as string);
    if (other === undefined || !same(value, other, rest)) return false;
  }
  return true;
}

const notIn = new Failure("found no matching overload for '@in'");

/** `item in list` and `key in map`. */
export function contained(item: unknown, of: unknown, rest: Rest): unknown {
  if (Array.isArray(of)) {
    charge(3 * of.length);
    return typeof item === 'string'
      ? of.some((one) => typeof one === 'string' && sameText(one, item))
      : of.some((one) => same(one, item, rest));
  }
  if (of instanceof Map && typeof item === 'string') {
    charge(1 + (item.length >> 3));
    return of.has(item);
  }
  if (isCelList(of)) {
    charge(5 * of.size);
    for (const one of of) if (same(one, item, rest)) return true;
    return false;
  }
  const map = toLibrary(of);
  const isKey = isNumber(item) || typeof item === 'string' || typeof item === 'boolean';
  if (!isCelMap(map) || !isKey) return notIn;
  // The library looks for numbers among all keys.
  charge(typeof item === 'string' ? 4 + (item.length >> 3) : 4 + 5 * map.size);
  return map.get(item as string) !== undefined;
}
