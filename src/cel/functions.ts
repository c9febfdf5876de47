import { CelScalar, celMethod, mapType, type CelFunc } from '@bufbuild/cel';
import { messageOf } from '../errorText.ts';
import { addressFunctions, cidr, ip } from './functions/addresses.ts';
import { encodingFunctions } from './functions/encoding.ts';
import { headerFunctions } from './functions/headers.ts';
import { mathFunctions } from './functions/math.ts';
import { numbersOfTexts } from './functions/numbersOfTexts.ts';
import { textFunctions } from './functions/text.ts';
import { compileRegex } from '../regex/index.ts';

const MAP = mapType(CelScalar.DYN, CelScalar.DYN);

/** Functions of the format beyond the standard ones; `forms.ts` has those that see their arguments unevaluated. */
export const functions: readonly CelFunc[] = [
  ...textFunctions,
  ...encodingFunctions,
  ...addressFunctions,
  ...mathFunctions,
  ...headerFunctions,
  ...numbersOfTexts,
  celMethod('merge', MAP, [MAP], MAP, function (other) {
    return new Map([...this.entries(), ...other.entries()]) as ReadonlyMap<string, string>;
  }),
];

/** Come to something else each time. */
export const volatileFunctions: ReadonlySet<string> = new Set(['random', 'uuid']);

/** Functions of the format that are refused by name, and why. */
export const refusedFunctions: ReadonlyMap<string, string> = new Map([
  ['flatten', 'it is for fields of logs and traces'],
  ['flattenRecursive', 'it is for fields of logs and traces'],
  ['unredacted', 'expressions never see the token itself'],
]);

const checks: ReadonlyMap<string, (text: string) => unknown> = new Map<string, (text: string) => unknown>([
  ['matches', compileRegex],
  ['regexReplace', compileRegex],
  ['ip', ip],
  ['cidr', cidr],
  ['containsIP', ip],
  ['containsCIDR', cidr],
]);

/** The problem of a constant argument of these functions. */
export function argumentProblem(name: string, text: string): string | undefined {
  try {
    checks.get(name)?.(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
