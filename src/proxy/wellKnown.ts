import type { Reply } from '../http/index.ts';
import type { LiveExchange } from './exchange.ts';
import type { CompiledListener, CompiledRoute } from './snapshot.ts';

/**
 * The route whose policies answer `/.well-known/<name><resource path>` (RFC 8615; RFC 9728 §3.1): the one that serves
 * the resource path, or, for the bare form, the first of the host that has such a document. A route that matches the
 * well-known path itself by more than a catch-all keeps it.
 */
export function wellKnownRoute(
  x: LiveExchange,
  listener: CompiledListener,
): { route: CompiledRoute; answer: Reply | undefined | Promise<Reply | undefined> } | undefined {
  const [, name, rest] = /^\/\.well-known\/([\w-]+)(\/.*)?$/.exec(x.path) ?? [];
  if (name === undefined) return undefined;
  const explicit = listener.router.find(x, x.host, x.path);
  if (explicit?.written.startsWith('/.well-known/') === true && explicit.route.onWellKnown.length === 0)
    return undefined;
  const candidates: CompiledRoute[] = [];
  const note = (route: CompiledRoute): false => {
    if (route.onWellKnown.length > 0 && !candidates.includes(route)) candidates.push(route);
    return false;
  };
  if (rest === undefined || rest === '/') listener.router.findAny(x.host, note);
  else listener.router.findByPath(x.host, rest, (route) => route.onWellKnown.length > 0 && note(route));
  for (const route of candidates) {
    for (const step of route.onWellKnown) {
      const answer = step(x, name, rest ?? '');
      if (answer !== undefined) return { route, answer };
    }
  }
  return undefined;
}
