import { celList, celMap, isCelList, isCelMap, isCelUint } from '@bufbuild/cel';
import type { CelInput, CelList, CelMap, CelValue } from '@bufbuild/cel';
import { Failure, unknown } from '../failure.ts';
import { charge } from '../limits.ts';

/** Lists and maps in both of their forms: plain ones from the context, the library's from its functions. */

export const isList = (value: unknown): value is readonly unknown[] | CelList =>
  Array.isArray(value) || isCelList(value);

export const isMap = (value: unknown): value is ReadonlyMap<unknown, unknown> | CelMap =>
  value instanceof Map || isCelMap(value);

/** For the library, which wants its own form. Costs one object. */
export function toLibrary(value: unknown): CelValue {
  if (Array.isArray(value)) return celList(value as CelInput[]);
  if (value instanceof Map) return celMap(value as ReadonlyMap<string, CelInput>);
  return value as CelValue;
}

export const badKey = new Failure('unsupported key type');

/** `value.name`; `missing` where there is none. */
export function member(value: unknown, name: string, missing: Failure): unknown {
  if (value instanceof Map) return (value.get(name) as unknown) ?? absentOrNull(value, name, missing);
  if (isCelMap(value)) {
    const found = value.get(name);
    return found === undefined ? missing : found;
  }
  return missing;
}

const absentOrNull = (map: ReadonlyMap<unknown, unknown>, name: string, missing: Failure): unknown =>
  map.has(name) ? null : missing;

/** `value[key]`. */
export function element(value: unknown, key: unknown): unknown {
  switch (typeof key) {
    case 'string':
      charge(10 + (key.length >> 3));
      return member(value, key, new Failure(`field not found: ${key}`, 'key'));
    case 'bigint':
    case 'number':
      break;
    case 'boolean':
      return inMap(value, key);
    default:
      return isCelUint(key) ? element(value, key.value) : badKey;
  }
  if (Array.isArray(value)) return (value[Number(key)] as unknown) ?? atPlace(value, key);
  if (isCelList(value)) return inCelList(value, key);
  return inMap(value, key);
}

/** The library's own lists throw at a broken index. */
function inCelList(list: CelList, key: bigint | number): unknown {
  const place = Number(key);
  const found = Number.isInteger(place) ? list.get(place) : undefined;
  return found === undefined ? new Failure(`index ${key} out of bounds [0, ${list.size})`) : found;
}

function atPlace(list: readonly unknown[], key: bigint | number): unknown {
  const place = Number(key);
  if (list[place] === null) return null;
  return new Failure(`index ${key} out of bounds [0, ${list.length})`);
}

function inMap(value: unknown, key: bigint | number | boolean): unknown {
  const map = value instanceof Map ? toLibrary(value) : value;
  // The library looks for numbers among all keys.
  if (isCelMap(map)) charge(10 + 5 * map.size);
  const found = isCelMap(map) ? map.get(key as bigint) : undefined;
  return found === undefined ? new Failure(`field not found: ${String(key)}`, 'key') : found;
}

/** `has(value.name)`: is the key there, whatever its value? (The library takes a key that holds null for absent.) */
export function holds(value: unknown, name: string): boolean | Failure {
  if (value instanceof Map) return value.get(name) === unknown ? unknown : value.has(name);
  return isCelMap(value) && value.get(name) !== undefined;
}
