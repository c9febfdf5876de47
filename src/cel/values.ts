import { celList, celMap } from '@bufbuild/cel';
import type { CelInput } from '@bufbuild/cel';

/**
 * JSON data as CEL values. Done by hand because the library guesses: an object with a member `$typeName` would be
 * taken for a protobuf message and one with a member `constructor` refused, and both may stand in a token.
 * Whole numbers become `int`, others `double`.
 */
export function toCel(value: unknown): CelInput {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return Number.isSafeInteger(value) ? BigInt(value) : value;
    case 'object':
      if (value === null) return null;
      if (Array.isArray(value)) return celList(value.map(toCel));
      return celMap(new Map(Object.entries(value).map(([key, item]) => [key, toCel(item)])));
    default:
      throw new TypeError(`not JSON data: ${typeof value}`);
  }
}
