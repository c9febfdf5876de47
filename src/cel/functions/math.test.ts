import { test } from 'node:test';
import { allFail, allRefused, allTrue } from '../expressions.testing.ts';

test('rounding, signs and roots', () => {
  allTrue(
    'math.ceil(1.2) == 2.0 && math.floor(-1.2) == -2.0 && math.trunc(-1.9) == -1.0',
    'math.round(1.5) == 2.0 && math.round(-1.5) == -2.0 && math.round(0.49) == 0.0',
    'math.abs(-3) == 3 && math.abs(-1.5) == 1.5 && math.abs(3u) == 3u',
    'math.sign(-3) == -1 && math.sign(0u) == 0u && math.sign(2.5) == 1.0',
    'math.sqrt(16) == 4.0 && math.isNaN(math.sqrt(-1))',
    'math.isInf(1.0 / 0.0) && math.isFinite(1.0) && !math.isFinite(0.0 / 0.0)',
  );
  allRefused(/integer overflow/, 'math.abs(-9223372036854775808) > 0');
  allRefused(/no function math.ceil takes/, 'math.ceil(1) == 1.0');
});

test('bits, with zeros shifted in and no shift too far', () => {
  allTrue(
    'math.bitAnd(6, 3) == 2 && math.bitOr(6u, 3u) == 7u && math.bitXor(6, 3) == 5',
    'math.bitNot(0) == -1 && math.bitNot(0u) == 18446744073709551615u',
    'math.bitShiftLeft(1, 63) == -9223372036854775808 && math.bitShiftLeft(1, 64) == 0',
    'math.bitShiftRight(-1, 63) == 1 && math.bitShiftRight(8u, 2) == 2u',
  );
  allRefused(/negative/, 'math.bitShiftLeft(1, -1) == 0');
});

test('the largest and the smallest of numbers of any type, given singly or as a list', () => {
  allTrue(
    'max(1, 2.5, 2u) == 2.5 && min(3, 1u) == 1u && max([1, 5, 3]) == 5 && max(7) == 7',
    'math.greatest(jwt.level, jwt.ratio) == 3 && math.least([jwt.level, jwt.ratio]) == 1.5',
    'math.greatest(9223372036854775807, 9223372036854775807.0 / 2.0) == 9223372036854775807',
  );
  allFail('max(jwt.role)', 'max(jwt.groups)', 'math.least(jwt.level, jwt.role)', 'max(jwt.map)');
  allRefused(/always fails/, 'max([])');
  allRefused(/takes 1 to/, 'max()');
});
