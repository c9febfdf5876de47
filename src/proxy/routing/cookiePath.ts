import type { CompiledRule } from './router.ts';

/** The characters that a path may have in an attribute of a cookie, so that a browser can compare it. */
const plain = /^\/[\w.~%!$&'()*+=:@/-]*$/;

/**
 * The path under which a browser sends a cookie back: that of the match that chose the route (GEP-1619). So rules for
 * different paths have cookies of their own.
 */
export function cookiePath(rule: Pick<CompiledRule<unknown>, 'kind' | 'written'> | undefined): string {
  if (rule === undefined) return '/';
  const path = pathOf(rule);
  return plain.test(path) ? path : '/';
}

/** A prefix stands for its own path, too: a browser sends a cookie of `/a/` with `/a/b`, and not with `/a`. */
function pathOf({ kind, written }: Pick<CompiledRule<unknown>, 'kind' | 'written'>): string {
  if (kind === 'regex') return literalStart(written);
  return kind === 'prefix' && written !== '/' ? written.replace(/\/$/, '') : written;
}

/** The whole segments that every path begins with for which an expression holds. */
function literalStart(expression: string): string {
  if (expression.includes('|')) return '/';
  const [start = ''] = /^[\w/~%!&'=:@-]*/.exec(expression) ?? [];
  const whole = start.slice(0, start.lastIndexOf('/'));
  return whole === '' ? '/' : whole;
}
