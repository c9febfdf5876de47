/**
 * Numbers that are written in a text. The library reads more than the decimal forms: an empty text as 0, `0x10` as 16,
 * and any other text as the double NaN, with which no comparison is true.
 */

import { CelScalar, celFunc, celUint, type CelFunc } from '@bufbuild/cel';

const { DOUBLE, INT, STRING, UINT } = CelScalar;

const wholeNumber = /^[+-]?\d+$/;
/** 64 bits have 20 digits. To read a text of millions of digits would delay other requests for seconds. */
const mostCharacters = 64;
const decimalNumber = /^(?:NaN|[+-]?(?:Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?))$/;

/** @throws Error for a text that is no whole number, or none of 64 bits */
function whole(text: string, limited: (value: bigint) => bigint): bigint {
  const value = text.length <= mostCharacters && wholeNumber.test(text) ? BigInt(text) : undefined;
  if (value === undefined || limited(value) !== value) throw new Error('not a whole number of 64 bits');
  return value;
}

/** @throws Error for a text that is no number */
function decimal(text: string): number {
  if (!decimalNumber.test(text)) throw new Error('not a number');
  return Number(text);
}

export const numbersOfTexts: readonly CelFunc[] = [
  celFunc('int', [STRING], INT, (text) => whole(text, (value) => BigInt.asIntN(64, value))),
  celFunc('uint', [STRING], UINT, (text) => celUint(whole(text, (value) => BigInt.asUintN(64, value)))),
  celFunc('double', [STRING], DOUBLE, decimal),
];
