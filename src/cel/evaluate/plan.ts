import { celUint, isCelUint } from '@bufbuild/cel';
import { dottedName, stringConstant, type Expr } from '../ast.ts';
import { compileRegex } from '../../regex/index.ts';
import { Failure, outOfSteps } from '../failure.ts';
import { boundName, formOf, isLoop } from '../forms.ts';
import { charge, takeStep } from '../limits.ts';
import { formSteps } from './forms.ts';
import { isFailure, type Frame, type Step } from './frame.ts';
import { environment, functionNamed, insideLibrary, typeNamed } from './library.ts';
import { binary, binaryOperators, conditional, logical, negation, textMethods } from './operators.ts';
import { matching, replacing } from './patterns.ts';
import { badKey, element, holds, isList, isMap, member, toLibrary } from './values.ts';

/** Runs a planned expression: comes to a value (in the library's form) or a `Failure`. @throws what the stack cannot hold */
export type Plan = (context: Readonly<Record<string, unknown>>) => unknown;

/**
 * Turns a checked tree into functions, once. The library's own plans took 8 to 40 times as long for the usual rules
 * (`docs/conformance.md`); here members, operators and loops are done directly, and the library does the functions.
 */
export function planned(root: Expr): Plan {
  const planner = new Planner();
  const step = planner.plan(root, new Map());
  const { slots, callsLibrary, units } = planner;
  const run: Plan = (context) => {
    charge(units);
    const frame: Frame = { context, slots: slots === 0 ? none : new Array<unknown>(slots) };
    const value = step(frame);
    return isList(value) || isMap(value) ? toLibrary(value) : value;
  };
  return callsLibrary ? (context) => insideLibrary(() => run(context)) : run;
}

const none: unknown[] = [];

/** Units of work of one run beside its parts, of one part of the tree, and of one step of a loop beside its parts. */
const startUnits = 10;
const nodeUnits = 2;
const loopUnits = 8;

/** The slots of variables of loops and bindings. */
type Scope = ReadonlyMap<string, number>;

class Planner {
  slots = 0;
  callsLibrary = false;
  /** Units of work of the parts planned so far, without the bodies of loops: those count at each step. */
  units = startUnits;

  plan(expr: Expr, scope: Scope): Step {
    this.units += nodeUnits;
    const node = expr.exprKind;
    switch (node.case) {
      case 'constExpr': {
        const value = constant(expr);
        return () => value;
      }
      case 'identExpr':
        return this.variable(expr, node.value.name, scope);
      case 'selectExpr':
        return this.selection(expr, scope);
      case 'callExpr':
        return this.call(expr, scope);
      case 'listExpr':
        return this.list(node.value.elements, scope);
      case 'structExpr':
        return this.map(expr, scope);
      case 'comprehensionExpr':
        return this.loop(expr, scope);
      default:
        throw new Error('not an expression');
    }
  }

  private variable(expr: Expr, written: string, scope: Scope): Step {
    const name = written.replace(/^\./, '');
    const slot = written === name ? scope.get(name) : undefined;
    if (slot !== undefined) return (frame) => frame.slots[slot];
    const type = typeNamed(expr);
    const otherwise = isFailure(type) ? new Failure(`${name} has no value here`, 'variable') : type;
    // A context is an ordinary object: what every object inherits is no variable.
    if (name in Object.prototype)
      return ({ context }) => (Object.hasOwn(context, name) ? context[name] : otherwise);
    return ({ context }) => {
      const value = context[name];
      return value === undefined ? otherwise : value;
    };
  }

  private selection(expr: Expr, scope: Scope): Step {
    if (expr.exprKind.case !== 'selectExpr' || expr.exprKind.value.operand === undefined)
      throw new Error('incomplete member access');
    const { operand, field, testOnly } = expr.exprKind.value;
    const of = this.plan(operand, scope);
    if (testOnly) {
      const chain = isChain(operand);
      return (frame) => {
        const value = of(frame);
        if (!isFailure(value)) return holds(value, field);
        // A caller without a token has no claims.
        return chain && value.lacks === 'variable' ? false : value;
      };
    }
    const missing = new Failure(`field not found: ${field}`, 'key');
    return (frame) => {
      const value = of(frame);
      return isFailure(value) ? value : member(value, field, missing);
    };
  }

  private list(elements: readonly Expr[], scope: Scope): Step {
    if (elements.every((expr) => expr.exprKind.case === 'constExpr')) {
      const values = elements.map(constant);
      return () => values;
    }
    const steps = elements.map((expr) => this.plan(expr, scope));
    return (frame) => evaluated(steps, frame);
  }

  private map(expr: Expr, scope: Scope): Step {
    if (expr.exprKind.case !== 'structExpr') throw new Error('not a map');
    const entries = expr.exprKind.value.entries.map(({ keyKind, value }): [Step, Step] => {
      if (keyKind.case !== 'mapKey' || value === undefined) throw new Error('incomplete map');
      return [this.plan(keyKind.value, scope), this.plan(value, scope)];
    });
    return (frame) => {
      const made = new Map<unknown, unknown>();
      const keys = new Set<unknown>();
      for (const [keyStep, valueStep] of entries) {
        const key = mapKey(keyStep(frame));
        if (isFailure(key)) return key;
        const value = valueStep(frame);
        if (isFailure(value)) return value;
        // 1 and 1u are the same key.
        const plain = isCelUint(key) ? key.value : key;
        if (keys.has(plain)) return new Failure(`map key conflict: ${String(plain)}`);
        keys.add(plain);
        made.set(key, value);
      }
      return made;
    };
  }

  private loop(expr: Expr, scope: Scope): Step {
    if (expr.exprKind.case !== 'comprehensionExpr') throw new Error('not a loop');
    const { iterVar, accuVar, iterRange, accuInit, loopCondition, loopStep, result } = expr.exprKind.value;
    if (!iterRange || !accuInit || !loopCondition || !loopStep || !result)
      throw new Error('incomplete comprehension');
    const [sum, item] = [this.slots++, this.slots++];
    const after = new Map(scope).set(accuVar, sum);
    const inner = new Map(after).set(iterVar, item);
    const [start, range] = [this.plan(accuInit, scope), this.plan(iterRange, scope)];
    const before = this.units;
    const gathers = gatheringOf(expr);
    const [condition, step] = [
      this.plan(loopCondition, inner),
      gathers === undefined ? this.plan(loopStep, inner) : this.gathering(gathers, sum, inner),
    ];
    const stepUnits = loopUnits + this.units - before;
    this.units = before;
    const end = this.plan(result, after);
    return (frame) => {
      const first = gathers === undefined ? start(frame) : [];
      if (isFailure(first)) return first;
      const items = itemsOf(range(frame));
      if (isFailure(items)) return items;
      frame.slots[sum] = first;
      for (const one of items) {
        if (!takeStep(stepUnits)) return outOfSteps;
        frame.slots[item] = one;
        const more = condition(frame);
        if (isFailure(more)) return more;
        if (more !== true) break;
        frame.slots[sum] = step(frame);
      }
      return end(frame);
    };
  }

  /** A step of `map` or `filter`: adds to the one list that the loop makes, instead of making a longer one. */
  private gathering({ condition, element }: Gathering, sum: number, scope: Scope): Step {
    const value = this.plan(element, scope);
    const add: Step = (frame) => {
      const made = frame.slots[sum];
      if (isFailure(made)) return made;
      const item = value(frame);
      if (isFailure(item)) return item;
      (made as unknown[]).push(item);
      return made;
    };
    return condition === undefined
      ? add
      : conditional(this.plan(condition, scope), add, (frame) => frame.slots[sum]);
  }

  private call(expr: Expr, scope: Scope): Step {
    if (expr.exprKind.case !== 'callExpr') throw new Error('not a call');
    const { function: name, target, args } = expr.exprKind.value;
    const form = formOf(expr);
    if (form !== undefined) return this.form(expr, scope);

    const qualifier = target && dottedName(target);
    const qualified = `${qualifier}.${name}`;
    if (qualifier !== undefined && environment.funcs.find(qualified) !== undefined)
      return this.libraryCall(qualified, undefined, args, scope);

    const pattern = this.pattern(expr, scope);
    if (pattern !== undefined) return pattern;
    const [left, right] = target === undefined ? args : [target, ...args];
    const two = left !== undefined && right !== undefined && args.length === (target ? 1 : 2);
    const of = two ? (target ? textMethods : binaryOperators).get(name) : undefined;
    if (two && of !== undefined) {
      // Two operands of the library's own types reach the library.
      return binary(of, this.plan(left, scope), this.plan(right, scope));
    }
    if (target === undefined) {
      const steps = (): Step[] => args.map((arg) => this.plan(arg, scope));
      const special = operators.get(name)?.(expr, steps, (part) => this.plan(part, scope));
      if (special !== undefined) return special;
    }
    return this.libraryCall(name, target, args, scope);
  }

  /** Patterns that are written out are compiled once. */
  private pattern(expr: Expr, scope: Scope): Step | undefined {
    if (expr.exprKind.case !== 'callExpr') return undefined;
    const { function: name, target, args } = expr.exprKind.value;
    const parts = target === undefined ? args : [target, ...args];
    const source = stringConstant(parts[1]);
    const [of] = parts;
    if (source === undefined || of === undefined) return undefined;
    if (name === 'matches' && parts.length === 2) return matching(this.plan(of, scope), compileRegex(source));
    const [, , by] = parts;
    if (name !== 'regexReplace' || target === undefined || by === undefined || parts.length > 3)
      return undefined;
    return replacing(this.plan(of, scope), compileRegex(source), this.plan(by, scope));
  }

  private libraryCall(name: string, target: Expr | undefined, args: readonly Expr[], scope: Scope): Step {
    this.callsLibrary = true;
    const called = functionNamed(name);
    const steps = args.map((arg) => this.plan(arg, scope));
    const on = target && this.plan(target, scope);
    return (frame) => {
      const receiver = on?.(frame);
      if (isFailure(receiver)) return receiver;
      const values = evaluated(steps, frame);
      return isFailure(values) ? values : called(receiver, values);
    };
  }

  private form(expr: Expr, scope: Scope): Step {
    const form = formOf(expr);
    if (form === undefined || expr.exprKind.case !== 'callExpr') throw new Error('not a form');
    const { target, args } = expr.exprKind.value;
    const on = form.method && target !== undefined ? this.plan(target, scope) : undefined;
    const slot = form.binds ? this.slots++ : -1;
    const name = form.binds ? boundName(args[0]) : undefined;
    const inner = name === undefined ? scope : new Map(scope).set(name, slot);
    const before = this.units;
    const steps = args.slice(form.binds ? 1 : 0).map((arg) => this.plan(arg, inner));
    const stepUnits = loopUnits + this.units - before;
    // The body of a loop counts at each step.
    if (isLoop(expr)) this.units = before;
    return formSteps[form.name]({ target: on, args: steps, slot, stepUnits });
  }
}

type Special = (expr: Expr, steps: () => Step[], plan: (part: Expr) => Step) => Step | undefined;

/** Operators that do not evaluate all of their operands, or that look into them. */
const operators: ReadonlyMap<string, Special> = new Map(
  Object.entries<Special>({
    '_&&_': (expr, _, plan) => logical(false, operandsOf(expr, '_&&_').map(plan)),
    '_||_': (expr, _, plan) => logical(true, operandsOf(expr, '_||_').map(plan)),
    '!_': (_, steps) => {
      const [operand] = steps();
      return operand && negation(operand);
    },
    '_?_:_': (_, steps) => {
      const [condition, yes, no] = steps();
      return condition && yes && no && conditional(condition, yes, no);
    },
    '@not_strictly_false': (_, steps) => {
      const [operand] = steps();
      return operand && ((frame) => operand(frame) !== false);
    },
    '_[_]': (_, steps) => {
      const [operand, key] = steps();
      return operand && key && binary(element, operand, key);
    },
  }),
);

/** The elements that `map` and `filter` put into the list that they make. */
interface Gathering {
  readonly condition: Expr | undefined;
  readonly element: Expr;
}

/** The step of a loop that begins with no elements, and adds one to those it has, perhaps on a condition. */
function gatheringOf(loop: Expr): Gathering | undefined {
  if (loop.exprKind.case !== 'comprehensionExpr') return undefined;
  const { accuVar, accuInit, loopStep } = loop.exprKind.value;
  // Only what macros make has such a name, so no other part of the expression sees the list while it grows.
  if (!accuVar.startsWith('@') || accuInit?.exprKind.case !== 'listExpr') return undefined;
  if (accuInit.exprKind.value.elements.length > 0 || loopStep?.exprKind.case !== 'callExpr') return undefined;
  const { function: name, args } = loopStep.exprKind.value;
  const isSum = (expr: Expr | undefined): boolean =>
    expr?.exprKind.case === 'identExpr' && expr.exprKind.value.name === accuVar;
  if (name === '_?_:_') {
    const [condition, yes, no] = args;
    const element = addedTo(yes, isSum);
    return element !== undefined && isSum(no) ? { condition, element } : undefined;
  }
  const element = addedTo(loopStep, isSum);
  return element === undefined ? undefined : { condition: undefined, element };
}

/** `x` of `sum + [x]`. */
function addedTo(expr: Expr | undefined, isSum: (expr: Expr | undefined) => boolean): Expr | undefined {
  if (expr?.exprKind.case !== 'callExpr' || expr.exprKind.value.function !== '_+_') return undefined;
  const [sum, list] = expr.exprKind.value.args;
  if (!isSum(sum) || list?.exprKind.case !== 'listExpr') return undefined;
  const { elements } = list.exprKind.value;
  return elements.length === 1 ? elements[0] : undefined;
}

/** `a && b && c` as three operands, whatever the tree. */
function operandsOf(expr: Expr, name: string): Expr[] {
  if (expr.exprKind.case !== 'callExpr' || expr.exprKind.value.function !== name) return [expr];
  return expr.exprKind.value.args.flatMap((arg) => operandsOf(arg, name));
}

/** A variable and members of it. */
function isChain(expr: Expr): boolean {
  const node = expr.exprKind;
  if (node.case === 'identExpr') return true;
  return node.case === 'selectExpr' && !node.value.testOnly && node.value.operand !== undefined
    ? isChain(node.value.operand)
    : false;
}

function evaluated(steps: readonly Step[], frame: Frame): unknown[] | Failure {
  const values: unknown[] = [];
  for (const step of steps) {
    const value = step(frame);
    if (isFailure(value)) return value;
    values.push(value);
  }
  return values;
}

function itemsOf(range: unknown): Iterable<unknown> | Failure {
  if (isFailure(range)) return range;
  if (isList(range)) return range;
  return isMap(range) ? range.keys() : new Failure('only lists and maps can be iterated over');
}

/** Whole numbers of any type are keys. */
function mapKey(key: unknown): unknown {
  switch (typeof key) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return key;
    case 'number':
      return Number.isInteger(key) ? BigInt(key) : badKey;
    default:
      return isCelUint(key) || isFailure(key) ? key : badKey;
  }
}

function constant(expr: Expr): unknown {
  const kind = expr.exprKind.case === 'constExpr' ? expr.exprKind.value.constantKind : undefined;
  switch (kind?.case) {
    case 'uint64Value':
      return celUint(kind.value);
    case 'nullValue':
      return null;
    case 'stringValue':
    case 'bytesValue':
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
      return kind.value;
    default:
      throw new Error('not a constant');
  }
}
