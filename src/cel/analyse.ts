import { celType, type CelFunc, type CelValue } from '@bufbuild/cel';
import { dottedName, stringConstant, type Expr, type Parsed } from './ast.ts';
import { Refusal, type Declared, type Members } from './declare.ts';
import { environment } from './evaluate/library.ts';
import { planned } from './evaluate/plan.ts';
import { Failure } from './failure.ts';
import { boundName, formOf, type Form } from './forms.ts';
import { addressTypes } from './functions/addresses.ts';
import { argumentProblem, refusedFunctions, volatileFunctions } from './functions.ts';
import { metered, newMeter } from './limits.ts';
import { connectives, contradicts, type Fact } from './truth.ts';

const overloads = new Map<string, CelFunc[]>();
for (const func of environment.funcs) {
  const group = overloads.get(func.name);
  if (group === undefined) overloads.set(func.name, [func]);
  else group.push(func);
}

const unknown: Fact = { type: 'dyn', constant: false, canBeTrue: true, canBeFalse: true };
const numbers = new Set(['int', 'uint', 'double']);
const operator = /^[@_!]|^-_$/;
/** Texts at run time, but types of their own before (`functions/addresses.ts`). */
const addresses = new Set(['ip', 'cidr']);

/** Walks a tree once: refuses what cannot work, and says what the rest can come to. */
export class Analysis {
  /** Dotted names of the variables used, as far as they are constant. */
  readonly used = new Set<string>();
  /** The number of uses of a declared object as a value of its own. */
  private readonly ofWholes = new Map<string, number>();
  /** Ids of the expressions that are a map of header fields. */
  readonly headers = new Set<bigint>();
  /** Does it come to something else each time? */
  isVolatile = false;
  private readonly variables: Members;
  private readonly positions: Readonly<Record<string, number>>;

  constructor(parsed: Parsed, variables: Members) {
    this.variables = variables;
    this.positions = parsed.sourceInfo?.positions ?? {};
  }

  /** Declared objects that are used as values of their own, not only for a member. */
  get wholes(): readonly string[] {
    return [...this.ofWholes].flatMap(([path, uses]) => (uses > 0 ? [path] : []));
  }

  /** @throws Refusal */
  fact(expr: Expr, scope: ReadonlyMap<string, Fact>): Fact {
    const fact = this.shape(expr, scope);
    if (fact.declared?.kind === 'headers') this.headers.add(expr.id);
    if (!fact.constant || expr.exprKind.case === 'constExpr') return fact;
    return { ...fact, ...this.evaluated(expr, fact, scope) };
  }

  private refuse(expr: Expr, message: string, notBuilt = false): never {
    throw new Refusal(message, this.positions[String(expr.id)] ?? 0, notBuilt);
  }

  /** A constant expression is run now: what fails always is a mistake, not a rule. */
  private evaluated(expr: Expr, fact: Fact, scope: ReadonlyMap<string, Fact>): Partial<Fact> {
    if (scope.size > 0) return {};
    const value = metered(newMeter(), planned(expr), {});
    if (value instanceof Failure || value instanceof Error)
      this.refuse(expr, `always fails: ${value.message}`);
    const { name } = celType(value as CelValue);
    const type = addresses.has(fact.type) ? fact.type : name;
    return { type, canBeTrue: value === true, canBeFalse: value === false };
  }

  private shape(expr: Expr, scope: ReadonlyMap<string, Fact>): Fact {
    const node = expr.exprKind;
    switch (node.case) {
      case 'constExpr': {
        const kind = node.value.constantKind;
        const type = constantTypes[kind.case ?? ''] ?? 'dyn';
        return {
          type,
          constant: true,
          canBeTrue: kind.case !== 'boolValue' || kind.value,
          canBeFalse: kind.case !== 'boolValue' || !kind.value,
        };
      }
      case 'identExpr':
        return this.identifier(expr, node.value.name, scope);
      case 'selectExpr': {
        if (node.value.operand === undefined) this.refuse(expr, 'incomplete member access');
        const operand = this.fact(node.value.operand, scope);
        const member = this.member(expr, operand, node.value.field);
        if (!node.value.testOnly) return member;
        this.countWhole(member, -1);
        return { ...unknown, type: 'bool' };
      }
      case 'callExpr':
        return this.call(expr, scope);
      case 'listExpr': {
        const facts = node.value.elements.map((element) => this.fact(element, scope));
        return {
          ...unknown,
          type: 'list',
          constant: facts.every((fact) => fact.constant),
          elements: facts.map((fact) => fact.type),
        };
      }
      case 'structExpr': {
        if (node.value.messageName !== '') this.refuse(expr, `unknown type ${node.value.messageName}`);
        let constant = true;
        for (const entry of node.value.entries) {
          if (entry.optionalEntry) this.refuse(expr, 'optional entries are not built yet', true);
          if (entry.keyKind.case === 'mapKey')
            constant = this.fact(entry.keyKind.value, scope).constant && constant;
          if (entry.value !== undefined) constant = this.fact(entry.value, scope).constant && constant;
        }
        return { ...unknown, type: 'map', constant };
      }
      case 'comprehensionExpr':
        return this.comprehension(expr, scope);
      default:
        return this.refuse(expr, 'not an expression');
    }
  }

  private identifier(expr: Expr, written: string, scope: ReadonlyMap<string, Fact>): Fact {
    const name = written.replace(/^\./, '');
    const local = scope.get(name);
    if (local !== undefined && !written.startsWith('.')) return { ...local, bound: true };
    if (Object.hasOwn(this.variables, name))
      return this.declared(expr, name, this.variables[name] as Declared);
    if (typeNames.has(name)) return { ...unknown, type: 'type', constant: true };
    return this.refuse(expr, `unknown variable ${name}; known are ${known(this.variables).join(', ')}`);
  }

  private declared(expr: Expr, path: string, declared: Declared): Fact {
    if (declared.kind === 'absent')
      this.refuse(
        expr,
        `${path} is ${declared.notBuilt === true ? 'known, but not built yet' : 'not available here'}: ${declared.why}`,
        true,
      );
    this.used.add(path);
    const type = declared.kind === 'value' ? declared.type : 'map';
    const fact = { ...unknown, type, declared, path };
    this.countWhole(fact, 1);
    return fact;
  }

  private countWhole({ declared, path }: Fact, more: 1 | -1): void {
    if (declared?.kind !== 'object' || path === undefined) return;
    this.ofWholes.set(path, (this.ofWholes.get(path) ?? 0) + more);
  }

  /** `operand.name` or `operand["name"]`. */
  private member(expr: Expr, operand: Fact, name: string): Fact {
    const { declared, path } = operand;
    if (declared?.kind === 'object' && path !== undefined) {
      if (!Object.hasOwn(declared.members, name))
        this.refuse(expr, `${path} has no member ${name}; it has ${known(declared.members).join(', ')}`);
      // A variable that a form bound to the whole object needs the whole object.
      if (operand.bound !== true) {
        this.used.delete(path);
        this.countWhole(operand, -1);
      }
      const fact = this.declared(expr, `${path}.${name}`, declared.members[name] as Declared);
      return operand.bound === true ? { ...fact, bound: true } : fact;
    }
    if (declared?.kind === 'claims' && path !== undefined) {
      const why = Object.hasOwn(declared.absent, name) ? declared.absent[name] : undefined;
      if (why !== undefined) this.refuse(expr, `${path}.${name} is not available here: ${why}`, true);
      return { ...unknown, path: `${path}.${name}` };
    }
    if (declared?.kind === 'headers' && path !== undefined)
      return { ...unknown, path: `${path}.${name.toLowerCase()}` };
    if (operand.type !== 'map' && operand.type !== 'dyn')
      this.refuse(expr, `a ${operand.type} has no member ${name}`);
    return {
      ...unknown,
      constant: operand.constant,
      ...(path === undefined ? {} : { path: `${path}.${name}` }),
    };
  }

  private comprehension(expr: Expr, scope: ReadonlyMap<string, Fact>): Fact {
    if (expr.exprKind.case !== 'comprehensionExpr') return unknown;
    const { iterVar, iterVar2, accuVar, iterRange, accuInit, loopCondition, loopStep, result } =
      expr.exprKind.value;
    if (!iterRange || !accuInit || !loopCondition || !loopStep || !result || iterVar2)
      return this.refuse(expr, 'incomplete comprehension');
    const range = this.fact(iterRange, scope);
    if (!['list', 'map', 'dyn'].includes(range.type))
      this.refuse(iterRange, `cannot iterate over a ${range.type}`);
    const start = this.fact(accuInit, scope);
    // The variable stands for something new each time, so nothing inside is evaluated beforehand.
    const constant = range.constant;
    const inner = new Map(scope)
      .set(accuVar, { ...unknown, type: start.type, constant })
      .set(iterVar, { ...unknown, constant });
    const facts = [this.fact(loopCondition, inner), this.fact(loopStep, inner), this.fact(result, inner)];
    return { ...unknown, type: facts[2]?.type ?? 'dyn', constant: facts.every((fact) => fact.constant) };
  }

  private call(expr: Expr, scope: ReadonlyMap<string, Fact>): Fact {
    if (expr.exprKind.case !== 'callExpr') return unknown;
    const call = expr.exprKind.value;
    const form = formOf(expr);
    if (form !== undefined) return this.form(expr, form, scope);
    const special = connectives.get(call.function);
    if (special !== undefined) {
      const facts = call.args.map((arg) => this.fact(arg, scope));
      const bad = call.args.findIndex((_, i) => special.bools(i) && !isType(facts[i], 'bool'));
      if (bad >= 0) this.refuse(call.args[bad] as Expr, `expected bool, found ${facts[bad]?.type}`);
      const constant = facts.every((fact) => fact.constant);
      const fact = { ...unknown, ...special.fact(facts), constant };
      return call.function === '_&&_' && contradicts(expr) ? { ...fact, canBeTrue: false } : fact;
    }
    if (call.function === '_[_]') return this.index(expr, call.args, scope);
    if (call.function.includes('?')) this.refuse(expr, 'optional values are not built yet', true);
    return this.overload(expr, scope);
  }

  private form(expr: Expr, form: Form, scope: ReadonlyMap<string, Fact>): Fact {
    if (expr.exprKind.case !== 'callExpr') return unknown;
    const { target, args } = expr.exprKind.value;
    const { name, least, most } = form;
    if (args.length < least || args.length > most)
      this.refuse(expr, `${name} takes ${least === most ? least : `${least} to ${most}`} arguments`);
    if (name === 'variables')
      for (const one of known(this.variables)) this.declared(expr, one, this.variables[one] as Declared);
    const on = form.method && target !== undefined ? this.fact(target, scope) : undefined;
    const loops = name === 'mapValues' || name === 'filterKeys';
    if (loops && !isType(on, 'map')) this.refuse(expr, `${name} wants a map, found ${on?.type}`);
    const bound = form.binds ? boundName(args[0]) : undefined;
    if (form.binds && bound === undefined) this.refuse(expr, `${name} wants the name of a variable first`);
    const value = { ...unknown, ...(loops ? {} : on), constant: on?.constant ?? false };
    const inner = bound === undefined ? scope : new Map(scope).set(bound, value);
    const facts = args.slice(form.binds ? 1 : 0).map((arg) => this.fact(arg, inner));
    if (name === 'filterKeys' && !isType(facts[0], 'bool'))
      this.refuse(expr, `filterKeys wants a bool, found ${facts[0]?.type}`);
    const varies = name === 'fail' || name === 'variables';
    const constant = !varies && facts.every((fact) => fact.constant) && (on?.constant ?? true);
    return { ...unknown, ...outcome(form, facts), constant };
  }

  private index(expr: Expr, args: readonly Expr[], scope: ReadonlyMap<string, Fact>): Fact {
    const [operand, key] = args;
    if (operand === undefined || key === undefined) return this.refuse(expr, 'incomplete index');
    const base = this.fact(operand, scope);
    const at = this.fact(key, scope);
    const name = stringConstant(key);
    if (name !== undefined && base.declared !== undefined) return this.member(expr, base, name);
    if (base.declared?.kind === 'object')
      this.refuse(key, `${base.path ?? ''} is indexed by constant names only`);
    if (
      base.declared?.kind === 'claims' &&
      Object.keys(base.declared.absent).length > 0 &&
      !isType(at, 'string')
    )
      this.refuse(key, 'claims are indexed by strings');
    if (!['list', 'map', 'dyn'].includes(base.type)) this.refuse(expr, `a ${base.type} cannot be indexed`);
    return { ...unknown, constant: base.constant && at.constant };
  }

  private overload(expr: Expr, scope: ReadonlyMap<string, Fact>): Fact {
    if (expr.exprKind.case !== 'callExpr') return unknown;
    const call = expr.exprKind.value;
    const qualifier = call.target && dottedName(call.target);
    const qualified = qualifier === undefined ? undefined : `${qualifier}.${call.function}`;
    const isQualified = qualified !== undefined && overloads.has(qualified);
    const name = isQualified ? qualified : call.function;
    const why = refusedFunctions.get(call.function);
    if (why !== undefined)
      this.refuse(expr, `the function ${call.function} is known, but not built yet: ${why}`, true);
    const group = overloads.get(name);
    if (group === undefined) return this.refuse(expr, `unknown function ${name}`);

    const target = isQualified || call.target === undefined ? undefined : this.fact(call.target, scope);
    const args = call.args.map((arg) => this.fact(arg, scope));
    if (name === '_==_' || name === '_!=_') this.comparable(expr, args);
    const special = addressTypes.get(target === undefined ? name : `.${name}`);
    const asText = special !== undefined || name === 'string';
    const fits = (fact: Fact | undefined, type: string): boolean =>
      isType(fact, type) || (asText && type === 'string' && addresses.has(fact?.type ?? ''));
    const fitting = group.filter(
      (func) =>
        (func.target === undefined) === (target === undefined) &&
        (func.target === undefined || fits(target, func.target.name)) &&
        func.arguments.length === args.length &&
        func.arguments.every((type, i) => fits(args[i], type.name)),
    );
    if (fitting.length === 0 || (special?.target !== undefined && !isType(target, special.target))) {
      const on = target === undefined ? '' : `${target.type}.`;
      const shown = operator.test(name) ? `operator ${name.replace(/[@_]/g, '').trim()}` : `function ${name}`;
      this.refuse(expr, `no ${shown} takes ${on}(${args.map((arg) => arg.type).join(', ')})`);
    }
    if (name === '@in') this.possibleElement(expr, args);
    this.writtenArgument(name, call.args);
    const results = new Set(fitting.map((func) => func.result.name));
    const varies = volatileFunctions.has(name);
    if (varies) this.isVolatile = true;
    const constant = !varies && args.every((arg) => arg.constant) && (target?.constant ?? true);
    const headers = target?.declared?.kind === 'headers' && results.has('map');
    return {
      ...unknown,
      type: special?.result ?? (results.size === 1 ? ([...results][0] as string) : 'dyn'),
      constant,
      ...(headers ? { declared: target.declared, path: target.path ?? '' } : {}),
    };
  }

  /** Patterns and address ranges that are written out are tried now, not at the first request. */
  private writtenArgument(name: string, args: readonly Expr[]): void {
    // `matches(text, pattern)` and `text.matches(pattern)`; the others have it first.
    const arg = name === 'matches' ? args.at(-1) : args[0];
    const text = stringConstant(arg);
    const problem = text === undefined ? undefined : argumentProblem(name, text);
    if (arg !== undefined && problem !== undefined) this.refuse(arg, problem);
  }

  private comparable(expr: Expr, [left, right]: readonly Fact[]): void {
    if (left === undefined || right === undefined) return;
    const same =
      isType(left, right.type) ||
      left.type === 'null_type' ||
      right.type === 'null_type' ||
      (numbers.has(left.type) && numbers.has(right.type));
    if (!same) this.refuse(expr, `a ${left.type} never equals a ${right.type}`);
  }

  private possibleElement(expr: Expr, [item, list]: readonly Fact[]): void {
    const { elements } = list ?? {};
    if (item === undefined || elements === undefined || item.constant) return;
    const possible = elements.some(
      (type) => isType(item, type) || (numbers.has(item.type) && numbers.has(type)),
    );
    if (!possible) this.refuse(expr, `no element of the list can equal a ${item.type}`);
  }
}

const isType = (fact: Fact | undefined, type: string): boolean =>
  fact === undefined || fact.type === 'dyn' || type === 'dyn' || fact.type === type;

const known = (members: Members): string[] =>
  Object.entries(members)
    .filter(([, declared]) => declared.kind !== 'absent')
    .map(([name]) => name);

/** The known facts about the result of a form. */
function outcome({ name }: Form, facts: readonly Fact[]): Partial<Fact> {
  const types = new Set(facts.map((fact) => fact.type));
  switch (name) {
    case 'default':
    case 'coalesce':
      return {
        type: types.size === 1 ? ([...types][0] as string) : 'dyn',
        canBeTrue: facts.some((fact) => fact.canBeTrue),
        canBeFalse: facts.some((fact) => fact.canBeFalse),
      };
    case 'with':
      return { ...facts[0] };
    case 'mapValues':
    case 'filterKeys':
    case 'variables':
      return { type: 'map' };
    case 'fail':
      return { canBeTrue: false, canBeFalse: false };
    default:
      return {};
  }
}

const typeNames = new Set([
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
]);

const constantTypes: Readonly<Record<string, string>> = {
  boolValue: 'bool',
  int64Value: 'int',
  uint64Value: 'uint',
  doubleValue: 'double',
  stringValue: 'string',
  bytesValue: 'bytes',
  nullValue: 'null_type',
};
