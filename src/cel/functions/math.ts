import { CelScalar, celFunc, celUint, type CelFunc } from '@bufbuild/cel';

const { BOOL, DOUBLE, INT, UINT } = CelScalar;

const smallest = -(2n ** 63n);
const bits = 64n;
const signed = (value: bigint): bigint => BigInt.asIntN(64, value);
const unsigned = (value: bigint): bigint => BigInt.asUintN(64, value);

const rounding: Readonly<Record<string, (value: number) => number>> = {
  ceil: Math.ceil,
  floor: Math.floor,
  trunc: Math.trunc,
  // Half away from zero; JavaScript's own goes up.
  round: (value) => Math.sign(value) * Math.floor(Math.abs(value) + 0.5),
};

const tests: Readonly<Record<string, (value: number) => boolean>> = {
  isNaN: Number.isNaN,
  isFinite: Number.isFinite,
  isInf: (value) => Math.abs(value) === Infinity,
};

const bitwise: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  bitAnd: (a, b) => a & b,
  bitOr: (a, b) => a | b,
  bitXor: (a, b) => a ^ b,
};

/** Shifts move zeros in on both sides, also for negative numbers. */
const shifts: Readonly<Record<string, (value: bigint, by: bigint) => bigint>> = {
  bitShiftLeft: (value, by) => unsigned(value << by),
  bitShiftRight: (value, by) => unsigned(value) >> by,
};

function shifted(shift: (value: bigint, by: bigint) => bigint, value: bigint, by: bigint): bigint {
  if (by < 0n) throw new Error('a shift by a negative number');
  return by >= bits ? 0n : shift(value, by);
}

/** The math extension; `math.greatest` and `math.least` take any number of arguments and stand in `forms.ts`. */
export const mathFunctions: readonly CelFunc[] = [
  ...Object.entries(rounding).map(([name, of]) => celFunc(`math.${name}`, [DOUBLE], DOUBLE, of)),
  ...Object.entries(tests).map(([name, of]) => celFunc(`math.${name}`, [DOUBLE], BOOL, of)),
  celFunc('math.abs', [DOUBLE], DOUBLE, Math.abs),
  celFunc('math.abs', [UINT], UINT, (value) => value),
  celFunc('math.abs', [INT], INT, (value) => {
    if (value === smallest) throw new Error('integer overflow');
    return value < 0n ? -value : value;
  }),
  celFunc('math.sign', [DOUBLE], DOUBLE, Math.sign),
  celFunc('math.sign', [UINT], UINT, ({ value }) => celUint(value > 0n ? 1n : 0n)),
  celFunc('math.sign', [INT], INT, (value) => (value > 0n ? 1n : value < 0n ? -1n : 0n)),
  celFunc('math.sqrt', [DOUBLE], DOUBLE, Math.sqrt),
  celFunc('math.sqrt', [INT], DOUBLE, (value) => Math.sqrt(Number(value))),
  celFunc('math.sqrt', [UINT], DOUBLE, ({ value }) => Math.sqrt(Number(value))),
  ...Object.entries(bitwise).flatMap(([name, of]) => [
    celFunc(`math.${name}`, [INT, INT], INT, of),
    celFunc(`math.${name}`, [UINT, UINT], UINT, (a, b) => celUint(of(a.value, b.value))),
  ]),
  celFunc('math.bitNot', [INT], INT, (value) => ~value),
  celFunc('math.bitNot', [UINT], UINT, ({ value }) => celUint(unsigned(~value))),
  ...Object.entries(shifts).flatMap(([name, of]) => [
    celFunc(`math.${name}`, [INT, INT], INT, (value, by) => signed(shifted(of, value, by))),
    celFunc(`math.${name}`, [UINT, INT], UINT, (value, by) => celUint(shifted(of, value.value, by))),
  ]),
];
