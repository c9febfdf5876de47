/** The grammar of numbers (RFC 8259 §6), byte by byte. */

import { DOT, isDigit, MINUS, ZERO } from './jsonBytes.ts';

/** The part of a number that came last. */
export type NumberPart =
  'minus' | 'zero' | 'whole' | 'point' | 'fraction' | 'exponent' | 'exponentSign' | 'exponentDigits';

/** The parts with which a number may end. */
export const mayEndNumber: ReadonlySet<NumberPart> = new Set([
  'zero',
  'whole',
  'fraction',
  'exponentDigits',
] as const);

/** The part that a number begins with; undefined if the byte begins none. */
export function numberBegin(c: number): NumberPart | undefined {
  if (c === MINUS) return 'minus';
  return isDigit(c) ? afterMinus(c) : undefined;
}

const afterMinus = (c: number): NumberPart => (c === ZERO ? 'zero' : 'whole');

/** The part of a number that a byte belongs to; undefined if it does not go on with the number. */
export function numberPart(last: NumberPart, c: number): NumberPart | undefined {
  if (isDigit(c)) {
    switch (last) {
      case 'zero':
        return undefined;
      case 'minus':
        return afterMinus(c);
      case 'point':
        return 'fraction';
      case 'exponent':
      case 'exponentSign':
        return 'exponentDigits';
      default:
        return last;
    }
  }
  if (c === DOT) return last === 'zero' || last === 'whole' ? 'point' : undefined;
  if ((c | 0x20) === 0x65)
    return last !== 'exponentDigits' && mayEndNumber.has(last) ? 'exponent' : undefined;
  if (c === MINUS || c === 0x2b) return last === 'exponent' ? 'exponentSign' : undefined;
  return undefined;
}
