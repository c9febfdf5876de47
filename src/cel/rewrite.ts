import { children, stringConstant, type Expr } from './ast.ts';
import { internal } from './functions.ts';

/**
 * Changes a parsed tree in place, before it is checked: every comprehension counts its steps (the library has no
 * cost limit), and `cidr(a).containsIP(b)` becomes one call, because the library has no type for an address range.
 */
export function rewrite(expr: Expr): void {
  for (const child of children(expr)) rewrite(child);
  const node = expr.exprKind;
  if (node.case === 'comprehensionExpr' && node.value.loopCondition !== undefined) {
    const condition = node.value.loopCondition;
    node.value.loopCondition = call(condition.id, internal.step, [condition]);
  }
  if (node.case !== 'callExpr' || node.value.function !== 'containsIP') return;
  const range = soleArgument(node.value.target, 'cidr');
  const [address, ...rest] = node.value.args;
  if (range === undefined || address === undefined || rest.length > 0) return;
  const args = [range, soleArgument(address, 'ip') ?? address];
  expr.exprKind = call(expr.id, internal.cidrContains, args).exprKind;
}

/** Header names become lower case, as the header map has them. `headers` holds the ids of the header maps of the tree. */
export function lowerHeaderNames(expr: Expr, headers: ReadonlySet<bigint>): void {
  if (headers.size === 0) return;
  for (const child of children(expr)) lowerHeaderNames(child, headers);
  const isHeaders = (side: Expr | undefined): boolean => side !== undefined && headers.has(side.id);
  const node = expr.exprKind;
  if (node.case === 'selectExpr' && isHeaders(node.value.operand))
    node.value.field = node.value.field.toLowerCase();
  if (node.case !== 'callExpr') return;
  const { function: name, args } = node.value;
  if (name === '_[_]' && isHeaders(args[0])) lowerKey(args, 1);
  if (name === '@in' && isHeaders(args[1])) lowerKey(args, 0);
}

/** A constant key is changed now, any other when it runs. */
function lowerKey(args: Expr[], index: number): void {
  const key = args[index];
  if (key === undefined) return;
  const constant = stringConstant(key);
  if (constant !== undefined && key.exprKind.case === 'constExpr')
    key.exprKind.value.constantKind = { case: 'stringValue', value: constant.toLowerCase() };
  else args[index] = call(key.id, 'lowerAscii', [], key);
}

function soleArgument(expr: Expr | undefined, name: string): Expr | undefined {
  if (expr?.exprKind.case !== 'callExpr') return undefined;
  const { function: called, target, args } = expr.exprKind.value;
  return called === name && target === undefined && args.length === 1 ? args[0] : undefined;
}

function call(id: bigint, name: string, args: Expr[], target?: Expr): Expr {
  return {
    $typeName: 'cel.expr.Expr',
    id,
    exprKind: {
      case: 'callExpr',
      value: { $typeName: 'cel.expr.Expr.Call', function: name, args, ...(target ? { target } : {}) },
    },
  };
}
