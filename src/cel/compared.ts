import { parse } from '@bufbuild/cel';
import { children, dottedName, stringConstant, type Expr } from './ast.ts';
import { boundName, formOf } from './forms.ts';

/**
 * Texts that an expression compares with one of the variables: `name == "x"`, `"x" != name`, `name in ["x", "y"]`.
 * Meant for load time, where a text that the variable never has is a mistake. An expression that cannot be parsed has
 * none, since `compile` refuses it.
 */
export function comparedTexts(source: string, variables: ReadonlySet<string>): readonly string[] {
  const found = new Set<string>();
  try {
    collect(parse(source).expr, variables, found);
  } catch {
    return [];
  }
  return [...found];
}

/**
 * Texts and names of members in an expression: it looks up members of a variable by these names, unless it computes
 * them. Paths of other variables, such as `jwt.sub`, look up none.
 */
export function namesIn(source: string, variable: string): readonly string[] {
  const found = new Set<string>();
  const { expr: whole } = parse(source);
  const bound = boundIn(whole);
  const isOfAnother = (path: string | undefined): boolean => {
    const [root = ''] = path?.split('.') ?? [];
    return path !== undefined && !bound.has(root) && path !== variable && !path.startsWith(`${variable}.`);
  };
  const visit = (expr: Expr): void => {
    const text = stringConstant(expr);
    if (text !== undefined) found.add(text);
    if (expr.exprKind.case === 'selectExpr') {
      const { operand, field } = expr.exprKind.value;
      if (!isOfAnother(operand && pathOf(operand))) found.add(field);
    }
    for (const child of children(expr)) visit(child);
  };
  visit(whole);
  return [...found];
}

/** The variables that loops and forms of an expression name: such a name may stand for any value. */
function boundIn(expr: Expr, found = new Set<string>()): ReadonlySet<string> {
  const node = expr.exprKind;
  if (node.case === 'comprehensionExpr') found.add(node.value.iterVar).add(node.value.iterVar2);
  if (node.case === 'callExpr' && formOf(expr)?.binds === true)
    found.add(boundName(node.value.args[0]) ?? '');
  for (const child of children(expr)) boundIn(child, found);
  return found;
}

/** The members of a variable that an expression reads by name: `x.a`, `x["a"]`, `has(x.a)`. */
export function membersRead(source: string, variable: string): readonly string[] {
  const found = new Set<string>();
  const visit = (expr: Expr): void => {
    const node = expr.exprKind;
    if (node.case === 'selectExpr' && node.value.operand !== undefined) {
      if (pathOf(node.value.operand) === variable) found.add(node.value.field);
    } else if (node.case === 'callExpr' && node.value.function === '_[_]') {
      const [operand, key] = node.value.args;
      const name = stringConstant(key);
      if (operand !== undefined && name !== undefined && pathOf(operand) === variable) found.add(name);
    }
    for (const child of children(expr)) visit(child);
  };
  visit(parse(source).expr);
  return [...found];
}

const equalities: ReadonlySet<string> = new Set(['_==_', '_!=_']);

function collect(expr: Expr, variables: ReadonlySet<string>, found: Set<string>): void {
  for (const child of children(expr)) collect(child, variables, found);
  if (expr.exprKind.case !== 'callExpr') return;
  const { function: name, args } = expr.exprKind.value;
  const [left, right] = args;
  if (left === undefined || right === undefined) return;
  const isVariable = (side: Expr): boolean => variables.has(pathOf(side) ?? '');
  if (equalities.has(name)) {
    if (isVariable(left)) add(right, found);
    if (isVariable(right)) add(left, found);
  } else if (name === '@in' && isVariable(left) && right.exprKind.case === 'listExpr')
    for (const element of right.exprKind.value.elements) add(element, found);
}

function add(expr: Expr, found: Set<string>): void {
  const text = stringConstant(expr);
  if (text !== undefined) found.add(text);
}

/** `a.b.c`, also where a member is written as `a["b"]`. */
export function pathOf(expr: Expr): string | undefined {
  const whole = dottedName(expr);
  if (whole !== undefined) return whole;
  const node = expr.exprKind;
  if (node.case === 'selectExpr' && !node.value.testOnly && node.value.operand !== undefined)
    return joined(pathOf(node.value.operand), node.value.field);
  if (node.case !== 'callExpr' || node.value.function !== '_[_]') return undefined;
  const [operand, key] = node.value.args;
  return operand === undefined ? undefined : joined(pathOf(operand), stringConstant(key));
}

const joined = (path: string | undefined, member: string | undefined): string | undefined =>
  path === undefined || member === undefined ? undefined : `${path}.${member}`;
