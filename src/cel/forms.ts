import type { Expr } from './ast.ts';
import { dottedName } from './ast.ts';

/** A form looks like a function, but decides itself which of its arguments are evaluated, and with which variables. */
export interface Form {
  readonly name: FormName;
  /** Written as a method. */
  readonly method: boolean;
  /** The first argument is the name of a variable that stands in the second. */
  readonly binds: boolean;
  readonly least: number;
  readonly most: number;
}

export type FormName = keyof typeof table;

const table = {
  default: { method: false, binds: false, least: 2, most: 2 },
  coalesce: { method: false, binds: false, least: 1, most: 64 },
  fail: { method: false, binds: false, least: 0, most: 1 },
  variables: { method: false, binds: false, least: 0, most: 0 },
  with: { method: true, binds: true, least: 2, most: 2 },
  mapValues: { method: true, binds: true, least: 2, most: 2 },
  filterKeys: { method: true, binds: true, least: 2, most: 2 },
  max: { method: false, binds: false, least: 1, most: 64 },
  min: { method: false, binds: false, least: 1, most: 64 },
  'math.greatest': { method: false, binds: false, least: 1, most: 64 },
  'math.least': { method: false, binds: false, least: 1, most: 64 },
} as const;

/** The form that a call is, whatever the number of its arguments. */
export function formOf(expr: Expr): Form | undefined {
  if (expr.exprKind.case !== 'callExpr') return undefined;
  const { target, function: called } = expr.exprKind.value;
  const qualifier = target && dottedName(target);
  const qualified = `${qualifier}.${called}`;
  if (qualifier !== undefined && isForm(qualified)) return { name: qualified, ...table[qualified] };
  if (!isForm(called) || table[called].method !== (target !== undefined)) return undefined;
  return { name: called, ...table[called] };
}

/** All forms, for editors. */
export const forms: readonly Form[] = Object.entries(table).map(([name, form]) => ({
  name: name as FormName,
  ...form,
}));

const isForm = (name: string): name is FormName => Object.hasOwn(table, name);

/** Forms that run their argument once for each entry of a map. */
export const isLoop = (expr: Expr): boolean => {
  const name = formOf(expr)?.name;
  return name === 'mapValues' || name === 'filterKeys';
};

/** The variable that a binding form names. */
export function boundName(arg: Expr | undefined): string | undefined {
  return arg?.exprKind.case === 'identExpr' ? arg.exprKind.value.name : undefined;
}
