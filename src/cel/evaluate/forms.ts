import type { CelList } from '@bufbuild/cel';
import { Failure, outOfSteps, unknown } from '../failure.ts';
import { extreme } from './numbers.ts';
import type { FormName } from '../forms.ts';
import { charge, takeStep } from '../limits.ts';
import { isFailure, type Step } from './frame.ts';
import { isList, isMap, toLibrary } from './values.ts';

/** The parts of a form: its target if it is a method, its arguments, and the place of the variable it binds. */
export interface Parts {
  readonly target: Step | undefined;
  readonly args: readonly Step[];
  readonly slot: number;
  /** Units of work of one step, where the form is a loop. */
  readonly stepUnits: number;
}

/** The evaluation of each form. */
export const formSteps: Readonly<Record<FormName, (parts: Parts) => Step>> = {
  default: ({ args: [value, fallback] }) => {
    return (frame) => {
      const result = run(value, frame);
      return isFailure(result) && result.lacks !== undefined ? run(fallback, frame) : result;
    };
  },
  coalesce: ({ args }) => {
    return (frame) => {
      let result: unknown = noValue;
      for (const arg of args) {
        const value = arg(frame);
        if (value !== null && (value === unknown || !isFailure(value))) return value;
        if (result !== null) result = value;
      }
      return result;
    };
  },
  fail: ({ args: [reason] }) => {
    return (frame) => {
      const text = reason === undefined ? undefined : reason(frame);
      return new Failure(typeof text === 'string' ? text : 'fail() was called');
    };
  },
  variables: () => (frame) => new Map(Object.entries(frame.context)),
  with: ({ target, args: [body], slot }) => {
    return (frame) => {
      const value = run(target, frame);
      if (isFailure(value)) return value;
      frame.slots[slot] = value;
      return run(body, frame);
    };
  },
  mapValues: ({ target, args: [body], slot, stepUnits }) => {
    return (frame) => {
      const map = entriesOf(run(target, frame), 'mapValues');
      if (isFailure(map)) return map;
      const made = new Map<unknown, unknown>();
      for (const [key, value] of map) {
        if (!takeStep(stepUnits)) return outOfSteps;
        frame.slots[slot] = value;
        const result = run(body, frame);
        if (isFailure(result)) return result;
        made.set(key, result);
      }
      return made;
    };
  },
  filterKeys: ({ target, args: [body], slot, stepUnits }) => {
    return (frame) => {
      const map = entriesOf(run(target, frame), 'filterKeys');
      if (isFailure(map)) return map;
      const made = new Map<unknown, unknown>();
      for (const [key, value] of map) {
        if (!takeStep(stepUnits)) return outOfSteps;
        frame.slots[slot] = key;
        const keep = run(body, frame);
        if (isFailure(keep)) return keep;
        if (typeof keep !== 'boolean') return new Failure('filterKeys wants a bool for each key');
        if (keep) made.set(key, value);
      }
      return made;
    };
  },
  max: (parts) => extremeOf(parts, 'max', true),
  min: (parts) => extremeOf(parts, 'min', false),
  'math.greatest': (parts) => extremeOf(parts, 'math.greatest', true),
  'math.least': (parts) => extremeOf(parts, 'math.least', false),
};

const noValue = new Failure('nothing to choose from');
const incomplete = new Failure('incomplete form');

const run = (step: Step | undefined, frame: Parameters<Step>[0]): unknown =>
  step === undefined ? incomplete : step(frame);

function entriesOf(value: unknown, name: string): Iterable<[unknown, unknown]> | Failure {
  if (isFailure(value)) return value;
  return isMap(value)
    ? (value.entries() as Iterable<[unknown, unknown]>)
    : new Failure(`${name} wants a map`);
}

/** The extreme of the arguments, or of the one list that is the only argument. */
function extremeOf({ args }: Parts, name: string, largest: boolean): Step {
  const bad = new Failure(`${name} wants numbers`);
  return (frame) => {
    const values: unknown[] = [];
    for (const arg of args) {
      const value = arg(frame);
      if (isFailure(value)) return value;
      values.push(value);
    }
    const [only] = values;
    const list = values.length === 1 && isList(only) ? elementsOf(only) : values;
    charge(3 * list.length);
    return extreme(list, largest) ?? bad;
  };
}

function elementsOf(list: readonly unknown[] | CelList): readonly unknown[] {
  const inLibrary = toLibrary(list) as CelList;
  charge(5 * inLibrary.size);
  return [...inLibrary];
}
