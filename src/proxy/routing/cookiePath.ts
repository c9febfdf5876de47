import type { CompiledRule } from './router.ts';

/** The characters that a path may have in an attribute of a cookie, so that a browser can compare it. */
const plain = /^\/[\w.~%!$&'()*+=:@/-]*$/;

/**
 * The path under which a browser sends a cookie back: that of the match that chose the route (GEP-1619). So rules for
 * different paths have cookies of their own.
 */
export function cookiePath(rule: Pick<CompiledRule<unknown>, 'kind' | 'written'> | undefined): string {
  if (rule === undefined) return '/';
  const path = rule.kind === 'regex' ? literalStart(rule.written) : rule.written;
  return plain.test(path) ? path : '/';
}

/** The whole segments that every path begins with for which an expression holds. */
function literalStart(expression: string): string {
  if (expression.includes('|')) return '/';
  const [start = ''] = /^[\w/~%!&'=:@-]*/.exec(expression) ?? [];
  const whole = start.slice(0, start.lastIndexOf('/'));
  return whole === '' ? '/' : whole;
}
