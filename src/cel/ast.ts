import type { parse } from '@bufbuild/cel';

/** The library's syntax tree, as its parser returns it. */
export type Parsed = ReturnType<typeof parse>;
export type Expr = Parsed['expr'];

/** Direct sub-expressions in evaluation order. */
export function children(expr: Expr): Expr[] {
  const node = expr.exprKind;
  switch (node.case) {
    case 'selectExpr':
      return present([node.value.operand]);
    case 'callExpr':
      return present([node.value.target, ...node.value.args]);
    case 'listExpr':
      return node.value.elements;
    case 'structExpr':
      return present(
        node.value.entries.flatMap((entry) => [
          entry.keyKind.case === 'mapKey' ? entry.keyKind.value : undefined,
          entry.value,
        ]),
      );
    case 'comprehensionExpr':
      return present([
        node.value.iterRange,
        node.value.accuInit,
        node.value.loopCondition,
        node.value.loopStep,
        node.value.result,
      ]);
    default:
      return [];
  }
}

const present = (list: readonly (Expr | undefined)[]): Expr[] => list.filter((item) => item !== undefined);

/** The text of a string constant. */
export function stringConstant(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== 'constExpr') return undefined;
  const constant = expr.exprKind.value.constantKind;
  return constant.case === 'stringValue' ? constant.value : undefined;
}

/** `a.b.c` for a chain of plain member accesses, otherwise undefined. A leading dot (root scope) is dropped. */
export function dottedName(expr: Expr): string | undefined {
  const node = expr.exprKind;
  if (node.case === 'identExpr') return node.value.name.replace(/^\./, '');
  if (node.case !== 'selectExpr' || node.value.testOnly || node.value.operand === undefined) return undefined;
  const parent = dottedName(node.value.operand);
  return parent === undefined ? undefined : `${parent}.${node.value.field}`;
}
