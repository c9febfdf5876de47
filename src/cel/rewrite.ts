import { children, stringConstant, type Expr } from './ast.ts';

/**
 * Header names become lower case, as the header map has them, and views of views the last one. `headers` holds the ids
 * of the header maps of the tree.
 */
export function lowerHeaderNames(expr: Expr, headers: ReadonlySet<bigint>): void {
  if (headers.size === 0) return;
  for (const child of children(expr)) lowerHeaderNames(child, headers);
  const isHeaders = (side: Expr | undefined): boolean => side !== undefined && headers.has(side.id);
  const node = expr.exprKind;
  if (node.case === 'selectExpr' && isHeaders(node.value.operand))
    node.value.field = node.value.field.toLowerCase();
  if (node.case !== 'callExpr') return;
  const { function: name, args } = node.value;
  if (views.has(name) && isHeaders(node.value.target)) dropViews(node.value);
  if (name === '_[_]' && isHeaders(args[0])) lowerKey(args, 1);
  if (name === '@in' && isHeaders(args[1])) lowerKey(args, 0);
}

/** The last of these views counts. */
const views = new Set(['raw', 'split', 'join']);

/** `headers.join().redacted().raw()` becomes `headers.redacted().raw()`. */
function dropViews(call: { target?: Expr | undefined }): void {
  const node = call.target?.exprKind;
  if (node?.case !== 'callExpr') return;
  if (views.has(node.value.function)) {
    call.target = node.value.target;
    dropViews(call);
  } else if (node.value.function === 'redacted') dropViews(node.value);
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
