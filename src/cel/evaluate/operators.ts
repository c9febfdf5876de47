import { isCelList, type CelList } from '@bufbuild/cel';
import { Failure, unknown } from '../failure.ts';
import { charge } from '../limits.ts';
import { contained, same } from './compare.ts';
import { isFailure, type Step } from './frame.ts';
import { functionNamed, sameRest } from './library.ts';
import { indexOf } from './search.ts';
import { isList } from './values.ts';

const notBool = (operator: string): Failure => new Failure(`found no matching overload for '${operator}'`);

/** Binary operators and methods that are done here for the usual types; the library does the others. */
type Binary = (left: unknown, right: unknown) => unknown;

type Ordered = (
  left: string | number | bigint | boolean,
  right: string | number | bigint | boolean,
) => boolean;

/** Both of one type, or the library compares them. */
function ordering(name: string, of: Ordered): Binary {
  const library = functionNamed(name);
  return (left, right) => {
    const kind = typeof left;
    if (kind === 'string' && typeof right === 'string')
      charge(1 + (Math.min((left as string).length, right.length) >> 3));
    if (kind === typeof right && (kind === 'string' || kind === 'bigint' || kind === 'number'))
      return of(left as string, right as string);
    return library(undefined, [left, right]);
  };
}

function textMethod(name: string, of: (text: string, part: string) => boolean): Binary {
  const library = functionNamed(name);
  return (left, right) =>
    typeof left === 'string' && typeof right === 'string' ? of(left, right) : library(left, [right]);
}

const addByLibrary = functionNamed('_+_');

/** Texts and lists are joined here; the library would keep a list as a chain of what it was made of. */
function sum(left: unknown, right: unknown): unknown {
  if (typeof left === 'string' && typeof right === 'string') {
    charge(2 + ((left.length + right.length) >> 3));
    return left + right;
  }
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    const value = left + right;
    if (BigInt.asIntN(64, value) === value) return value;
  }
  if (isList(left) && isList(right)) {
    const made: unknown[] = [];
    for (const list of [left, right]) {
      charge(2 + (Array.isArray(list) ? 1 : 5) * sizeOfList(list));
      for (const item of list) made.push(item);
    }
    return made;
  }
  return addByLibrary(undefined, [left, right]);
}

const sizeOfList = (list: readonly unknown[] | CelList): number =>
  isCelList(list) ? list.size : list.length;

export const binaryOperators: ReadonlyMap<string, Binary> = new Map<string, Binary>([
  ['_==_', (left, right) => same(left, right, sameRest)],
  ['_!=_', (left, right) => !same(left, right, sameRest)],
  ['_+_', sum],
  ['@in', (left, right) => contained(left, right, sameRest)],
  ['_<_', ordering('_<_', (left, right) => left < right)],
  ['_<=_', ordering('_<=_', (left, right) => left <= right)],
  ['_>_', ordering('_>_', (left, right) => left > right)],
  ['_>=_', ordering('_>=_', (left, right) => left >= right)],
]);

export const textMethods: ReadonlyMap<string, Binary> = new Map<string, Binary>([
  ['startsWith', textMethod('startsWith', (text, part) => compared(part) && text.startsWith(part))],
  ['endsWith', textMethod('endsWith', (text, part) => compared(part) && text.endsWith(part))],
  ['contains', textMethod('contains', (text, part) => indexOf(text, part) >= 0)],
]);

/** Takes what comparing a text with a part of another one costs. */
function compared(part: string): true {
  charge(1 + (part.length >> 2));
  return true;
}

/** Both sides are evaluated, the left one first; the first failure is the result. */
export const binary =
  (of: Binary, left: Step, right: Step): Step =>
  (frame) => {
    const a = left(frame);
    if (isFailure(a)) return a;
    const b = right(frame);
    return isFailure(b) ? b : of(a, b);
  };

/**
 * `&&` and `||`: one deciding operand outweighs failures on either side of it (CEL, "Logical operators"), so rules must
 * not rely on the order.
 */
export function logical(decides: boolean, operands: readonly Step[]): Step {
  const mismatch = notBool(decides ? '_||_' : '_&&_');
  return (frame) => {
    let failure: Failure | undefined;
    for (const operand of operands) {
      const value = operand(frame);
      if (value === decides) return decides;
      if (value === unknown) failure = unknown;
      else if (value !== !decides) failure ??= isFailure(value) ? value : mismatch;
    }
    return failure ?? !decides;
  };
}

export function negation(operand: Step): Step {
  const mismatch = notBool('!_');
  return (frame) => {
    const value = operand(frame);
    if (typeof value === 'boolean') return !value;
    return isFailure(value) ? value : mismatch;
  };
}

export function conditional(condition: Step, yes: Step, no: Step): Step {
  const mismatch = notBool('_?_:_');
  return (frame) => {
    const value = condition(frame);
    if (value === true) return yes(frame);
    if (value === false) return no(frame);
    return isFailure(value) ? value : mismatch;
  };
}
