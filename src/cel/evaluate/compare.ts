import { isCelList, isCelMap, isCelUint, type CelList } from '@bufbuild/cel';
import { Failure } from '../failure.ts';
import { isList, isMap, toLibrary } from './values.ts';

/** Compares what neither is a plain value nor a list nor a map: bytes, types, times. */
export type Rest = (a: unknown, b: unknown) => boolean;

/** Equality of CEL: numbers by value across their types, everything else within its type. */
export function same(a: unknown, b: unknown, rest: Rest): boolean {
  if (a === b) return true;
  const [left, right] = [typeof a, typeof b];
  if (left === 'string' || right === 'string' || left === 'boolean' || right === 'boolean') return false;
  if (a === null || b === null) return false;
  if (isNumber(a)) return isNumber(b) && sameNumber(plain(a), plain(b));
  if (isNumber(b)) return false;
  if (isList(a)) return isList(b) && sameList(a, b, rest);
  if (isMap(a)) return isMap(b) && sameMap(a, b, rest);
  return !isList(b) && !isMap(b) && rest(a, b);
}

type Numeric = bigint | number | { readonly value: bigint };

const isNumber = (value: unknown): value is Numeric =>
  typeof value === 'bigint' || typeof value === 'number' || isCelUint(value);

const plain = (value: Numeric): bigint | number => (typeof value === 'object' ? value.value : value);

function sameNumber(a: bigint | number, b: bigint | number): boolean {
  if (typeof a === 'number') return typeof b === 'number' ? a === b : Number.isInteger(a) && BigInt(a) === b;
  return typeof b === 'bigint' ? a === b : Number.isInteger(b) && BigInt(b) === a;
}

type List = readonly unknown[] | CelList;

function sameList(a: List, b: List, rest: Rest): boolean {
  const [left, right] = [arrayOf(a), arrayOf(b)];
  return left.length === right.length && left.every((item, i) => same(item, right[i], rest));
}

const arrayOf = (list: List): readonly unknown[] => (isCelList(list) ? [...list] : list);

function sameMap(a: unknown, b: unknown, rest: Rest): boolean {
  const [left, right] = [toLibrary(a), toLibrary(b)];
  if (!isCelMap(left) || !isCelMap(right) || left.size !== right.size) return false;
  for (const [key, value] of left.entries()) {
    const other = right.get(key as string);
    if (other === undefined || !same(value, other, rest)) return false;
  }
  return true;
}

const notIn = new Failure("found no matching overload for '@in'");

/** `item in list` and `key in map`. */
export function contained(item: unknown, of: unknown, rest: Rest): unknown {
  if (Array.isArray(of)) {
    if (typeof item === 'string') return of.includes(item);
    return of.some((one) => same(one, item, rest));
  }
  if (of instanceof Map && typeof item === 'string') return of.has(item);
  if (isCelList(of)) {
    for (const one of of) if (same(one, item, rest)) return true;
    return false;
  }
  const map = toLibrary(of);
  const isKey = isNumber(item) || typeof item === 'string' || typeof item === 'boolean';
  return isCelMap(map) && isKey ? map.get(item as string) !== undefined : notIn;
}
